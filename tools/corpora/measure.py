"""One folder of documents, read and cut as ``ragctl ingest`` does, against what its files and its built site say."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from corpora.leftovers import leftovers
from corpora.sources import Source, page, read, words
from knowledge.build.plan import PreviousChunks, plan
from knowledge.cut.chunking import MAX_CHARS, OVERLAP_CHARS
from knowledge.model.values import Chunk, Document
from knowledge.read.file_names import strip_template_suffixes
from ragctl.ingest_request import IngestRequest
from ragctl.sources import map_documents, read_sources

_LINK = re.compile(r"""(?:\]\(|href=["'])(/(?![\w./-]*\.(?!html)\w+[)#"'?])[\w./-]+)[)#"'?]""")
"""A link from the top of the site that is no picture and no download."""
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
TITLES, LINKS = 20, 30
REPOSITORY = "https://github.com/owner/name/blob/main"
SITE = "https://site.example"


@dataclass(frozen=True, slots=True)
class Built:
    """The HTML files below ``folder``, by the path of the address that a server gives them (no slash at the end)."""

    folder: Path
    files: dict[str, Path]

    @classmethod
    def of(cls, folder: Path) -> Built:
        """All pages of the built site in ``folder``."""
        files: dict[str, Path] = {}
        for file in sorted(folder.rglob("*.html")):
            path = file.relative_to(folder).as_posix()
            for name in (path, path.removesuffix(".html"), path.removesuffix("index.html")):
                files.setdefault(name.strip("/"), file)
        return cls(folder, files)

    def page(self, url: str, base: str) -> Path | None:
        """The file behind an address below ``base``; ``None`` where the site has no such page."""
        path = urlsplit(url).path.removeprefix(urlsplit(base).path.rstrip("/"))
        return self.files.get(unquote(path).strip("/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A ``folder`` of documents, called ``name``; of the options of an ingest what it needs.

    ``built`` is the folder of its built site, ``base`` the site's address: without ``built`` the links that the authors
    wrote from page to page are the truth, without either its links are those of files in a repository. ``named``: a
    page is called as its file, as in wikis.
    """

    name: str
    folder: Path
    built: Path | None = None
    base: str = ""
    named: bool = False
    read_as: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(slots=True)
class Row:
    """The figures of a corpus; ``lost`` are words by document, ``left`` chunks with the kinds of markup in them."""

    corpus: Corpus
    documents: int = 0
    failed: list[str] = field(default_factory=list)
    passed_over: Mapping[str, int] = field(default_factory=dict)
    chunks: Sequence[Chunk] = ()
    words: int = 0
    compared: int = 0
    lost: dict[str, Counter[str]] = field(default_factory=dict)
    left: list[tuple[Chunk, list[str]]] = field(default_factory=list)
    titles: list[tuple[bool, str, str]] = field(default_factory=list)
    links: list[tuple[bool, str]] = field(default_factory=list)

    @property
    def kept(self) -> float:
        """The share of the words of the source files that the documents hold, in %."""
        return 100 * (1 - sum(map(Counter.total, self.lost.values())) / max(self.words, 1))

    @property
    def left_over(self) -> float:
        """The share of the chunks with markup in them that no reader sees, in %."""
        return 100 * len(self.left) / max(len(self.chunks), 1)


def measure(corpus: Corpus) -> Row:
    """All figures of ``corpus``."""
    built = Built.of(corpus.built) if corpus.built else None
    asked = IngestRequest(
        paths=(str(corpus.folder),),
        base_url=corpus.base or (SITE if built else REPOSITORY),
        read_as=corpus.read_as,
        include=corpus.include,
        exclude=corpus.exclude,
    )
    with TemporaryDirectory() as cache:
        reading, _ = read_sources(asked, cache=Path(cache))
    cut = plan(
        reading.documents,
        previous=PreviousChunks(),
        max_chars=MAX_CHARS,
        overlap=OVERLAP_CHARS,
        map_documents=map_documents,
    )
    row = Row(corpus, documents=len(reading.documents), chunks=cut.chunks, passed_over=reading.skipped)
    row.failed = [f"{one.path}: {one.error}" for one in (*reading.failed, *cut.failed)]
    formats = {document.doc_id: _format(document.path, asked.formats) for document in reading.documents}
    found = ((chunk, leftovers(chunk.text, f"x{formats[chunk.doc_id]}")) for chunk in cut.chunks)
    row.left = [(chunk, kinds) for chunk, kinds in found if kinds]
    _compare(row, reading.documents, built, formats)
    return row


def _compare(row: Row, documents: Sequence[Document], built: Built | None, formats: Mapping[str, str]) -> None:
    """Put words, titles and links of ``documents`` into ``row``."""
    corpus = row.corpus
    stated: list[tuple[Document, tuple[str, ...]]] = []
    for document, source in _sources(documents, corpus, built, formats):
        row.compared += 1
        row.words += source.words.total()
        said = f"{document.title}\n{document.text}\n{'\n'.join(map(str, document.extra.values()))}"
        if lost := source.words - words(said):
            row.lost[document.path] = lost
        if titles := (PurePosixPath(document.path).stem,) if corpus.named else source.titles:
            stated.append((document, titles))
    row.titles = [
        (any(same(document.title, title) for title in titles), document.title, " | ".join(titles))
        for document, titles in drawn(stated, TITLES)
    ]
    if built is None and corpus.base:
        row.links = list(_written_links(documents, corpus))
    else:
        meets = _meets(corpus, built)
        row.links = [(meets(document), document.url) for document in drawn(documents, LINKS)]


def same(title: str, stated: str) -> bool:
    """Whether two titles have the same letters: code, entities and marks aside, and what a site adds behind a bar."""
    one, other = ("".join(filter(str.isalnum, text.casefold())) for text in (title, stated))
    return one == other


def _sources(
    documents: Sequence[Document], corpus: Corpus, built: Built | None, formats: Mapping[str, str]
) -> Iterator[tuple[Document, Source]]:
    """Each document with what others read of it; of a built site those that it has a page of."""
    for document in documents:
        file = corpus.folder / document.path
        if not file.is_file():  # several documents of one file
            continue
        data = file.read_bytes()
        if built is None:
            source = read(data, formats[document.doc_id])
        elif found := built.page(document.url, corpus.base):
            shown = page(found.read_bytes())
            source = Source(seen_of(data, shown), shown.titles[1:])  # of a generator's <title> a part is the site's
        else:
            source = None
        if source is not None:
            yield document, source


def seen_of(source: bytes, built: Source) -> Counter[str]:
    """Return the words of a built page that stand in its source too: what a reader sees, less what the build adds."""
    return words(source.decode("utf-8", errors="replace")) & built.words


def _meets(corpus: Corpus, built: Built | None) -> Callable[[Document], bool]:
    """Whether a document's link leads to a page of the built site, or to a file of the repository."""
    if built is not None:
        return lambda document: built.page(document.url, corpus.base) is not None
    return lambda document: (corpus.folder / unquote(document.url.removeprefix(REPOSITORY)).lstrip("/")).is_file()


def _written_links(documents: Sequence[Document], corpus: Corpus) -> Iterator[tuple[bool, str]]:
    """Links from page to page that begin at the top of the site, and whether a document has such an address."""
    made = {urlsplit(document.url).path.rstrip("/").removesuffix(".html") for document in documents}
    files = {corpus.folder / document.path for document in documents}
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in sorted(files) if file.is_file())
    links = sorted({link for text in texts for link in _LINK.findall(_FENCED.sub("", text))})
    prefix = urlsplit(corpus.base).path.rstrip("/")
    for link in drawn(links, LINKS):
        path = link.rstrip("/").removesuffix(".html").removesuffix("/index")
        yield (path in made or prefix + path in made), link


def _format(path: str, formats: Mapping[str, str]) -> str:
    name = strip_template_suffixes(path).lower()
    return next((read_as for end, read_as in formats.items() if name.endswith(end)), PurePosixPath(name).suffix)


def drawn[T](those: Sequence[T], many: int) -> list[T]:
    """The same of them at each run."""
    return random.Random(28).sample(those, min(many, len(those)))  # noqa: S311 - a sample, no secret
