"""A new version is published exactly when the function is another one.

SAM decides by a hash of the template, Lambda by the function that results. Where the hash changes and the function does
not, Lambda has nothing to publish and the update fails: "A version for this Lambda function exists".
"""

import itertools
import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloudformation import BOUNDARY, EFS, KEY, NETWORK, TOPIC, Stack, Template, ask_sam, lint
from faults.drawing import NIGHTLY, by_night, rng

pytestmark = [pytest.mark.build, pytest.mark.sampled]

HERE = Path(__file__).parent

SERVER = {"IndexUri": "chroma://chroma.rag.internal:8000/t/d?version=0123456789ab", **NETWORK}
MODES = {"layer": {}, "layer in a VPC": NETWORK, "efs": EFS, "server": SERVER}

OTHER_VALUES = (
    *("https://app.example", "0.5", "7", "600", "2000", "https://llm.example/v1", "another-one", "1234567890"),
    *("/teams/rag/", "waypoint", "vpc-76543210", "subnet-76543210", "sg-76543210", "index/0123456789ab.zip"),
    *("https://api.trychroma.com/t/d?version=0123456789ab", "someone@example.org", "#7a1f5c", KEY, BOUNDARY),
)
"""For every pattern there is one that fits."""


def version_id(template: Template) -> str:
    [name] = [name for name, item in template["Resources"].items() if item["Type"] == "AWS::Lambda::Version"]
    return str(name)


def others(parameter: dict[str, Any], default: object) -> list[str]:
    """Two values at most that CloudFormation would take in place of ``default``."""
    pattern = re.compile(parameter.get("AllowedPattern", ".*"))
    bounds = range(parameter.get("MinValue", 0), parameter.get("MaxValue", 10**9) + 1)
    numeric = parameter["Type"] == "Number"
    fits = [
        value
        for value in map(str, parameter.get("AllowedValues", OTHER_VALUES))
        if pattern.fullmatch(value) and (not numeric or (value.isdecimal() and int(value) in bounds))
    ]
    return [value for value in fits if value != str(default)][:2]


@pytest.fixture(scope="module")
def create_only(raw: Template) -> dict[str, list[str]]:
    """By resource type, the properties whose change makes CloudFormation replace the resource."""
    kinds = {item["Type"] for item in raw["Resources"].values()}
    found: dict[str, list[str]] = ask_sam("create_only", *sorted(kinds))
    assert found["AWS::IAM::Role"] == ["Path", "RoleName"]
    return found


