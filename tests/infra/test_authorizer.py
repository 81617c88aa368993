"""The authorizer as it is deployed, its code out of the template: which key it finds in what API Gateway sends it."""

from typing import Any

import pytest
from cloudformation import rights

pytestmark = pytest.mark.build

KEY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
METHOD = "arn:aws:execute-api:eu-central-1:123456789012:a1b2c3d4e5/prod/POST/v1/chat/completions"


def request(headers: dict[str, str] | None) -> dict[str, Any]:
    """What the authorizer may read of a REQUEST event of a REST API."""
    many = None if headers is None else {name: [value] for name, value in headers.items()}
    return {"type": "REQUEST", "methodArn": METHOD, "headers": headers, "multiValueHeaders": many}


@pytest.fixture(scope="module")
def authorize(raw: dict[str, Any]) -> Any:
    scope: dict[str, Any] = {}
    exec(raw["Resources"]["Authorizer"]["Properties"]["Code"]["ZipFile"], scope)
    return lambda headers: scope["handler"](request(headers), None)


def policy(effect: str) -> dict[str, Any]:
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": METHOD}
    return {"Version": "2012-10-17", "Statement": [statement]}


@pytest.mark.parametrize(
    ("key", "headers"),
    [
        ("z" * 20, {"x-api-key": "z" * 20}),
        ("z" * 128, {"x-api-key": "z" * 128}),
        (KEY, {"X-API-Key": KEY, "Content-Type": "application/json"}),
        (KEY, {"authorization": f"bearer  {KEY} "}),
        (KEY, {"x-api-key": KEY, "Authorization": f"Bearer {'z' * 40}"}),
        (KEY, {"x-api-key": "", "Authorization": f"Bearer {KEY}"}),
    ],
)
def test_the_key_of_either_header_is_what_the_plan_counts(authorize: Any, key: str, headers: dict[str, str]) -> None:
    told = {"principalId": "caller", "policyDocument": policy("Allow"), "usageIdentifierKey": key}
    assert authorize(headers) == told


@pytest.mark.parametrize(
    "headers",
    [
        *(None, {}, {"Authorization": KEY}, {"Authorization": "Bearer"}, {"Authorization": "Bearer x"}),
        *({"Authorization": f"Basic {KEY}"}, {"Authorization": f"Bearer {KEY} {KEY}"}),
        *({"x-api-key": "z" * 19}, {"x-api-key": "z" * 129}, {"x-api-key": f"{KEY}\n"}),
    ],
)
def test_without_what_may_be_a_key_nothing_is_called(authorize: Any, headers: dict[str, str] | None) -> None:
    assert authorize(headers) == {"principalId": "caller", "policyDocument": policy("Deny")}


def test_api_gateway_asks_it_of_every_request_with_a_key_and_lambda_lets_this_api_alone(deploy: Any) -> None:
    resources = deploy()["Resources"]

    body = resources["Api"]["Properties"]["Body"]
    scheme = body["components"]["securitySchemes"]["caller"]
    asked = scheme["x-amazon-apigateway-authorizer"]
    assert body["x-amazon-apigateway-api-key-source"] == "AUTHORIZER"
    assert (scheme["x-amazon-apigateway-authtype"], asked["type"]) == ("custom", "request")
    # Nothing is kept: an answer that is kept is found by a header that each request must have.
    assert (asked["authorizerResultTtlInSeconds"], "identitySource" in asked) == (0, False)
    assert asked["authorizerUri"].endswith(":lambda:path/2015-03-31/functions/Authorizer.Arn/invocations")
    permission = resources["AuthorizerPermission"]["Properties"]
    assert (permission["Principal"], permission["FunctionName"]) == ("apigateway.amazonaws.com", "Authorizer")
    assert permission["SourceArn"].endswith(":Api/authorizers/*")


def test_it_may_write_its_log_and_nothing_else(properties: Any) -> None:
    role = properties("AuthorizerRole")
    logs = {f"logs:{action}" for action in ("CreateLogStream", "PutLogEvents")}
    assert rights(role) == {(action, "AuthorizerLogGroup.Arn") for action in logs}
    assert "ManagedPolicyArns" not in role
