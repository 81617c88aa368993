"""Whatever conditions hold together, the template that is left has nothing that is missing or wrong."""

import itertools
import json
import random
import re
from pathlib import Path

import pytest
from cloudformation import Stack, Template, lint
from faults.drawing import by_night

pytestmark = [pytest.mark.build, pytest.mark.sampled]

NETWORK = {"VpcId": "vpc-01234567", "SubnetA": "subnet-01234567", "SubnetB": "subnet-12345678"}
BEDROCK = {"LlmModel": "openai.gpt-oss-20b-1:0", "LlmSecretName": ""}
SAMPLES = (
    *("index/0123456789ab.zip", "chroma://chroma.rag.internal:8000/t/d?version=0123456789ab", "sg-01234567"),
    *("rag/key", "vpc-01234567", "someone@example.org", "100", "arn:aws:sns:eu-central-1:123456789012:ops"),
    *("arn:aws:kms:eu-central-1:123456789012:key/1-2", "arn:aws:iam::123456789012:policy/p"),
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
