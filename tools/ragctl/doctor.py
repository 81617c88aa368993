"""ragctl doctor: is everything there that the service needs?"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl.console import emit_json, show
from ragctl.failures import DONE, FAILED
from ragctl.options import DEFAULT_PORT, IndexDir, Json, Profile, read_settings

if TYPE_CHECKING:
    from ragctl.checks import Outcome


def doctor(
    *,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port that the service would use.")] = DEFAULT_PORT,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> int:
    """Check Python, packages, model, index, LLM and port; exit status 1 when one is not as it should be."""
    settings = read_settings(index=index, profile=profile)

    from ragctl.checks import run_checks

    outcomes = list(run_checks(settings, port=port))
    ok = all(outcome.ok for outcome in outcomes)
    if as_json:
        emit_json({"checks": [asdict(outcome) for outcome in outcomes], "ok": ok})
    else:
        _print_table(outcomes)
    return DONE if ok else FAILED


def _print_table(outcomes: list[Outcome]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for outcome in outcomes:
        verdict = Text("ok", style="green") if outcome.ok else Text("FAIL", style="bold red")
        table.add_row(outcome.name, verdict, Text(outcome.detail))
    show(table)
