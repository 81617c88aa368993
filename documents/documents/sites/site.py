"""The values: a site, and the folders that its pages come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ANCHORS = {
    "nuxt": "nuxt",
    "vitepress": "vitepress",
    "mkdocs": "python-markdown",
    "sphinx": "docutils",
}
"""After whom each tool makes the ids of headings; all others do as GitHub."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A ``folder`` (absolute, forward slashes) whose pages have addresses that begin with ``prefix`` (``"docs/"``)."""

    folder: str
    prefix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What is known of the site that documents belong to.

    ``kind`` is the tool, ``""`` unknown: then all but ``root``, the folder that was given (absolute), is empty.
    ``base_url`` is the address of the site's front page, ``""`` where the configuration does not say it. ``anchors`` is
    ``github`` or a value of ``ANCHORS``. ``config`` is the configuration as read; of one that is code, the literals in
    it.
    """

    root: str
    kind: str = ""
    base_url: str = ""
    anchors: str = "github"
    config: Mapping[str, Any] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
