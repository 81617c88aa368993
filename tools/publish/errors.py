"""What keeps an index from being published, and AWS's refusals as one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError  # type: ignore[import-untyped]


class PublishFailed(Exception):
    """Nothing was published, or what was published does not answer; the sentence says which and why."""

    def __init__(self, sentence: str, *, code: str) -> None:
        super().__init__(sentence)
        self.code = code


def code_of(error: ClientError) -> str:
    """AWS's code, such as ``AccessDenied``."""
    return str(error.response["Error"]["Code"])


@contextmanager
def aws_errors() -> Iterator[None]:
    """Raise ``PublishFailed`` for what AWS refuses inside of the block, and where AWS cannot be reached."""
    try:
        yield
    except ClientError as exc:
        said = exc.response["Error"].get("Message", "")
        raise PublishFailed(
            f"AWS refused {exc.operation_name}: {code_of(exc)}. {said}".strip(), code="aws_refused"
        ) from exc
    except NoCredentialsError as exc:
        sentence = "There are no AWS credentials. `aws sts get-caller-identity` must work here"
        raise PublishFailed(sentence, code="no_credentials") from exc
    except (BotoCoreError, OSError) as exc:
        raise PublishFailed(f"AWS cannot be reached: {type(exc).__name__}: {exc}", code="aws_unreachable") from exc
