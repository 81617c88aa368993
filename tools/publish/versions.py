"""The versions of an index in a stack's bucket: ``index/<version>.zip``, with facts in the object's metadata."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from publish.errors import PublishFailed, aws_error_code

FOLDER = "index"
"""The folder of the keys in the bucket, and of the files in a zip: a layer's content lies below /opt."""
KEPT_VERSIONS = 10
"""Versions that stay in the bucket; S3's lifecycle keeps the others for 30 days after their deletion."""

_KEY = re.compile(rf"{FOLDER}/[A-Za-z0-9._-]{{1,200}}\.zip")


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts of a version that are known without opening it; ``GET /api/health`` shows ``version``."""

    version: str
    documents: int
    chunks: int


def version_key(name: str) -> str:
    """Return the key of a version that is given as a key or without folder and ending.

    Raises:
        PublishFailed: it is no version.
    """
    key = name if "/" in name else f"{FOLDER}/{name.removesuffix('.zip')}.zip"
    if not _KEY.fullmatch(key):
        raise PublishFailed(
            f"{name!r} is no version; they are {FOLDER}/<version>.zip (see --list)", code="no_such_version"
        )
    return key


@dataclass(frozen=True, slots=True)
class VersionBucket:
    """A stack's bucket of versions; ``client`` is S3's. AWS's errors are raised unless a method handles them."""

    client: Any
    name: str

    def put(self, key: str, archive: Path, facts: Facts) -> None:
        """Upload a version, unless it is there already."""
        metadata = {name: str(value) for name, value in asdict(facts).items()}
        try:
            with archive.open("rb") as body:
                self.client.put_object(Bucket=self.name, Key=key, Body=body, IfNoneMatch="*", Metadata=metadata)
        except ClientError as exc:
            if aws_error_code(exc) != "PreconditionFailed":
                raise

    def facts(self, key: str) -> Facts:
        """Return the facts of one version.

        Raises:
            PublishFailed: it is not there.
        """
        try:
            found = self.client.head_object(Bucket=self.name, Key=key)["Metadata"]
        except ClientError as exc:
            if aws_error_code(exc) not in {"404", "NoSuchKey"}:
                raise
            sentence = f"There is no {key} in the bucket {self.name}; --list tells which there are"
            raise PublishFailed(sentence, code="no_such_version") from exc
        return Facts(found.get("version", ""), int(found.get("documents", 0)), int(found.get("chunks", 0)))

    def download(self, key: str, place: Path) -> bool:
        """Download the object ``key`` to the file ``place``; return False if it does not exist."""
        try:
            self.client.download_file(self.name, key, str(place))
        except ClientError as exc:
            if aws_error_code(exc) not in {"404", "NoSuchKey"}:
                raise
            return False
        return True

    def fetch(self, key: str, place: Path) -> Path:
        """Unpack the index of a version below ``place`` and return its folder.

        Raises:
            PublishFailed: the version does not exist, or is no archive of an index.
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

    def versions(self) -> list[tuple[str, datetime, Facts]]:
        """Return the key, the time of upload and the facts of every version, the newest first."""
        return [(one["Key"], one["LastModified"], self.facts(one["Key"])) for one in self._newest_first()]

    def prune(self, keep: Collection[str]) -> None:
        """Delete all except the newest ``KEPT_VERSIONS`` and the keys ``keep``."""
        for one in self._newest_first()[KEPT_VERSIONS:]:
            if one["Key"] not in keep:
                self.client.delete_object(Bucket=self.name, Key=one["Key"])

    def _newest_first(self) -> list[Any]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=f"{FOLDER}/")
        found = [one for page in pages for one in page.get("Contents", []) if _KEY.fullmatch(one["Key"])]
        return sorted(found, key=lambda one: (one["LastModified"], one["Key"]), reverse=True)
