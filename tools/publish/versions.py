"""The versions of an index in a stack's bucket: ``index/<version>.zip``, with its facts as the object's metadata."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from knowledge.model.manifest import Manifest
from publish.errors import PublishFailed, code_of

FOLDER = "index"
"""Of a key in the bucket, and of the files in a zip: a layer's content lies below /opt."""
KEPT = 10
"""So many versions stay in the bucket; S3's lifecycle keeps the others for 30 days after they were deleted."""

_KEY = re.compile(rf"{FOLDER}/[A-Za-z0-9._-]{{1,200}}\.zip")


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a version without opening it: ``version`` is what ``GET /api/health`` shows."""

    version: str
    documents: int
    chunks: int

    @classmethod
    def of(cls, manifest: Manifest) -> Facts:
        """Those of an index."""
        return cls(manifest.version, manifest.documents, manifest.chunks)


@dataclass(frozen=True, slots=True)
class Published:
    """A version in the bucket; ``at`` is when it was put there."""

    key: str
    at: datetime
    facts: Facts


def key_of(name: str) -> str:
    """The key of a version, given as a key or without folder and ending.

    Raises:
        PublishFailed: it cannot be one.
    """
    key = name if "/" in name else f"{FOLDER}/{name.removesuffix('.zip')}.zip"
    if not _KEY.fullmatch(key):
        raise PublishFailed(
            f"{name!r} is no version; they are {FOLDER}/<version>.zip (see --list)", code="no_such_version"
        )
    return key


@dataclass(frozen=True, slots=True)
class VersionBucket:
    """``client`` is S3's; AWS's errors go through, but for what is no error here."""

    client: Any
    name: str

    def put(self, key: str, archive: Path, facts: Facts) -> bool:
        """Put a version there; False where it is there already, whoever was first."""
        told = {"version": facts.version, "documents": str(facts.documents), "chunks": str(facts.chunks)}
        try:
            with archive.open("rb") as body:
                self.client.put_object(Bucket=self.name, Key=key, Body=body, IfNoneMatch="*", Metadata=told)
        except ClientError as exc:
            if code_of(exc) != "PreconditionFailed":
                raise
            return False
        return True

    def facts(self, key: str) -> Facts:
        """Those of one version.

        Raises:
            PublishFailed: it is not there.
        """
        try:
            told = self.client.head_object(Bucket=self.name, Key=key)["Metadata"]
        except ClientError as exc:
            if code_of(exc) not in {"404", "NoSuchKey"}:
                raise
            sentence = f"There is no {key} in the bucket {self.name}; --list tells which there are"
            raise PublishFailed(sentence, code="no_such_version") from exc
        return Facts(told.get("version", ""), int(told.get("documents", 0)), int(told.get("chunks", 0)))

    def download(self, key: str, place: Path) -> bool:
        """The object ``key`` as the file ``place``; False where there is none."""
        try:
            self.client.download_file(self.name, key, str(place))
        except ClientError as exc:
            if code_of(exc) not in {"404", "NoSuchKey"}:
                raise
            return False
        return True

    def fetch(self, key: str, place: Path) -> Path:
        """The index of a version, unpacked below ``place``.

        Raises:
            PublishFailed: it is not there, or no archive of an index.
        """
        self.facts(key)
        archive = place / "fetched.zip"
        self.client.download_file(self.name, key, str(archive))
        try:
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(place)
        except zipfile.BadZipFile as exc:
            raise PublishFailed(f"{key} is damaged: {exc}", code="version_damaged") from exc
        archive.unlink()
        return place / FOLDER

    def versions(self) -> list[Published]:
        """All that are there, the newest first."""
        found = sorted(self._objects(), key=lambda one: (one["LastModified"], one["Key"]), reverse=True)
        return [Published(one["Key"], one["LastModified"], self.facts(one["Key"])) for one in found]

    def prune(self, keep: frozenset[str]) -> list[str]:
        """Delete all but the newest ``KEPT`` and those of ``keep``; which were deleted."""
        found = sorted(self._objects(), key=lambda one: (one["LastModified"], one["Key"]), reverse=True)
        old = [one["Key"] for one in found[KEPT:] if one["Key"] not in keep]
        for key in old:
            self.client.delete_object(Bucket=self.name, Key=key)
        return old

    def _objects(self) -> Iterator[Any]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=f"{FOLDER}/")
        return (one for page in pages for one in page.get("Contents", []) if _KEY.fullmatch(one["Key"]))
