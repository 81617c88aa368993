"""ragctl: the commands, and what they have in common (exit statuses, errors as JSON or as a sentence)."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from ragctl.ask import ask
from ragctl.calibrate import calibrate
from ragctl.console import emit_json, note
from ragctl.doctor import doctor
from ragctl.evaluate import evaluate
from ragctl.failures import BAD_USAGE, DONE, FAILED, INTERRUPTED, CommandFailed, Problem, describe
from ragctl.forget import forget
from ragctl.ingest import ingest
from ragctl.ls import ls
from ragctl.mcp import mcp
from ragctl.options import Json, limit_numpy_threads, wants_trace
from ragctl.publish import publish
from ragctl.refresh import refresh
from ragctl.rm import rm
from ragctl.search import search
from ragctl.serve import serve
from ragctl.show import show

app = typer.Typer(name="ragctl", add_completion=False, help="Index documents, search them, ask them, serve them.")
for command in (ingest, ls, rm, search, ask, show, serve, mcp, doctor, evaluate, calibrate, forget, publish, refresh):
    app.command()(command)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Index documents, search them, ask them, serve them."""
    if version:
        from rag.version import VERSION

        typer.echo(f"ragctl {VERSION}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        note(context.get_help())
        raise typer.Exit(BAD_USAGE)


@app.command(hidden=True)
def docs(
    *,
    write: Annotated[bool, typer.Option("--write", help="Write what is not up to date.")] = False,
    as_json: Json = False,
) -> None:
    """Check that the generated documentation is what the code says, or write it."""
    from ragctl import docs as generated

    names = generated.write() if write else generated.outdated()
    if names and not write:
        raise CommandFailed(f"Not up to date: {', '.join(names)}. Run: make docs", code="docs_outdated")
    if as_json:
        emit_json({"written": names})
    elif names:
        note(f"Written: {', '.join(names)}")


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit status: 0 done, 1 failed, 2 bad usage, 130 interrupted."""
    limit_numpy_threads()
    if wants_trace():
        logging.basicConfig()
        logging.getLogger("knowledge").setLevel(logging.DEBUG)
    try:
        status = app(args=list(arguments), prog_name="ragctl", standalone_mode=False)
    except typer.TyperException as error:
        problem = Problem(" ".join(error.format_message().split()), "usage", error.exit_code)
    except BrokenPipeError:
        # Whoever read our output has stopped; the interpreter must not try to flush it again.
        sys.stdout = None
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence instead of a trace
        if wants_trace():
            traceback.print_exc()
        sentence = " ".join(f"Unexpected {type(error).__name__}: {error}".split())
        problem = describe(error) or Problem(sentence, "unexpected_failure")
    else:
        if status != INTERRUPTED:
            return status or DONE
        problem = Problem("Interrupted", "interrupted", INTERRUPTED)
    if "--json" in arguments:
        emit_json({"error": problem.sentence, "code": problem.code, **problem.more})
    else:
        note(f"Error: {problem.sentence}")
    return problem.exit_status


def main() -> None:
    """The program."""
    sys.exit(run(sys.argv[1:]))
