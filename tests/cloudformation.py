"""What CloudFormation makes of a template before it calls anybody: conditions, rules, intrinsic functions."""

import itertools
import json
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from faults.drawing import NIGHTLY

from emulator.template import read_template

HERE = Path(__file__).parent
SAM_PROGRAMS = HERE.parent / ".venv-sam" / "bin"

PSEUDO = {
    "AWS::AccountId": "123456789012",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-central-1",
    "AWS::StackName": "stack",
    "AWS::URLSuffix": "amazonaws.com",
}
NOTHING = object()
"""What AWS::NoValue leaves."""

NETWORK = {"VpcId": "vpc-01234567", "SubnetA": "subnet-01234567", "SubnetB": "subnet-12345678"}
EFS = {"IndexSource": "efs", **NETWORK}
BOUNDARY = "arn:aws:iam::123456789012:policy/p"
KEY = "arn:aws:kms:eu-central-1:123456789012:key/1-2"
TOPIC = "arn:aws:sns:eu-central-1:123456789012:ops"
ACCOUNT = {"PermissionsBoundary": BOUNDARY, "KmsKeyArn": KEY, "AlarmTopicArn": TOPIC}
"""Parameters that every template has, each with a condition."""

INTRINSIC = {"Sub", "GetAtt", "If", "Not", "Equals", "And", "Or", "Join"}

type Template = dict[str, Any]