def changes(raw: Template) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Mode, parameter, and the parameters of that mode with another value of this one."""
    for mode, base in MODES.items():
        for name, parameter in raw["Parameters"].items():
            found = others(parameter, base.get(name, parameter["Default"]))
            assert found, f"OTHER_VALUES has none for {name}"
            for value in found:
                yield mode, name, {**base, name: value}


def test_a_changed_parameter_publishes_a_version_exactly_when_it_changes_the_function(
    transform: Any, raw: Template, create_only: dict[str, list[str]]
) -> None:
    # Given every change of one parameter that no rule refuses; in the gate one of each parameter
    told = list(changes(raw))
    refused = {(mode, name) for mode, name, parameters in told if Stack(raw, parameters).refusals()}
    every = [change for change in told if not Stack(raw, change[2]).refusals()]
    one_of_each = {change[1]: change for change in rng("changes").sample(every, len(every))}
    accepted = every if NIGHTLY else list(one_of_each.values())

    def function(template: Template, parameters: dict[str, str]) -> str:
        """All of it, and what the layers, roles and groups that it names are made of."""
        stack = Stack(template, parameters, create_only=create_only)
        return json.dumps(stack.section("Resources")["QueryFunction"]["Properties"], sort_keys=True)

    # When the template is transformed with it
    first = dict(zip(MODES, transform(*({"parameters": base} for base in MODES.values())), strict=True))
    changed = transform(*({"parameters": parameters} for _, _, parameters in accepted))

    # Then SAM's hash and the function agree
    wrong = {}
    for (mode, name, parameters), template in zip(accepted, changed, strict=True):
        published = version_id(template) != version_id(first[mode])
        another = function(template, parameters) != function(first[mode], MODES[mode])
        if published != another:
            wrong[mode, name] = f"published: {published}, another function: {another}"
    assert wrong == {}
    # And what is refused has no effect in that mode, or makes half a network
    assert refused == {
        *(("layer", name) for name in ("EfsPath", "EfsTmpSize", "VpcId", "SubnetA", "SubnetB", "IndexSource")),
        ("layer", "IndexSecurityGroup"),
        *(("layer in a VPC", name) for name in ("EfsPath", "EfsTmpSize")),
        *(("efs", name) for name in ("SnapStart", "IndexKey", "IndexUri")),
        *(("server", name) for name in ("EfsPath", "EfsTmpSize", "IndexSource")),
        *((mode, "LlmAuth") for mode in MODES),  # needs a model that is named beside it
    }


def test_mode_code_and_layers_publish_a_version_and_a_revision_alone_decides(transform: Any) -> None:
    changed = [{name: f"s3://artefacts/{name}-2"} for name in ("QueryFunction", "ChromaLayer")]
    code = [{"parameters": mode, "sources": each} for mode in ({}, EFS) for each in ({}, *changed)]
    first = {"Revision": "0123456789abcdef"}

    layer, *told = map(
        version_id,
        transform(
            {"parameters": {}},
            *code,
            {"parameters": NETWORK},
            {"parameters": first},
            {"parameters": first, "sources": changed[0]},
            {"parameters": {"Revision": "123456789abcdef0"}},
        ),
    )

    assert told[0] == layer
    assert len(set(told[:7])) == 7
    assert told[7:] == ["QueryFunctionVersion0123456789"] * 2 + ["QueryFunctionVersion123456789a"]


def test_a_published_index_is_a_layer_of_its_key_and_the_other_layer_stays(transform: Any) -> None:
    keys = ["", "index/one.zip", "index/two.zip"]
    told = transform(*({"parameters": {"IndexKey": key}} for key in keys))
    seen = [Stack(template, {"IndexKey": key}).section("Resources") for template, key in zip(told, keys, strict=True)]
    layers = [
        {name: one["Properties"]["Content"] for name, one in each.items() if one["Type"] == "AWS::Lambda::LayerVersion"}
        for each in seen
    ]
    attached = [each["QueryFunction"]["Properties"]["Layers"] for each in seen]
    chroma, built = attached[0]
    assert [sorted(each) for each in attached] == [sorted(each) for each in layers]
    assert attached[1] == attached[2] == [chroma, "PublishedIndexLayer"]
    assert [each.get(built, {}).get("S3Bucket") for each in layers] == ["artefacts", None, None]
    of_keys = [each["PublishedIndexLayer"] for each in layers[1:]]
    assert of_keys == [{"S3Bucket": "IndexBucket", "S3Key": key} for key in keys[1:]]
    assert len({version_id(template) for template in told}) == 3


def test_the_function_is_another_one_when_the_built_index_is(tmp_path: Path) -> None:
    root = HERE.parents[1]
    command = ["make", "-s", "-C", str(root / "functions" / "query"), "build-QueryFunction", "MAKE=true"]
    built: list[dict[str, str]] = []
    for content in ("one", "one", "two"):
        (tmp_path / "index").mkdir(exist_ok=True)
        (tmp_path / "index" / "manifest.json").write_text(content, encoding="utf-8")
        out = tmp_path / f"out-{len(built)}"
        out.mkdir()
        given = [f"ARTIFACTS_DIR={out}", f"INDEX={tmp_path / 'index'}", "PROFILE=house", "ARCH=x86_64"]
        subprocess.run([*command, *given], check=True, capture_output=True)
        built.append(json.loads((out / "built.json").read_text(encoding="utf-8")))
    assert (built[0]["PROFILE"], built[0]["ARCH"]) == ("house", "x86_64")
    assert built[0]["INDEX"] == built[1]["INDEX"] != built[2]["INDEX"]


def deployment_id(template: Template) -> str:
    stage = template["Resources"]["ApiprodStage"]["Properties"]
    return str(stage["DeploymentId"]["Ref"])


def test_a_changed_definition_is_deployed_and_an_unchanged_stack_is_unchanged(transform: Any, raw: Template) -> None:
    again, streaming, other = transform({}, {"parameters": {"Streaming": "on"}}, {"parameters": {"LogLevel": "DEBUG"}})
    assert again == raw
    assert deployment_id(streaming) != deployment_id(raw)
    # And no parameter but those whose values SAM puts into its hash changes what is deployed.
    given = [{"Streaming": "off"}, {"Streaming": "on"}, *(parameters for _, _, parameters in changes(raw))]
    plain, on, *others = [Stack(raw, each).section("Resources")["Api"]["Properties"]["Body"] for each in given]
    assert all(body in (plain, on) for body in others)
    assert deployment_id(other) == deployment_id(raw)


def test_alias_points_at_the_new_version_and_old_ones_are_deleted(raw: dict[str, Any]) -> None:
    resources = raw["Resources"]
    alias = resources["QueryFunctionAliaslive"]["Properties"]

    assert alias["Name"] == "live"
    assert alias["FunctionVersion"] == {"Fn::GetAtt": [version_id(raw), "Version"]}
    # The function itself too, and all with their snapshots; none is kept when another takes its place
    function = {f"AWS::Lambda::{kind}" for kind in ("Function", "Version", "Alias")}
    own = [item for name, item in resources.items() if item["Type"] in function and name != "Authorizer"]
    assert [(item["DeletionPolicy"], item["UpdateReplacePolicy"]) for item in own] == [("Delete", "Delete")] * 3
    layers = [item for item in resources.values() if item["Type"] == "AWS::Lambda::LayerVersion"]
    assert [layer["DeletionPolicy"] for layer in layers] == ["Delete"] * 3


# Conditions


BEDROCK = {"LlmModel": "openai.gpt-oss-20b-1:0", "LlmSecretName": ""}
SAMPLES = (
    *("index/0123456789ab.zip", "chroma://chroma.rag.internal:8000/t/d?version=0123456789ab", "sg-01234567"),
    *("rag/key", "vpc-01234567", "someone@example.org", "100", TOPIC, KEY, BOUNDARY),
)
"""For every parameter that a condition asks whether it is empty, there is one that fits."""
DRAWN = 1_000

type Row = dict[str, str]
type Pair = tuple[tuple[str, bool], tuple[str, bool]]

IMPOSSIBLE: set[Pair] = {
    (("AsksBedrock", True), ("HasLlmSecret", True)),
    (("HasAlarms", False), ("WatchesTraffic", True)),
    (("HasSnapStart", True), ("UsesEfs", True)),
    (("InVpc", False), ("UsesEfs", True)),
    (("HasAccessLogs", False), ("SetsUpAccessLogs", True)),
    *((("IsBuilt", both), ("IsPublished", both)) for both in (True, False)),
    (("IsBuilt", False), ("UsesEfs", True)),
    (("IsPublished", True), ("UsesEfs", True)),
    (("UsesEfs", True), ("UsesServer", True)),
    (("HasIndexGroup", True), ("InVpc", False)),
}
"""What conditions and rules rule out by themselves; everything else is linted."""


def choices(raw: Template) -> dict[str, list[str]]:
    """The parameters that conditions ask for, each with the values that are worth telling apart."""
    names = sorted(set(re.findall(r'"Ref": "(\w+)"', json.dumps(raw["Conditions"]))))
    found = {}
    for name in names:
        parameter = raw["Parameters"][name]
        fits = re.compile(parameter.get("AllowedPattern", ".*")).fullmatch
        other = next((value for value in SAMPLES if value != parameter["Default"] and fits(value)), "")
        found[name] = list(map(str, parameter.get("AllowedValues", [parameter["Default"], other])))
    return found


def pairs(raw: Template, row: Row) -> set[Pair]:
    """How every two conditions turn out together."""
    stack = Stack(raw, row)
    return set(itertools.combinations([(name, stack.holds(name)) for name in sorted(raw["Conditions"])], 2))


@pytest.fixture(scope="module")
def rows(raw: Template) -> list[Row]:
    """Few sets of parameters in which any two conditions turn out together in every way that the rules let through.

    Two, and not all of the thousands of combinations: what this template names or leaves out hangs on two conditions at
    most, those of the place and of what is named there.
    """
    options = choices(raw)
    draw = random.Random(13)
    drawn = [{name: draw.choice(values) for name, values in options.items()} for _ in range(DRAWN)]
    whole = [
        {**row, **(NETWORK if row["VpcId"] else {}), **(BEDROCK if row["LlmAuth"] == "aws" else {})} for row in drawn
    ]
    accepted = [(row, pairs(raw, row)) for row in whole if not Stack(raw, row).refusals()]

    left = set[Pair]().union(*(met for _, met in accepted))
    chosen = []
    while left:
        row, met = max(accepted, key=lambda each: len(left & each[1]))
        left -= met
        chosen.append(row)
    return chosen


def test_any_two_conditions_are_met_in_every_way_there_is(raw: Template, rows: list[Row]) -> None:
    met = set[Pair]().union(*(pairs(raw, row) for row in rows))
    names = sorted(raw["Conditions"])
    every = {
        ((one, first), (other, second))
        for one, other in itertools.combinations(names, 2)
        for first, second in itertools.product((True, False), repeat=2)
    }
    assert every - met == IMPOSSIBLE


def test_what_is_left_under_any_two_conditions_lints(raw: Template, rows: list[Row], tmp_path: Path) -> None:
    """The first ones are met by the most pairs; `make nightly` lints them all."""
    assert len(rows) >= 8
    assert lint((Stack(raw, row).decided() for row in by_night(rows[:2], rows)), tmp_path) == ""
