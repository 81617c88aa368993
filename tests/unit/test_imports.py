"""DESIGN.md's law, checked on the import statements of every module: who may import whom, and from where."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
ROOMS = ("functions/query", "layers/chroma", "tools")

BASE = {
    "rag.types", "rag.errors", "rag.ports", "rag.knobs", "rag.settings", "rag.prompts", "rag.schema", "rag.records",
    "rag.store_ports", "rag.chat_types", "rag.cached", "rag.run",
}  # fmt: skip
"""The values and what stands beside them: of ours they import each other and `knowledge` only."""

MAY_IMPORT: dict[str, set[str]] = {
    "rag.text": {"base", "rag.text"},
    "rag.stages": {"base", "rag.text", "rag.stages"},
    "rag.pipeline": {"base", "rag.text", "rag.stages"},
    "rag.services": {"base", "rag.stages"},
    "rag.profiles": {"base", "rag.text", "rag.stages", "rag.pipeline", "rag.profiles", "rag.services"},
    "rag.adapters": {"base", "rag.text", "rag.adapters"},
    "rag.wiring": {
        "base",
        "rag.text",
        "rag.stages",
        "rag.pipeline",
        "rag.profiles",
        "rag.adapters",
        "rag.services",
        "rag.wiring",
    },
    "rag.requests": {"base", "rag.text"},
    "rag.replies": {"base", "rag.stages"},
    "telemetry": {"base"},
    "snapshot": {"base", "rag.wiring"},
    "app": {"base", "rag.wiring", "rag.requests", "rag.replies", "telemetry", "snapshot"},
}
BASE_MAY_IMPORT = {
    "rag.types": {"rag.chat_types"},
    "rag.errors": set[str](),
    "rag.schema": set[str](),
    "rag.knobs": {"rag.errors"},
    "rag.ports": {"rag.types", "rag.errors"},
    "rag.prompts": {"rag.errors", "rag.settings"},
    "rag.chat_types": set[str](),
    "rag.run": {"rag.types", "rag.errors"},
    "rag.cached": {"rag.types", "rag.records"},
    "rag.records": {"rag.types"},
    "rag.store_ports": {"rag.records", "rag.errors"},
    "rag.settings": {"rag.errors", "rag.knobs"},
}


@dataclass(frozen=True)
class Module:
    name: str
    path: Path

    @property
    def tree(self) -> ast.Module:
        return _parse(self.path)

    def imports(self) -> Iterator[str]:
        """Every module of ours that this one names in an import, wherever it stands."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.name}: relative import"
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for name in names:
                if name.partition(".")[0] in {ours.partition(".")[0] for ours in _names()}:
                    yield _module_of(name)


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _modules(room: str) -> tuple[Module, ...]:
    root = REPOSITORY / room
    found = []
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found.append(Module(".".join(parts).removesuffix(".__init__"), path))
    return tuple(found)


@cache
def _names() -> frozenset[str]:
    return frozenset(module.name for room in ROOMS for module in _modules(room))


def _module_of(name: str) -> str:
    """The module that ``from a.b import c`` reads: a.b.c when that is one, else a.b."""
    while name not in _names() and "." in name:
        name = name.rpartition(".")[0]
    return name


def _room_of(name: str) -> str:
    if name in BASE:
        return "base"
    return ".".join(name.split(".")[:2])


QUERY = _modules("functions/query")
KNOWLEDGE = tuple(module for module in _modules("layers/chroma") if module.name.split(".")[0] == "knowledge")


def ids(module: Module) -> str:
    return module.name


def test_there_is_something_to_check() -> None:
    assert {"app", "rag.pipeline", "rag.stages.cite", "rag.adapters.extractive"} <= {module.name for module in QUERY}
    assert {"knowledge.types", "knowledge.index"} <= {module.name for module in KNOWLEDGE}


@pytest.mark.parametrize("module", QUERY, ids=ids)
def test_rooms_import_lower_rooms_only(module: Module) -> None:
    room = _room_of(module.name)
    for imported in module.imports():
        if imported.split(".")[0] == "knowledge" or imported == "rag":
            continue
        if module.name in BASE:
            assert imported in BASE_MAY_IMPORT[module.name], f"{module.name} imports {imported}"
        else:
            assert room in MAY_IMPORT, f"{module.name} is in no room that this law knows"
            assert _room_of(imported) in MAY_IMPORT[room], f"{module.name} imports {imported}"


