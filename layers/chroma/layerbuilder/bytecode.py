"""Compiles a layer ahead of time: Lambda's directories are read-only, so nothing can be compiled later."""

from __future__ import annotations

import py_compile
from pathlib import Path


class CompileError(Exception):
    """A module that should start with the function does not compile."""


def compile_in_place_of_sources(root: Path) -> int:
    """Replace each ``module.py`` below ``root`` by ``module.pyc``; the number of modules.

    The legacy layout: the import system finds ``module.pyc`` beside where the source was. That saves the
    sources' bytes and needs no check against them. What does not compile (templates, code for other
    versions) is left as it is.
    """
    count = 0
    for source in sorted(root.rglob("*.py")):
        target = source.with_suffix(".pyc")
        if _compile(source, target, root):
            source.unlink()
            count += 1
    return count


def compile_beside_sources(root: Path) -> int:
    """Write ``__pycache__`` bytecode beside our own sources, which stay for readable traces.

    Unchecked-hash bytecode: valid whatever time stamps a zip gives the source.

    Raises:
        CompileError: a module does not compile.
    """
    sources = sorted(root.rglob("*.py"))
    for source in sources:
        if not _compile(source, None, root):
            raise CompileError(f"{source.relative_to(root)} does not compile")
    return len(sources)


def _compile(source: Path, target: Path | None, root: Path) -> bool:
    try:
        py_compile.compile(
            str(source),
            cfile=str(target) if target else None,
            # Traces then show the place in the layer, not on the machine that built it.
            dfile=str(source.relative_to(root)),
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    except (py_compile.PyCompileError, UnicodeDecodeError):
        return False
    return True
