"""DESIGN.md's law, read off the source: each test lists the modules or blocks that break it.

ruff's C90 counts branches, at most 10 a function; radon counts conditions and comprehensions too.
"""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from radon.complexity import cc_visit

REPOSITORY = Path(__file__).parents[2]
ROOTS = ("functions/query", "layers/chroma", "documents", "tools")

# A room may import itself and every room of the lines above its own.
LAW = (
    {"rag.values", "rag.text", "rag.version"},
    {"rag.errors"},
    {"rag.ports", "rag.config", "rag.ledger"},
    {"rag.contract", "rag.adapters"},
    {"rag.ask"},
    {"rag.find"},
    {"rag.write"},
    {"rag.answer"},
    {"rag.pipeline", "rag.http"},
    {"rag.mcp"},
    {"rag.profiles"},
    {"rag.wiring"},
    {"telemetry", "snapshot"},
    {"routes"},
    {"app"},
    {"runtime"},
)
KNOWLEDGE_LAW = (
    {"knowledge.model"},
    {"knowledge.embedding", "knowledge.read"},
    {"knowledge.cut"},
    {"knowledge.search"},
    {"knowledge.engines"},
    {"knowledge.open"},
    {"knowledge.build"},
)
AWS = {"boto3", "botocore", "aws_lambda_powertools"}
READ_THE_ENVIRONMENT = {"rag.config.settings", "runtime.loop", "runtime.__main__"}
"""The runtime reads what Lambda tells it, no setting of ours."""
MAX_LINES = {"app": 150}
"""Of other modules 500."""


@cache
def modules() -> dict[str, Path]:
    """Every module of the project by its dotted name."""
    found = {}
    for root in ROOTS:
        for path in sorted((REPOSITORY / root).rglob("*.py")):
            parts = path.relative_to(REPOSITORY / root).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


@cache
def imports(name: str, *, typing: bool = True) -> frozenset[str]:
    """What ``name`` imports, wherever it stands: modules of ours in full, of others the dotted name.

    ``typing`` says whether what only a type checker imports counts.
    """
    return imported(nodes(tree(name), typing=typing))


def imported(parts: Iterator[ast.AST]) -> frozenset[str]:
    found = set()
    for node in parts:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {known if known in modules() else str(node.module) for known in whole}
    return frozenset(found)


def nodes(node: ast.AST, *, typing: bool) -> Iterator[ast.AST]:
    """The statements in ``node``, in which all imports stand."""
    if isinstance(node, ast.If) and not typing and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from nodes(child, typing=typing)


def room(name: str) -> str:
    """``rag`` and ``knowledge`` have rooms in them; beside them every package and module is one."""
    return ".".join(name.split(".")[: 2 if name.startswith(("rag.", "knowledge.")) else 1])


def of(root: str) -> Iterator[str]:
    return (name for name, path in modules().items() if path.is_relative_to(REPOSITORY / root))


@pytest.mark.parametrize(("root", "law"), [("functions/query", LAW), ("layers/chroma/knowledge", KNOWLEDGE_LAW)])
def test_rooms_import_lower_rooms_only(root: str, law: Sequence[set[str]]) -> None:
    levels = {name: level for level, rooms in enumerate(law) for name in rooms}
    names = [name for name in of(root) if name not in {"rag", "knowledge"}]
    assert [name for name in names if room(name) not in levels] == []
    wrong = [
        f"{name} imports {other}"
        for name in names
        for other in imports(name, typing=False)
        if room(other) != room(name) and levels.get(room(other), -1) >= levels[room(name)]
    ]
    assert wrong == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    names = [*of("functions/query"), *of("layers/chroma/knowledge")]
    graph = {name: imports(name, typing=False) & modules().keys() for name in names}
    TopologicalSorter(graph).prepare()  # raises a CycleError that names them


def test_layers_stand_alone_and_functions_need_no_tools() -> None:
    query, tools = set(of("functions/query")), set(of("tools"))
    wrong = [(name, found) for name in of("layers/chroma") for found in imports(name) & (query | tools)]
    wrong += [(name, found) for name in query for found in imports(name) & tools]
    wrong += [
        (n, f) for n in of("layers/chroma/knowledge") for f in imports(n) & modules().keys() if "knowledge" not in f
    ]
    assert wrong == []


