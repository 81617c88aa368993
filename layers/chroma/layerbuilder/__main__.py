"""``python -m layerbuilder chroma|index|sizes``: what `sam build` calls, and the gate after it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from subprocess import CalledProcessError

from knowledge.model.errors import KnowledgeError
from knowledge.open.index import DEFAULT_COLLECTION
from layerbuilder import chroma, index, sizes
from layerbuilder.chroma import CompileError, PruneError

PARTS = ("QueryFunction", "ChromaLayer", "IndexLayer")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 1 when the layer cannot be built or is too big."""
    parser = argparse.ArgumentParser(prog="layerbuilder", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    chroma_command = commands.add_parser("chroma", help="build the Chroma layer")
    chroma_command.add_argument("--arch", choices=sorted(chroma.PLATFORMS), required=True)
    chroma_command.add_argument("--out", type=Path, required=True)
    chroma_command.add_argument("--bill", type=Path, help="where to write the layer's bill of materials")
    index_command = commands.add_parser("index", help="build the index layer")
    index_command.add_argument("--index", type=Path, required=True)
    index_command.add_argument("--collection", default=DEFAULT_COLLECTION, help="of a Chroma folder made elsewhere")
    index_command.add_argument("--out", type=Path, required=True)
    sizes_command = commands.add_parser("sizes", help="the size table; fails over Lambda's limit")
    sizes_command.add_argument("--build", type=Path, required=True, help="sam build's folder")
    sizes_command.add_argument("--arch", choices=sorted(chroma.PLATFORMS), required=True)
    sizes_command.add_argument(
        "--chroma-layer", type=Path, help="another architecture's layer in place of the built one"
    )
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except CalledProcessError as exc:
        print(f"layerbuilder: installing failed with status {exc.returncode}; see above", file=sys.stderr)
        return 1
    except (PruneError, CompileError, KnowledgeError) as exc:
        print(f"layerbuilder: {exc}", file=sys.stderr)
        return 1


def _run(options: argparse.Namespace) -> int:
    if options.command == "chroma":
        chroma.build(options.out, arch=options.arch)
        if options.bill:
            chroma.write_bill(options.out, options.bill)
    elif options.command == "index":
        index.build(options.out, index=options.index, collection=options.collection)
    else:
        parts = {name: options.build / name for name in PARTS}
        if options.chroma_layer:
            parts["ChromaLayer"] = options.chroma_layer
        table, fits = sizes.report(f"Size for {options.arch}, unzipped", parts)
        print(table)
        if not fits:
            print(f"Over Lambda's limit of {sizes.LIMIT_BYTES} bytes", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
