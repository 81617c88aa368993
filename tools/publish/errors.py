"""Failures of publishing, and AWS's errors as one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class PublishFailed(Exception):
    """Nothing was published, or the published version does not answer; the sentence gives the reason."""

    def __init__(self, sentence: str, *, code: str) -> None:
        super().__init__(sentence)
        self.code = code


def aws_error_code(error: Any) -> str:
    """Return AWS's code of a ``ClientError``, such as ``AccessDenied``."""
    return str(error.response["Error"]["Code"])


@contextmanager
def aws_errors() -> Iterator[None]:
    """Raise ``PublishFailed`` where AWS refuses a call in the block, or cannot be reached."""
    # Late: `ragctl` tells these failures from others without AWS's libraries.
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError  # type: ignore[import-untyped]

    try:
        yield
    except ClientError as exc:
        message = exc.response["Error"].get("Message", "")
        raise PublishFailed(
            f"AWS refused {exc.operation_name}: {aws_error_code(exc)}. {message}".strip(), code="aws_refused"
        ) from exc
    except NoCredentialsError as exc:
        sentence = "There are no AWS credentials. `aws sts get-caller-identity` must work here"
        raise PublishFailed(sentence, code="no_credentials") from exc
    except (BotoCoreError, OSError) as exc:
        raise PublishFailed(f"AWS cannot be reached: {type(exc).__name__}: {exc}", code="aws_unreachable") from exc
