"""Sites that tools such as Hugo or MkDocs make of documents: their configuration, and the addresses of their pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ANCHORS = {"nuxt": "nuxt", "vitepress": "vitepress", "mkdocs": "python-markdown", "sphinx": "docutils"}
"""The rule by which each tool makes the ids of headings; all others follow GitHub's."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A ``folder`` (absolute, forward slashes) whose pages have addresses that begin with ``prefix`` (``"docs/"``)."""

    folder: str
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The site that documents belong to.

    ``kind`` is the tool; ``""`` is unknown, and then only ``root``, the given folder (absolute), and ``top`` are set:
    the folder of the site's repository, whose files pages may include (``""``: ``root``). ``base_url`` is the address
    of the front page, ``""`` if the configuration lacks it. ``anchors`` is ``github`` or a value of ``ANCHORS``.
    ``config`` is the configuration as read; of a program, the literals in it.
    """

    root: str
    top: str = ""
    kind: str = ""
    base_url: str = ""
    anchors: str = "github"
    config: Mapping[str, Any] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
