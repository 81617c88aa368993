"""Publication of an index: update it, put it into the stack's bucket or on a server, and switch to it."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import SHA256, Database
from knowledge.model.errors import IndexMissing, IndexUnavailable
from knowledge.model.manifest import MANIFEST_NAME, Manifest, dumps
from knowledge.open.place import read_manifest
from knowledge.open.source import CHROMA_FOLDER, verify
from publish.errors import PublishFailed, aws_error_code, aws_errors
from publish.stack import Target, Tell
from publish.versions import Facts, version_key

ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every entry: the earliest that a zip can hold."""
KEY_DIGITS = 16
URI = "IndexUri"
"""The stack's parameter with the address of an index on a server."""


def content_key(manifest: Manifest) -> str:
    """Return a hash of all that answers depend on: equal for equal documents, tables and titles, at any time of ingest.

    Chroma's own files are left out: it draws ids and the levels of its graph at random. The vectors and texts beside
    them have the same content.
    """
    files = {name: record for name, record in manifest.files.items() if not name.startswith(f"{CHROMA_FOLDER}/")}
    made = replace(manifest.made, paths=(), options={})
    same = replace(manifest, built_at="", data="", files=files, made=made)
    return sha256(dumps(same).encode()).hexdigest()[:KEY_DIGITS]


def pack_index(index: Path, target: Path) -> str:
    """Write the current state of ``index`` to the zip ``target``, below ``index/``, and return its content key.

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
            entry = zipfile.ZipInfo(f"index/{file.relative_to(index).as_posix()}", ZIP_TIME)
            entry.external_attr = 0o100644 << 16
            packed.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, 6)
    return content_key(manifest)


type Build = Callable[[Path | str], Mapping[str, Any]]
"""Updates the index in a folder, or writes a version beside the current one at a server's address.

It examines the result, and returns the report that ``ragctl ingest --json`` prints.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result; ``published`` is False where that version answered already. ``report`` is the ingest's, or {}."""

    stack: str
    key: str
    former: str
    facts: Facts
    published: bool
    report: Mapping[str, Any]

    @property
    def sentence(self) -> str:
        """The result in words."""
        what = f"{self.facts.version} ({self.facts.documents} documents, {self.facts.chunks} chunks)"
        if not self.published:
            return f"Nothing to publish: {self.stack} answers from {what} already"
        back = f". Back again: ragctl publish --stack {self.stack} --version {self.former}" if self.former else ""
        return f"{self.stack} answers from {what}{back}"

    def fields(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "stack": self.stack,
            "key": self.key,
            "former": self.former,
            "published": self.published,
            **asdict(self.facts),
            "ingest": dict(self.report) or None,
        }


def publish(target: Target, build: Build, tell: Tell) -> Outcome:
    """Bring the stack's index up to date with ``build``, and let the stack answer from it.

    Raises:
        PublishFailed: nothing was published, or CloudFormation went back.
        Exception: an error of ``build``; nothing was published then.
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
        archive, facts = place / "packed.zip", Facts(manifest.version, manifest.documents, manifest.chunks)
        key = version_key(pack_index(folder, archive))
        if key != target.key:
            tell(f"putting {key} into the bucket")
            with aws_errors():
                target.bucket.put(key, archive, facts)
    return switch(target, key, facts, tell, report)


def switch(target: Target, key: str, facts: Facts, tell: Tell, report: Mapping[str, Any]) -> Outcome:
    """Let the stack answer from the version ``key``, which is in its bucket; ``report`` is the ingest's, or {}.

    Raises:
        PublishFailed: CloudFormation went back, or the version does not answer.
    """
    outcome = Outcome(target.name, key, target.key, facts, key != target.key, report)
    if outcome.published:
        _update(target, "IndexKey", key, facts, tell)
        with aws_errors():
            try:
                target.bucket.prune({key, target.key})
            except ClientError as exc:
                tell(f"older versions could not be deleted: {aws_error_code(exc)}")
    return outcome


def server_address(target: Target) -> ServerAddress | None:
    """Return the server that the stack answers from, at its version; None for an index in a layer or file system."""
    uri = target.parameters.get(URI, "")
    return ServerAddress.parse(uri) if uri else None


@dataclass(frozen=True, slots=True)
class ServerPublisher:
    """Publishes to a stack that answers from the ``collection`` of a server; ``token`` gives the server's key."""

    target: Target
    tell: Tell
    collection: str
    token: Callable[[], str]

    def publish(self, place: ServerAddress, build: Build) -> Outcome:
        """Write the documents to the server ``place``, and let the stack answer from that version.

        Raises:
            PublishFailed: nothing was published, or CloudFormation went back: the version before answers.
            Exception: an error of ``build``; nothing was published then.
        """
        self.target.check_ready()
        if URI not in self.target.parameters:
            sentence = (
                f"The stack {self.target.name} has no {URI} yet: deploy this version's template once (docs/publish.md)"
            )
            raise PublishFailed(sentence, code="stack_too_old")
        report = build(str(place.at_version("")))
        facts = Facts(report["version"], report["documents"], report["chunks"])
        outcome = self._switch(place.at_version(facts.version), facts, report)
        with closing(Connection(place, self.token)) as connection:
            try:
                Database(connection, self.collection).switch(facts.version)
            except IndexUnavailable as exc:
                self.tell(f"older versions could not be deleted: {exc}")
        return outcome

    def go_back(self, version: str) -> Outcome:
        """Let the stack answer from ``version`` of the server that it answers from.

        Raises:
            PublishFailed: there is no such version there, or CloudFormation went back.
        """
        now = server_address(self.target)
        assert now is not None  # noqa: S101 - the caller asked
        place = now.at_version(version)
        with closing(Connection(place, self.token)) as connection:
            database = Database(connection, self.collection)
            try:
                whole = SHA256 in database.metadata(database.facts(version))
                chunks = database.count(database.chunks(version))
            except IndexUnavailable as exc:
                raise PublishFailed(f"{place}: {exc}", code=exc.code) from exc
        if not whole:
            raise PublishFailed(f"The version {version} is not whole", code="no_such_version")
        return self._switch(place, Facts(version, 0, chunks), {})

    def _switch(self, place: ServerAddress, facts: Facts, report: Mapping[str, Any]) -> Outcome:
        former = server_address(self.target)
        former_version = former.version if former else ""
        outcome = Outcome(self.target.name, str(place), former_version, facts, place != former, report)
        if outcome.published:
            _update(self.target, URI, str(place), facts, self.tell)
        return outcome


def _update(target: Target, parameter: str, value: str, facts: Facts, tell: Tell) -> None:
    """Set the stack's ``parameter``, wait for the update, and check that the version answers."""
    target.check_ready()
    tell("telling the stack")
    with aws_errors():
        token = target.update(parameter, value)
        target.wait(token, tell)
        target.check_health(facts.version)
