"""What an index is about, as far as its metadata says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from knowledge.model.values import Chunk, Scalar


@dataclass(frozen=True, slots=True)
class FilterField:
    """A metadata field that a filter may name; ``values`` are all that it has where these are few, else empty."""

    kind: str
    values: tuple[Scalar, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """How many ``documents`` there are, their ``categories``, ``titles`` from all over, and fields to filter by."""

    documents: int
    categories: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    fields: Mapping[str, FilterField] | None = None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Documents, each as its first chunk, and the number that the next page begins with; None after the last."""

    first_chunks: tuple[Chunk, ...]
    following: int | None
