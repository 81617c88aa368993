"""What all site tools share: configuration files, of which none is run, and the usual paths of pages."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urljoin

from documents.sites import ANCHORS, Mount, Site

type Folders = Iterable[tuple[Path, str]]
"""Folders of pages with the beginnings of their addresses."""

MAX_BYTES = 512 * 1024
_MAX_BRACES = 50  # in braces
_COMMENT = re.compile(r"^\s*(?:\*|/\*|#).*$|(?<![:'\"`\w])//.*$", re.MULTILINE)
# "url: 'https://...'", "'baseUrl': `/x/`", "html_baseurl = '...'", "cleanUrls: true"
_LITERAL = re.compile(
    r"""(?<![\w.$-])['"]?([A-Za-z_]\w*)['"]?\s*[:=](?!=)\s*"""
    r"""(?:(['"`])((?:(?!\2)[^\\\n$])*)\2(?!\s*[+?|])|(true|false|True|False)\b|([A-Za-z_]\w*)?)"""
)
# "exclude_patterns = ['a', 'b']" (Sphinx), "exclude: [...]" (Docusaurus), "srcExclude: [...]" (VitePress)
_EXCLUSIONS = re.compile(r"\b(exclude_patterns|exclude|srcExclude)['\"]?\s*(?:[:=]|\+=)\s*\[([^\]]*)\]")
_DAY = re.compile(r"(?<!\d)(\d{4})([-/.])(\d\d?)\2(\d\d?)(?!\d)")
_QUOTED = re.compile(r"""(['"`])((?:(?!\1)[^\\\n])*)\1""")


def read_code(path: Path) -> str:
    """Return the text of a configuration file; ``""`` if it is missing.

    A link is not followed: pages can show what a configuration says, and it may lead anywhere.
    """
    if path.is_symlink() or not path.is_file():  # opening a pipe would wait for its writer
        return ""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode(errors="replace").removeprefix("\ufeff")
    except OSError:
        return ""
    return text.replace("\r\n", "\n")


def read_config(path: Path) -> Mapping[str, Any]:
    """Return the settings in a configuration file; empty if it is missing or does not parse."""
    if not (code := read_code(path)):
        return {}
    from documents import yaml

    loads: dict[str, Callable[[str], object]] = {".toml": tomllib.loads, ".json": json.loads, ".py": parse_literals}
    try:
        config = loads.get(path.suffix, yaml.load)(code)
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def parse_literals(code: str) -> dict[str, Any]:
    """Return the texts and truth values that ``code`` assigns to names; the first assignment in any object counts.

    A name that is assigned another name gets its literal; a name that is first assigned an expression has none.
    Lists of texts are those of excluded files, of all assignments.
    """
    code = _COMMENT.sub("", code)
    literals: dict[str, Any] = {}
    for name, items in _EXCLUSIONS.findall(code):
        literals.setdefault(name, []).extend(item[1] for item in _QUOTED.findall(items))
    aliases: dict[str, str] = {}
    for name, quote, text, truth, other in _LITERAL.findall(code):
        if name in literals or name in aliases:
            continue
        if quote or truth:
            literals[name] = text if quote else truth.lower() == "true"
        else:
            aliases[name] = other
    return literals | {name: literals[other] for name, other in aliases.items() if other in literals}


def find_block(code: str, opening: str) -> str:
    """Return the text in the braces after the first match of the pattern ``opening``, without inner braces."""
    match = re.search(opening + r"[^{}]*\{", code)
    inner = code[match.end() :] if match else ""
    for _ in range(_MAX_BRACES):
        inner, count = re.subn(r"\{[^{}]*\}", "", inner)
        if not count:
            break
    return inner.partition("}")[0]


def get_setting(config: Mapping[str, Any], *names: str, default: Any = None) -> Any:
    """Return the value below ``names``, in any case; ``default`` if there is none."""
    value: Any = config
    for name in names:
        if not isinstance(value, Mapping):
            return default
        value = next((inner for key, inner in value.items() if str(key).lower() == name.lower()), None)
    return default if value is None else value


def get_text(config: Mapping[str, Any], *names: str, default: str = "") -> str:
    """Return the text below ``names``, in any case; ``default`` if there is none."""
    value = get_setting(config, *names)
    return value if isinstance(value, str) else default


def get_meta(meta: Mapping[str, Any], *names: str) -> str:
    """Return the first text in the front matter ``meta`` under one of ``names``, in any case; ``""`` without one."""
    lower = {str(key).lower(): value for key, value in reversed(list(meta.items()))}
    values = (lower.get(name.lower()) for name in names)
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


def join_base(url: str, path: str) -> str:
    """Return ``url`` with the base path of the site; ``""`` without a ``url``."""
    return urljoin(url.rstrip("/") + "/", path.strip("/") + "/" if path.strip("/") else "") if url else ""


def make_site(
    kind: str,
    root: Path,
    base_url: str,
    config: Mapping[str, Any],
    mounts: Iterable[tuple[Path, str]],
    *,
    anchors: str = "",
) -> Site:
    """Return a site; ``mounts`` are folders with their prefixes, a ``base_url`` that is no web address is left out."""
    return Site(
        root=root.as_posix(),
        kind=kind,
        base_url=base_url if base_url.startswith(("http://", "https://")) else "",
        anchors=anchors or ANCHORS.get(kind, "github"),
        config=config,
        mounts=tuple(Mount(folder.resolve().as_posix(), prefix) for folder, prefix in mounts),
    )


def list_folders(folder: Path, *, with_links: bool = True) -> list[Path]:
    """Return the folders in ``folder`` by name; none if it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and (with_links or not path.is_symlink()))
    except OSError:
        return []


def page_path(path: PurePosixPath, folder_names: frozenset[str], ending: str) -> str:
    """Return ``/a/b`` with ``ending`` for ``a/b.md``; ``/a/`` for a file with one of ``folder_names`` (lower case)."""
    if path.stem.lower() in folder_names:
        return folder_path(path.parent)
    return f"/{path.with_suffix('').as_posix()}{ending}"


def folder_path(path: PurePosixPath) -> str:
    """Return ``/a/b/`` for ``a/b``, ``/`` for the top."""
    return "/" if path.as_posix() == "." else f"/{path.as_posix()}/"


def find_day(*texts: str) -> tuple[str, str, str]:
    """Return year, month and day of the first text with a calendar day in it, ``""`` each without one."""
    for text in texts:
        for year, _, month, day in _DAY.findall(text):
            try:
                found = date(int(year), int(month), int(day))
            except ValueError:
                continue
            return f"{found.year:04}", f"{found.month:02}", f"{found.day:02}"
    return "", "", ""
