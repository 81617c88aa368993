"""Read the configuration files of site tools. Nothing in them is run: of one that is code only literals are read."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from documents import yaml

MAX_BYTES = 512 * 1024
_COMMENT = re.compile(r"^\s*(?:\*|/\*|#).*$|(?<![:'\"`\w])//.*$", re.MULTILINE)
# "url: 'https://...'", "'baseUrl': `/x/`", "html_baseurl = '...'", "cleanUrls: true"
_LITERAL = re.compile(
    r"""(?<![\w.$-])['"]?([A-Za-z_]\w*)['"]?\s*[:=](?!=)\s*"""
    r"""(?:(['"`])((?:(?!\2)[^\\\n$])*)\2(?!\s*[+?|])|(true|false|True|False)\b|([A-Za-z_]\w*)?)"""
)


def read(path: Path) -> Mapping[str, Any]:
    """The settings in a configuration file, empty where it cannot be read as what its suffix says.

    A link is not followed: pages can show what a configuration says, and it may lead anywhere.
    """
    if path.is_symlink() or not path.is_file():  # opening a pipe would wait for its writer
        return {}
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode(errors="replace").removeprefix("\ufeff")
        found = _parsed(text.replace("\r\n", "\n"), path.suffix.lower())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _parsed(text: str, suffix: str) -> object:
    if suffix == ".toml":
        return tomllib.loads(text)
    if suffix in (".yaml", ".yml"):
        return yaml.load(text)
    if suffix == ".json":
        return json.loads(text)
    return literals(text)


def literals(code: str) -> dict[str, str | bool]:
    """The texts and truth values that ``code`` gives to names; the first counts, whatever it belongs to.

    A name that another one with a literal is given to has that; one that is first given what is computed has none.
    """
    found: dict[str, str | bool] = {}
    named: dict[str, str] = {}
    for name, quote, text, truth, other in _LITERAL.findall(_COMMENT.sub("", code)):
        if name in found or name in named:
            continue
        if quote or truth:
            found[name] = text if quote else truth.lower() == "true"
        else:
            named[name] = other
    return found | {name: found[other] for name, other in named.items() if other in found}


def block(code: str, opening: str) -> str:
    """What is between the braces behind the first match of the pattern ``opening``, without what is in inner braces."""
    match = re.search(opening + r"[^{}]*\{", code)
    depth, kept = 1, []
    for char in code[match.end() :] if match else "":
        depth += {"{": 1, "}": -1}.get(char, 0)
        if not depth:
            break
        if depth == 1:
            kept.append(char)
    return "".join(kept)


def setting(config: Mapping[str, Any], *names: str, default: Any = None) -> Any:
    """The value below ``names``, whatever their case; ``default`` without one."""
    found: Any = config
    for name in names:
        if not isinstance(found, Mapping):
            return default
        found = next((value for key, value in found.items() if str(key).lower() == name.lower()), None)
    return default if found is None else found


def text(config: Mapping[str, Any], *names: str, default: str = "") -> str:
    """The same as a text; what is none is the ``default``."""
    found = setting(config, *names)
    return found if isinstance(found, str) else default
