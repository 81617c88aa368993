"""The authorizer as it is deployed, its code out of the template: which key it finds in what API Gateway sends it."""

from typing import Any

import pytest

pytestmark = pytest.mark.build

KEY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
METHOD = "arn:aws:execute-api:eu-central-1:123456789012:a1b2c3d4e5/prod/POST/v1/chat/completions"


def request(headers: dict[str, str] | None) -> dict[str, Any]:
    """A REQUEST event of a REST API, as API Gateway sends it to an authorizer."""
    many = None if headers is None else {name: [value] for name, value in headers.items()}
    return {
        "type": "REQUEST",
        "methodArn": METHOD,
        "resource": "/v1/chat/completions",
        "path": "/v1/chat/completions",
        "httpMethod": "POST",
        "headers": headers,
        "multiValueHeaders": many,
        "queryStringParameters": {},
        "multiValueQueryStringParameters": {},
        "pathParameters": {},
        "stageVariables": {"streaming": "on"},
        "requestContext": {
            "resourceId": "r3s0rc",
            "resourcePath": "/v1/chat/completions",
            "httpMethod": "POST",
            "path": "/prod/v1/chat/completions",
            "accountId": "123456789012",
            "protocol": "HTTP/1.1",
            "stage": "prod",
            "requestTimeEpoch": 1792141921000,
            "requestId": "00000000-0000-4000-8000-000000000001",
            "identity": {"sourceIp": "203.0.113.10", "userAgent": "OpenAI/Python 3.51"},
            "apiId": "a1b2c3d4e5",
        },
    }


@pytest.fixture(scope="module")
def authorize(raw: dict[str, Any]) -> Any:
    scope: dict[str, Any] = {}
    exec(raw["Resources"]["Authorizer"]["Properties"]["Code"]["ZipFile"], scope)
    return lambda headers: scope["handler"](request(headers), None)


def policy(effect: str) -> dict[str, Any]:
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": METHOD}
    return {"Version": "2012-10-17", "Statement": [statement]}


@pytest.mark.parametrize(
    "headers",
    [
        {"x-api-key": KEY},
        {"X-API-Key": KEY, "Content-Type": "application/json"},
        {"Authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer  {KEY} "},
        {"x-api-key": KEY, "Authorization": "Bearer unused"},
        {"x-api-key": KEY, "Authorization": f"Bearer {'z' * 40}"},
        {"x-api-key": "", "Authorization": f"Bearer {KEY}"},
    ],
)
def test_the_key_of_either_header_is_what_the_usage_plan_counts(authorize: Any, headers: dict[str, str]) -> None:
    assert authorize(headers) == {
        "principalId": "caller",
        "policyDocument": policy("Allow"),
        "usageIdentifierKey": KEY,
    }


@pytest.mark.parametrize(
    "headers",
    [
        None,
        {},
        {"Content-Type": "application/json"},
        {"Authorization": f"Basic {KEY}"},
        {"Authorization": KEY},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer x"},
        {"x-api-key": "short"},
        {"x-api-key": "z" * 129},
        {"x-api-key": f"{KEY}\n"},
        {"Authorization": f"Bearer {KEY} {KEY}"},
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


def test_it_may_write_its_log_and_nothing_else(deploy: Any) -> None:
    role = deploy()["Resources"]["AuthorizerRole"]["Properties"]

    [statement] = [line for policy in role["Policies"] for line in policy["PolicyDocument"]["Statement"]]
    assert statement == {
        "Effect": "Allow",
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
        "Resource": "AuthorizerLogGroup.Arn",
    }
    assert "ManagedPolicyArns" not in role