class Stack:
    """``template`` with these ``parameters``, the defaults for the others.

    A reference to a resource is its logical id, an attribute ``<logical id>.<attribute>``. With ``create_only``
    (property names by resource type) the logical id is followed by the values of those properties: CloudFormation
    replaces a resource when one of them changes, and all that refers to it changes with it.
    """

    def __init__(
        self, template: Template, parameters: Mapping[str, Any], *, create_only: Mapping[str, list[str]] | None = None
    ) -> None:
        defaults = {name: parameter["Default"] for name, parameter in template["Parameters"].items()}
        self._template = template
        self._values = {**PSEUDO, **defaults, **parameters}
        self._create_only = create_only or {}
        self._functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._reference,
            "Fn::GetAtt": lambda argument: f"{self._identity(argument[0])}.{argument[1]}",
            "Fn::If": lambda argument: self.value(argument[1 if self.holds(argument[0]) else 2]),
            "Fn::Join": lambda argument: argument[0].join(str(part) for part in self.value(argument[1])),
            "Fn::Select": lambda argument: self.value(argument[1])[int(argument[0])],
            "Fn::Sub": self._substitute,
        }
        self._tests: dict[str, Callable[[list[Any]], bool]] = {
            "Fn::Equals": lambda argument: str(self.value(argument[0])) == str(self.value(argument[1])),
            "Fn::Not": lambda argument: not self.holds(argument[0]),
            "Fn::And": lambda argument: all(map(self.holds, argument)),
            "Fn::Or": lambda argument: any(map(self.holds, argument)),
            "Condition": lambda argument: self.holds(str(argument)),
        }

    def holds(self, node: Any) -> bool:
        """Whether a condition does, named or written out."""
        if isinstance(node, str):
            return self.holds(self._template["Conditions"][node])
        [(name, argument)] = node.items()
        return self._tests[name](argument)

    def value(self, node: Any) -> Any:
        """``node`` with its intrinsic functions evaluated."""
        if isinstance(node, list):
            return [done for item in node if (done := self.value(item)) is not NOTHING]
        if not isinstance(node, dict):
            return node
        name, argument = next(iter(node.items()), ("", None))
        if len(node) == 1 and name in self._functions:
            return self._functions[name](argument)
        return {name: done for name, item in node.items() if (done := self.value(item)) is not NOTHING}

    def section(self, name: str) -> dict[str, Any]:
        """The resources, or the outputs, that exist."""
        return {item: self.value(told) for item, told in self._template[name].items() if self._exists(told)}

    def decided(self) -> Template:
        """The template with its conditions decided, and everything else as it was."""
        sections = {
            name: {item: self._without_conditions(told) for item, told in self._template[name].items()}
            for name in ("Resources", "Outputs")
        }
        for items in sections.values():
            for name in [name for name, item in items.items() if not self._exists(item)]:
                del items[name]
            for item in items.values():
                item.pop("Condition", None)
        kept = {name: section for name, section in self._template.items() if name != "Conditions"}
        return {**kept, **sections}

    def refusals(self) -> list[str]:
        """What the template's rules have against these parameters; nothing is deployed if there is any."""
        return [
            assertion["AssertDescription"]
            for rule in self._template["Rules"].values()
            if self.holds(rule["RuleCondition"])
            for assertion in rule["Assertions"]
            if not self.holds(assertion["Assert"])
        ]

    def _without_conditions(self, node: Any) -> Any:
        if isinstance(node, list):
            return [done for item in node if (done := self._without_conditions(item)) is not NOTHING]
        if not isinstance(node, dict):
            return node
        if node == {"Ref": "AWS::NoValue"}:
            return NOTHING
        if node.keys() == {"Fn::If"}:
            condition, *choices = node["Fn::If"]
            return self._without_conditions(choices[0 if self.holds(condition) else 1])
        return {name: done for name, item in node.items() if (done := self._without_conditions(item)) is not NOTHING}

    def _exists(self, item: Mapping[str, Any]) -> bool:
        return "Condition" not in item or self.holds(item["Condition"])

    def _identity(self, name: str) -> str:
        resource = self._template["Resources"].get(name, {})
        fixed = self._create_only.get(resource.get("Type", ""), [])
        properties = resource.get("Properties", {})
        given = {each: self.value(properties[each]) for each in fixed if each in properties}
        return f"{name}{json.dumps(given, sort_keys=True)}" if given else name

    def _reference(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NOTHING
        return self._values[name] if name in self._values else self._identity(name)

    def _substitute(self, argument: str | list[Any]) -> str:
        text, local = (argument, {}) if isinstance(argument, str) else (argument[0], self.value(argument[1]))

        def filled(match: re.Match[str]) -> str:
            name, _, attribute = match[1].partition(".")
            if match[1] in local:
                return str(local[match[1]])
            return f"{self._identity(name)}.{attribute}" if attribute else str(self._reference(name))

        return re.sub(r"\$\{([^!}]+)\}", filled, text).replace("${!", "${")


def of_type(resources: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The properties of the resources of one type, by logical id."""
    return {name: item["Properties"] for name, item in resources.items() if item["Type"] == kind}


def statements(role: Mapping[str, Any], effect: str = "Allow") -> list[dict[str, Any]]:
    """The statements of a role's policies that have this effect, each with a list of actions."""
    lines = [line for policy in role["Policies"] for line in policy["PolicyDocument"]["Statement"]]
    listed = [{**line, "Action": [each] if isinstance(each := line["Action"], str) else each} for line in lines]
    return [line for line in listed if line["Effect"] == effect]


def rights(role: Mapping[str, Any]) -> set[tuple[str, str]]:
    """What a role allows: actions, each with the resource that it is for."""
    return {(action, line["Resource"]) for line in statements(role) for action in line["Action"]}


def read_with_defaults(path: Path, given: Mapping[str, str]) -> Template:
    """A template without SAM, in which the parameters that have no default have what is ``given``."""
    template: Template = long_names(read_template(path))
    for name, value in given.items():
        template["Parameters"][name]["Default"] = value
    return template


def long_names(node: Any) -> Any:
    """The template with its intrinsic functions under their long names, as JSON has them."""
    if isinstance(node, list):
        return [long_names(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.keys() == {"GetAtt"}:
        return {"Fn::GetAtt": node["GetAtt"].split(".", 1)}
    if len(node) == 1 and (name := next(iter(node))) in INTRINSIC:
        return {f"Fn::{name}": long_names(node[name])}
    return {name: long_names(item) for name, item in node.items()}


def under_all_conditions(template: Template, choices: Mapping[str, str]) -> Iterator[Template]:
    """Yield the template with no, each and all of ``choices``; in a nightly run with each subset of them."""
    for chosen in itertools.product((False, True), repeat=len(choices)):
        if NIGHTLY or sum(chosen) in {0, 1, len(choices)}:
            yield Stack(template, dict(itertools.compress(choices.items(), chosen))).decided()


def lint(
    templates: Iterable[Path | Template],
    folder: Path,
    regions: Sequence[str] = ("eu-central-1",),
    ignored: Sequence[str] = ("W1030", "W2001"),
) -> str:
    """Return what cfn-lint finds in ``templates``, of which those without a file are written to ``folder``.

    W2001 is a parameter that only what was left out would use, W1030 a default that only it would reject.
    """
    places = []
    for number, template in enumerate(templates):
        places.append(template if isinstance(template, Path) else folder / f"{number}.json")
        if not isinstance(template, Path):
            places[-1].write_text(json.dumps(template), encoding="utf-8")
    options = ["--regions", *regions, *(["--ignore-checks", *ignored] if ignored else [])]
    done = subprocess.run(
        [SAM_PROGRAMS / "cfn-lint", *options, "--", *places], capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr if done.returncode or done.stdout else ""


def ask_sam(*arguments: object, **options: Any) -> Any:
    """Run tests/infra/in_sam.py by the SAM CLI's Python, and return the JSON that it prints."""
    assert SAM_PROGRAMS.exists(), "The SAM CLI is missing in .venv-sam; `make test` installs it"
    command = [str(part) for part in (SAM_PROGRAMS / "python", HERE / "infra" / "in_sam.py", *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
