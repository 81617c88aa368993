"""Prints which properties replace a resource when they change; runs in .venv-sam, where cfn-lint has AWS's schemas.

argv: the resource types
stdout: {type: [property]}
"""

import json
import sys

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER  # type: ignore[import-not-found, import-untyped, unused-ignore]


def create_only(kind: str) -> list[str]:
    """The properties of that type which are fixed when a resource is made."""
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("eu-central-1", kind).schema
    return sorted({path.split("/")[2] for path in schema.get("createOnlyProperties", [])})


if __name__ == "__main__":
    json.dump({kind: create_only(kind) for kind in sys.argv[1:]}, sys.stdout)
