"""README.md shows what the program prints and replies on its sample knowledge base."""

import json
import re
from pathlib import Path

import pytest
from functional.golden import differences
from functional.harness import Api, run_apart

README_PATH = Path(__file__).resolve().parents[2] / "README.md"
README = README_PATH.read_text(encoding="utf-8")
ASKED = re.findall(r'ragctl ask "([^"\n]*)"\n\n```text\n(.*?)```', README, re.DOTALL)
[(MEASURED, MEASURE)] = re.findall(r"(ragctl evaluate --questions \S+).*?```text\n(.*?)```", README, re.DOTALL)
RAGCTL = "from ragctl.cli import main; main()"


@pytest.mark.slow
@pytest.mark.parametrize(("question", "shown"), ASKED, ids=["answered", "declined"])
def test_ragctl_ask_prints_what_is_shown(waypoint_index: Path, question: str, shown: str) -> None:
    said = run_apart(RAGCTL, "ask", question, "--profile", "waypoint", "--index", str(waypoint_index)).stdout
    assert list(differences(_steady(said), _steady(shown))) == []


@pytest.mark.slow
def test_ragctl_evaluate_prints_the_lines_that_are_shown(waypoint_index: Path, tmp_path: Path) -> None:
    """Figures aside, which move a little with the processor, and so does which answer is the worst."""
    questions = README_PATH.parent / MEASURED.split()[-1]
    command = [*MEASURED.split()[1:-1], str(questions), "--profile", "waypoint", "--index", str(waypoint_index)]
    said = run_apart(RAGCTL, *command, cwd=tmp_path).stdout
    printed = _lines(said.replace(str(waypoint_index), ".index/waypoint"))
    table, _, _ = MEASURE.partition("Look at these first\n 1.")
    assert table != MEASURE
    assert [line for line in _lines(table) if line not in printed] == []


def test_the_reply_has_what_is_shown_of_it(api: Api) -> None:
    asked = re.search(r"""-d '(\{"query": .*?\})'""", README)
    block = re.search(r"```json\n(.*?)```", README, re.DOTALL)
    assert asked is not None
    assert block is not None
    shown = json.loads(block[1])
    said = api.ask(json.loads(asked[1])["query"]).json
    assert list(differences(_shortened(said, shown), shown)) == []


def _lines(text: str) -> list[str]:
    return [" ".join(re.sub(r"[\d.]+", "#", line).split()) for line in text.splitlines()]


def _steady(text: str) -> str:
    """``text`` on one line, without times; the confidence as a percentage, which is compared with a tolerance."""
    return " ".join(re.sub(r"\d+ ms", "ms", text).replace("/100", "%").split())


def _shortened(said: object, shown: object) -> object:
    """``said`` without the fields that ``shown`` leaves out."""
    match said, shown:
        case dict(), dict():
            return {name: _shortened(said.get(name), shown[name]) for name in shown}
        case list(), list() if len(said) == len(shown):
            return [_shortened(one, other) for one, other in zip(said, shown, strict=True)]
        case _:
            return said