@pytest.mark.parametrize("module", [module for module in QUERY if _room_of(module.name) == "rag.text"], ids=ids)
def test_text_is_pure(module: Module) -> None:
    assert all(_room_of(name) in {"rag.text", "base"} for name in module.imports())
    assert not {"pydantic", "numpy", "openai", "chromadb"} & _outside(module)


def test_only_wiring_and_tools_import_adapters() -> None:
    importers = {
        module.name
        for room in ROOMS
        for module in _modules(room)
        if any(name.startswith("rag.adapters") for name in module.imports())
    }
    assert importers
    assert all(name.startswith(("rag.adapters", "rag.wiring", "ragctl")) for name in importers), importers


@pytest.mark.parametrize("module", KNOWLEDGE, ids=ids)
def test_knowledge_imports_nothing_of_ours_but_itself(module: Module) -> None:
    assert {name.split(".")[0] for name in module.imports()} <= {"knowledge"}


@pytest.mark.parametrize("module", _modules("layers/chroma"), ids=ids)
def test_layers_import_nothing_of_functions_or_tools(module: Module) -> None:
    assert not {name.split(".")[0] for name in module.imports()} & {"rag", "app", "telemetry", "ragctl"}


@pytest.mark.parametrize("module", QUERY, ids=ids)
def test_only_the_adapters_app_and_telemetry_know_aws(module: Module) -> None:
    if _room_of(module.name) not in {"rag.adapters", "app", "telemetry"}:
        assert not {"boto3", "botocore", "aws_lambda_powertools", "aws_xray_sdk"} & _outside(module)


@pytest.mark.parametrize("module", [*QUERY, *_modules("layers/chroma")], ids=ids)
def test_only_a_programs_settings_module_reads_the_environment(module: Module) -> None:
    readers = [ast.unparse(node) for node in ast.walk(module.tree) if _reads_environment(node)]
    if module.name not in {"rag.settings", "modelbuilder.settings", "layerbuilder.settings"}:
        assert readers == []


def test_the_settings_module_is_found_by_that_check() -> None:
    (settings,) = [module for module in QUERY if module.name == "rag.settings"]
    assert any(_reads_environment(node) for node in ast.walk(settings.tree))


def _reads_environment(node: ast.AST) -> bool:
    names = {"environ", "environb", "getenv", "getenvb", "putenv"}
    if isinstance(node, ast.ImportFrom):
        return node.module == "os" and any(alias.name in names for alias in node.names)
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and (node.attr in names)
    )


def _outside(module: Module) -> set[str]:
    """The top-level packages that ``module`` imports."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found


@pytest.mark.parametrize("module", [*QUERY, *KNOWLEDGE], ids=ids)
def test_modules_are_small_and_say_what_they_are_for(module: Module) -> None:
    lines = module.path.read_text(encoding="utf-8").count("\n")
    assert lines <= (150 if module.name == "app" else 250)
    assert ast.get_docstring(module.tree), "no docstring"


# Runs in a process of its own: what importing does shows once.
PROBE = """
import importlib, json, os, sys, threading

# What these do when they are imported is not ours: numpy sets a variable, the X-Ray SDK makes its UDP socket.
import aws_lambda_powertools.tracing, aws_xray_sdk.core, numpy

late = {"openai", "chromadb", "boto3"} - set(sys.modules)
effects = []

def hook(event, args):
    if event in ("socket.__new__", "socket.connect", "socket.bind", "subprocess.Popen", "os.mkdir", "os.remove",
                 "os.rename", "os.system", "os.putenv", "os.fork", "_thread.start_new_thread"):
        effects.append(f"{event} {args!r:.100}")
    elif event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        effects.append(f"open {args!r:.100}")

sys.addaudithook(hook)
found = {}
for name in sys.argv[1:]:
    effects.clear()
    importlib.import_module(name)
    if effects:
        found[name] = list(effects)
loaded = sorted(late & set(sys.modules))
print(json.dumps({"effects": found, "threads": threading.active_count(), "loaded": loaded}))
"""


def test_importing_a_module_opens_starts_and_writes_nothing() -> None:
    # app.py builds the pipeline at module scope: the one exception.
    names = [module.name for module in (*QUERY, *KNOWLEDGE) if module.name != "app"]
    probe = subprocess.run([sys.executable, "-B", "-c", PROBE, *names], capture_output=True, text=True, check=True)
    assert json.loads(probe.stdout) == {"effects": {}, "threads": 1, "loaded": []}