def test_documents_stand_alone_and_neither_functions_nor_layers_import_them() -> None:
    own = set(of("documents"))
    wrong = [(name, found) for name in own for found in imports(name) & (modules().keys() - own)]
    served = [*of("functions/query"), *of("layers/chroma")]
    wrong += [(name, found) for name in served for found in imports(name) & own]
    for path in sorted((REPOSITORY / "tests/documents").rglob("*.py")):
        rest = {"knowledge", "rag", "ragctl"}
        found = {name.partition(".")[0] for name in imported(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))}
        wrong += [(path.name, name) for name in sorted(found & rest)]
    assert {"documents", "documents.crawl.robots"} <= own
    assert wrong == []


def test_measuring_and_serving_know_nothing_of_the_command_line() -> None:
    own = {name for name in of("tools") if room(name) in {"evaluate", "serve"}}
    wrong = [(name, found) for name in own for found in imports(name) if room(found) in {"ragctl", "typer"}]
    assert {"evaluate.judge", "serve.wsgi"} <= own
    assert wrong == []


def test_only_wiring_and_tools_import_adapters() -> None:
    importers = {name for name in modules() if any(found.startswith("rag.adapters") for found in imports(name))}
    assert [name for name in importers if not name.startswith(("rag.adapters", "rag.wiring", "ragctl"))] == []
    assert "rag.wiring.application" in importers


def test_only_the_adapters_app_and_telemetry_know_aws() -> None:
    allowed = {"rag.adapters", "app", "routes", "telemetry"}
    knowing = {name for name in of("functions/query") if AWS & {found.partition(".")[0] for found in imports(name)}}
    assert {name for name in knowing if room(name) not in allowed} == set()


def test_only_config_reads_the_environment() -> None:
    readers = {
        name
        for root in ("functions/query", "layers/chroma")
        for name in of(root)
        if any(map(_reads_environment, ast.walk(tree(name))))
    }
    assert readers == READ_THE_ENVIRONMENT


def _reads_environment(node: ast.AST) -> bool:
    names = {"environ", "environb", "getenv", "getenvb", "putenv"}
    if isinstance(node, ast.ImportFrom):
        return node.module == "os" and any(alias.name in names for alias in node.names)
    if not isinstance(node, ast.Attribute) or node.attr not in names:
        return False
    return isinstance(node.value, ast.Name) and node.value.id == "os"


def test_modules_are_small_and_say_what_they_are_for() -> None:
    names = [*of("functions/query"), *of("layers/chroma/knowledge"), *of("documents")]
    lines = {name: modules()[name].read_text(encoding="utf-8").count("\n") for name in names}
    assert {name: count for name, count in lines.items() if count > MAX_LINES.get(name, 500)} == {}
    assert [name for name in names if not ast.get_docstring(tree(name))] == []


def test_text_is_pure() -> None:
    outside = {"pydantic", "numpy", "openai", "chromadb"}
    assert [name for name in of("functions/query/rag/text") if outside & imports(name)] == []


# Runs in a process of its own: what importing does shows once.
PROBE = """
import importlib, json, os, sys, threading

# What these do when they are imported is not ours: numpy sets a variable.
import numpy

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
    names = [
        name for name in [*of("functions/query"), *of("layers/chroma/knowledge"), *of("documents")] if name != "app"
    ]
    probe = subprocess.run([sys.executable, "-B", "-c", PROBE, *names], capture_output=True, text=True, check=True)
    assert json.loads(probe.stdout) == {"effects": {}, "threads": 1, "loaded": []}


ROOMS = ("functions/query", "layers/chroma", "documents/documents", "tools")
UNSHIPPED = REPOSITORY / "tools/research"
MOST = 15


def test_no_block_is_too_complex() -> None:
    files = [file for room in ROOMS for file in (REPOSITORY / room).rglob("*.py") if UNSHIPPED not in file.parents]
    found = {
        f"{file.relative_to(REPOSITORY)}:{block.lineno} {block.name}": block.complexity
        for file in files
        for block in cc_visit(file.read_text(encoding="utf-8"))
        if block.complexity > MOST
    }
    assert len(files) > 200
    assert found == {}
