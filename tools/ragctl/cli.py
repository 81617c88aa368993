"""ragctl: the commands, with their exit statuses and their errors as JSON or as a sentence."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from ragctl.ask import ask
from ragctl.calibrate import calibrate
from ragctl.console import (
    BAD_USAGE,
    DONE,
    FAILED,
    INTERRUPTED,
    CommandFailed,
    ErrorMessage,
    describe_error,
    emit_json,
    note,
)
from ragctl.contents import forget, ls, rm, show
from ragctl.doctor import doctor
from ragctl.evaluate import evaluate
from ragctl.ingest import ingest
from ragctl.options import Json, limit_numpy_threads, wants_trace
from ragctl.publish import publish, refresh
from ragctl.search import search
from ragctl.serve import mcp, serve

app = typer.Typer(name="ragctl", add_completion=False, help="Index documents, search them, ask them, serve them.")
for command in (ingest, ls, rm, search, ask, show, serve, mcp, doctor, evaluate, calibrate, forget, publish, refresh):
    app.command()(command)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context, *, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
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
    write: Annotated[bool, typer.Option("--write", help="Write the pages that are out of date.")] = False,
    as_json: Json = False,
) -> None:
    """Check that the generated documentation matches the code, or write it."""
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
        message = ErrorMessage(" ".join(error.format_message().split()), "usage", error.exit_code)
    except BrokenPipeError:
        # The reader of the output has stopped; the interpreter must not flush it again.
        sys.stdout = None
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last resort: a sentence instead of a trace
        if wants_trace():
            traceback.print_exc()
        sentence = " ".join(f"Unexpected {type(error).__name__}: {error}".split())
        message = describe_error(error) or ErrorMessage(sentence, "unexpected_failure")
    else:
        if status != INTERRUPTED:
            return status or DONE
        message = ErrorMessage("Interrupted", "interrupted", INTERRUPTED)
    if "--json" in arguments:
        emit_json({"error": message.sentence, "code": message.code, **message.extra})
    else:
        note(f"Error: {message.sentence}")
    return message.exit_status


def main() -> None:
    """The program."""
    sys.exit(run(sys.argv[1:]))
