"""A short-lived bearer token for Amazon Bedrock's OpenAI-compatible endpoint, signed with the function's role.

The token is a presigned call of ``CallWithBearerToken`` that is never sent
(docs.aws.amazon.com/bedrock/latest/userguide/api-keys.md). AWS's package for it depends on botocore, which Lambda's
runtime has and a layer would bring again; it does no more than ``role_token``.
"""

from __future__ import annotations

import base64

from rag.errors import LlmDenied

HOST = "bedrock.amazonaws.com"
VALID_S = 900
"""Ten minutes longer than a token is cached (``secrets.MAX_AGE_S``). botocore renews a role's credentials ten minutes
before they expire, so that they too outlive the token's use."""


def endpoint() -> str:
    """Return Bedrock's OpenAI-compatible endpoint in this process's region."""
    return f"https://bedrock-runtime.{_region()}.amazonaws.com/openai/v1"


def role_token() -> str:
    """Return a token of this process's current role, valid for ``VALID_S`` seconds and no longer than its credentials.

    Raises:
        LlmDenied: there are no credentials, or no region.
    """
    import botocore.session  # type: ignore[import-untyped]
    from botocore.auth import SigV4QueryAuth  # type: ignore[import-untyped]
    from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
    from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]

    try:
        credentials = botocore.session.get_session().get_credentials()
    except BotoCoreError as exc:
        raise LlmDenied(f"The credentials for Bedrock cannot be read: {type(exc).__name__}") from exc
    if credentials is None:
        raise LlmDenied("There are no AWS credentials to sign for Bedrock with (LLM_AUTH=aws)")
    request = AWSRequest("POST", f"https://{HOST}/", headers={"host": HOST}, params={"Action": "CallWithBearerToken"})
    SigV4QueryAuth(credentials.get_frozen_credentials(), "bedrock", _region(), expires=VALID_S).add_auth(request)
    signed = f"{request.url.removeprefix('https://')}&Version=1"
    return f"bedrock-api-key-{base64.b64encode(signed.encode()).decode()}"


def _region() -> str:
    import botocore.session

    region = botocore.session.get_session().get_config_variable("region")
    if not region:
        raise LlmDenied("LLM_AUTH=aws needs a region: set AWS_DEFAULT_REGION")
    return str(region)
