"""Publishing: the index of the stack brought up to date, packed, put into its bucket, and switched to."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from knowledge.model.errors import IndexMissing
from knowledge.model.manifest import MANIFEST_NAME, Manifest, dumps
from knowledge.open.source import CHROMA_FOLDER, read_manifest, verify
from publish.errors import PublishFailed, aws_errors, code_of
from publish.stack import HEALTH_S, UPDATE_S, Target, Tell
from publish.versions import Facts, key_of
from smoke.stack import Patience

WHEN = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that a zip can hold."""
KEY_DIGITS = 16


def content_key(manifest: Manifest) -> str:
    """A hash of all that answers depend on: equal for equal documents, tables and titles, whenever they were ingested.

    Chroma's own files are left out: it draws ids and the levels of its graph at random. What is in them is in the
    vectors and texts beside them.
    """
    files = {name: record for name, record in manifest.files.items() if not name.startswith(f"{CHROMA_FOLDER}/")}
    made = replace(manifest.made, paths=(), options={})
    same = replace(manifest, built_at="", data="", files=files, made=made)
    return sha256(dumps(same).encode()).hexdigest()[:KEY_DIGITS]


def pack_index(index: Path, target: Path) -> str:
    """Write the current state of ``index`` to the zip ``target``, below ``index/``; its content key.

    Raises:
        IndexUnavailable: there is no index, or it is damaged.
    """
    manifest = read_manifest(index)
    if manifest is None:
        raise IndexMissing(f"There is no index {index}")
    data = index / manifest.data
    verify(data, manifest.files)
    files = [index / MANIFEST_NAME, *(data / name for name in sorted(manifest.files))]
    with zipfile.ZipFile(target, "w") as packed:
        for file in files:
            entry = zipfile.ZipInfo(f"index/{file.relative_to(index).as_posix()}", WHEN)
            entry.external_attr = 0o100644 << 16
            packed.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, 6)
    return content_key(manifest)


type Build = Callable[[Path], Mapping[str, Any]]
"""Brings the index in a folder up to date and examines it; what it did, as ``ragctl ingest --json`` says it."""


@dataclass(frozen=True, slots=True)
class Waits:
    """How long the update and the health afterwards are waited for."""

    update: Patience = field(default_factory=lambda: Patience(seconds=UPDATE_S, pause_s=5.0))
    health: Patience = field(default_factory=lambda: Patience(seconds=HEALTH_S, pause_s=2.0))


@dataclass(frozen=True, slots=True)
class Outcome:
    """``published`` is False where that version answered already. ``report`` is what the ingest did, {} without one."""

    stack: str
    key: str
    former: str
    facts: Facts
    published: bool
    report: Mapping[str, Any]

    @property
    def sentence(self) -> str:
        """For people."""
        what = f"{self.facts.version} ({self.facts.documents} documents, {self.facts.chunks} chunks)"
        if not self.published:
            return f"Nothing to publish: {self.stack} answers from {what} already"
        back = f". Back again: ragctl publish --stack {self.stack} --version {self.former}" if self.former else ""
        return f"{self.stack} answers from {what}{back}"

    def fields(self) -> dict[str, Any]:
        """As JSON."""
        facts = {"version": self.facts.version, "documents": self.facts.documents, "chunks": self.facts.chunks}
        return {"stack": self.stack, "key": self.key, "former": self.former, "published": self.published, **facts,
                "ingest": dict(self.report) or None}  # fmt: skip


def publish(target: Target, build: Build, tell: Tell, waits: Waits | None = None) -> Outcome:
    """Bring the stack's index up to date with ``build``, and let the stack answer from it.

    Raises:
        PublishFailed: nothing was published, or CloudFormation went back.
        Exception: what ``build`` raises; nothing was published then.
    """
    target.check_ready()
    with tempfile.TemporaryDirectory(prefix="ragctl-publish-") as temporary:
        place = Path(temporary)
        folder = place / "index"
        if target.key:
            tell(f"fetching {target.key}")
            with aws_errors():
                folder = target.bucket.fetch(target.key, place)
        report = build(folder)
        manifest = read_manifest(folder)
        if manifest is None or not manifest.chunks:
            raise PublishFailed("The index holds nothing, and is not published", code="index_empty")
        archive, facts = place / "packed.zip", Facts.of(manifest)
        key = key_of(pack_index(folder, archive))
        if key != target.key:
            tell(f"putting {key} into the bucket")
            with aws_errors():
                target.bucket.put(key, archive, facts)
    return switch(target, key, facts, tell, waits, report=report)


def switch(
    target: Target,
    key: str,
    facts: Facts,
    tell: Tell,
    waits: Waits | None = None,
    *,
    report: Mapping[str, Any] | None = None,
) -> Outcome:
    """Let the stack answer from the version ``key``, which is in its bucket.

    Raises:
        PublishFailed: CloudFormation went back, or the version does not answer.
    """
    outcome = Outcome(target.name, key, target.key, facts, key != target.key, report or {})
    if not outcome.published:
        return outcome
    target.check_ready()
    waits = waits or Waits()
    tell("telling the stack")
    with aws_errors():
        token = target.update("IndexKey", key)
        target.wait(token, tell, waits.update)
        target.check_health(facts.version, waits.health)
        try:
            target.bucket.prune(frozenset({key, target.key}))
        except ClientError as exc:
            tell(f"older versions could not be deleted: {code_of(exc)}")
    return outcome
