"""A bucket of documents, and a folder that mirrors it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from publish.errors import PublishFailed, code_of

type Listing = Mapping[str, str]
"""ETags by key."""


@dataclass(frozen=True, slots=True)
class DocumentBucket:
    """The objects below ``prefix`` ("" or with a slash at its end) of a bucket; AWS's errors go through."""

    client: Any
    name: str
    prefix: str = ""

    @classmethod
    def at(cls, client: Any, address: str) -> DocumentBucket:
        """The one at ``s3://bucket/prefix``.

        Raises:
            PublishFailed: it is no such address.
        """
        scheme, _, rest = address.partition("://")
        name, _, prefix = rest.partition("/")
        if scheme != "s3" or not name:
            raise PublishFailed(f"{address!r} is no address such as s3://bucket/folder", code="bad_address")
        return cls(client, name, prefix and prefix.rstrip("/") + "/")

    def listing(self) -> Listing:
        """What is there now; objects that stand for folders are none."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=self.prefix)
        found = (one for page in pages for one in page.get("Contents", []))
        return {one["Key"]: one["ETag"] for one in found if not one["Key"].endswith("/")}

    def mirror(self, listing: Listing, folder: Path, before: Listing) -> list[dict[str, str]]:
        """Make ``folder``, which mirrors ``before``, mirror ``listing``; what cannot be a file, as ``{path, error}``.

        What was deleted after it was listed is left out: the next listing says so.
        """
        folder.mkdir(parents=True, exist_ok=True)
        failed = []
        for key in sorted(before.keys() - listing.keys()):
            if place := self._place(key, folder):
                place.unlink(missing_ok=True)
        for key in sorted(key for key, tag in listing.items() if before.get(key) != tag):
            place = self._place(key, folder)
            if place is None:
                failed.append({"path": key, "error": "its key is no path of a file"})
                continue
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                self.client.download_file(self.name, key, str(place))
            except ClientError as exc:
                if code_of(exc) not in {"404", "NoSuchKey"}:
                    raise
                place.unlink(missing_ok=True)
            except (FileExistsError, NotADirectoryError, IsADirectoryError):
                failed.append({"path": key, "error": "another object's key is a folder of this one's"})
        return failed

    def _place(self, key: str, folder: Path) -> Path | None:
        """Where the object lies; None where that would be outside of ``folder``."""
        path = PurePosixPath(key.removeprefix(self.prefix))
        inside = not path.is_absolute() and ".." not in path.parts and path.parts and "\x00" not in key
        return folder.joinpath(*path.parts) if inside else None


def digest_of(listing: Listing) -> str:
    """Equal for equal listings."""
    return hashlib.sha256(json.dumps(sorted(listing.items())).encode()).hexdigest()
