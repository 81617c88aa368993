"""Figures of one folder of documents: read and cut as by ``ragctl ingest``, compared with its files and built site."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

from corpora.reference import ReferenceText, count_words, read_file, read_page
from documents import PICTURES
from documents.markup.code import HiddenCode
from knowledge.model.values import Chunk, Document
from knowledge.read.documents import ReadResult
from knowledge.read.file_names import strip_template_suffixes
from ragctl.ingest_request import IngestRequest
from ragctl.sources import cut_documents, read_sources

_NOT_FOUND = re.compile(r"(?:(\d+) included files were|the included file .* was) not found")
_LINK = re.compile(r"""(?:\]\(|href=["'])(/(?![\w./-]*\.(?!html)\w+[)#"'?])[\w./-]+)[)#"'?]""")
"""A link that begins with a slash and leads to a page, not to a picture or a download."""
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?^[ \t]*\1|`[^`\n]*`", re.DOTALL | re.MULTILINE)
TITLES, LINKS = 20, 30
REPOSITORY = "https://github.com/owner/name/blob/main"
SITE = "https://site.example"

# Markup that should not be in a chunk's text.
_TEXT_MARKUP = {
    "{{": re.compile(r"\{\{"),
    "{%": re.compile(r"\{%"),
    "{! {*": re.compile(r"\{!|\{\* "),
    ":::": re.compile(r"^[ \t>]*:{3,}|^[ \t>]*::+[a-z][\w-]*|^[ \t]*::[ \t]*$", re.MULTILINE),
    "///": re.compile(r"^[ \t>]*/{3,}", re.MULTILINE),
    "!!!": re.compile(r"^[ \t>]*(?:!!!|\?\?\?\+?|===)[ \t]", re.MULTILINE),
    "{.x}": re.compile(r"\{:?[ \t]*[.#][\w-]+[^{}\n]*\}|\{:[^{}\n]*\}"),
    "<!--": re.compile(r"<!--"),
}
_HEADING_LINE = re.compile(r"^ {0,3}#{1,6}[ \t].*$", re.MULTILINE)
_PARSER = MarkdownIt("commonmark").enable("table")
_WIKI = {"[[ ]]": r"!?\[\[[^\[\]\n]+\]\]", "[!x]": r"^> ?\[!\w+\]", "%%": r"%%[^%\n]+%%"}
_MDX = {"import": r"^(?:import|export)\s.+\bfrom\s+['\"]|^import\s+['\"]", "{/*": r"\{/\*"}
_MYST = {"(label)=": r"^\([\w-]+\)=\s*$", "{role}": r"\{[\w:.-]+\}(?=\ufdd0)", "{{": r"\{\{"}
_ENTITIES = {"&x;": r"&(?:nbsp|copy|lt|gt|amp|quot|#\d+|mdash|ndash);"}
_RST = {
    "::": r"^\s*\.\. [\w:.-]+::",
    ":role:": r"(?<![\w:]):[\w:.+-]+:(?=[`\ufdd0])",
    "`_": r"[`\ufdd1]__?(?!\w)",
    "|x|": r"(?<![\w|`])\|\w(?:[\w -]*\w)?\|_?(?![\w|])",
    ":option:": r"^\s*:(?:maxdepth|caption|hidden|linenos|glob|members|noindex|name):",
}
_ADOC = {
    "macro:": r"(?<!\w)(?:image|xref|link|include|video|footnote|kbd|btn|menu|pass|stem|icon|anchor)::?[^\s\[\]]*\[",
    ":attr:": r"^:[\w-]+!?:(?:\s|$)",
    "ifdef": r"^(?:ifdef|ifndef|endif|ifeval)::",
    "[[ ]]": r"\[\[[^\]\n]+\]\]",
    "----": r"^(?:={4,}|\+{4,}|\*{4,}|_{4,})$",
    "[role]": r"^\[(?:#|\.|%|source|cols|NOTE|TIP|quote|role)[^\]\n]*\]$",
    "{attr}": r"(?<![\\$\w])\{[a-z][\w-]+\}",
}
_MARKUP: Mapping[str, Mapping[str, str]] = {
    **{suffix: {**_WIKI, **_MDX, **_MYST, **_ENTITIES} for suffix in (".md", ".markdown", ".mdx")},
    **{suffix: {**_ADOC, **_ENTITIES} for suffix in (".adoc", ".asciidoc", ".asc")},
    **dict.fromkeys((".html", ".htm", ".xhtml", ".epub", ".docx", ".ipynb"), _ENTITIES),
    ".rst": {**_RST, **_ENTITIES},
}
"""Names and line patterns of markup by suffix; ``_TEXT_MARKUP`` and HTML count for all of these suffixes."""
_PATTERNS = {
    suffix: {name: re.compile(pattern, re.MULTILINE) for name, pattern in markup.items()}
    for suffix, markup in _MARKUP.items()
}


type BuiltSite = Mapping[str, Path]
"""The HTML files of a built site by the path of their address, without slashes at its ends."""


def list_pages(folder: Path) -> BuiltSite:
    """List all pages of the built site in ``folder``."""
    files: dict[str, Path] = {}
    for file in sorted(folder.rglob("*.html")):
        path = file.relative_to(folder).as_posix()
        for name in (path, path.removesuffix(".html"), path.removesuffix("index.html")):
            files.setdefault(name.strip("/"), file)
    return files


def find_page(site: BuiltSite, url: str, base: str) -> Path | None:
    """Return the file behind an address below ``base``, or None if the site lacks the page."""
    path = urlsplit(url).path.removeprefix(urlsplit(base).path.rstrip("/"))
    return site.get(unquote(path).strip("/"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A ``folder`` of documents with its name and its options for the ingest.

    ``built`` is the folder of its built site and ``base`` the site's address. Links are compared with the pages of
    ``built``; else, if ``base`` is given, with the links that authors wrote from page to page; else with the files of
    the repository. ``named``: a page's title is its file's name, as in wikis.
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
class CorpusFigures:
    """The figures of a corpus.

    ``unread`` counts documents that were passed over by suffix, and included files that were not found. ``lost`` has
    lost words by document, and all words of failed files; ``leftovers`` chunks with the kinds of markup in them,
    ``titles`` (is right, the document's, the file's) and ``links`` (leads to a page, address). ``compared`` counts
    documents.
    """

    corpus: Corpus
    documents: int = 0
    failed: list[str] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)
    skipped: Mapping[str, int] = field(default_factory=dict)
    chunks: Sequence[Chunk] = ()
    words: int = 0
    compared: int = 0
    lost: dict[str, Counter[str]] = field(default_factory=dict)
    leftovers: list[tuple[Chunk, list[str]]] = field(default_factory=list)
    titles: list[tuple[bool, str, str]] = field(default_factory=list)
    links: list[tuple[bool, str]] = field(default_factory=list)


def measure(corpus: Corpus) -> CorpusFigures:
    """Read and cut ``corpus``, and return its figures."""
    site = list_pages(corpus.built) if corpus.built else None
    request = IngestRequest(
        paths=(str(corpus.folder),),
        base_url=corpus.base or (SITE if site else REPOSITORY),
        read_as=corpus.read_as,
        include=corpus.include,
        exclude=(*corpus.exclude, *(f"*{suffix}" for suffix in sorted(PICTURES))),
    )
    with TemporaryDirectory() as cache:
        reading, _ = read_sources(request, cache=Path(cache))
    cut = cut_documents(reading.documents)
    figures = CorpusFigures(corpus, documents=len(reading.documents), chunks=cut.chunks, skipped=reading.skipped)
    figures.failed = [f"{failure.path}: {failure.error}" for failure in (*reading.failed, *cut.failed)]
    figures.unread = count_unread(reading)
    _count_failed(figures, reading.lost, request.formats)
    formats = {document.doc_id: _effective_suffix(document.path, request.formats) for document in reading.documents}
    found = ((chunk, find_leftovers(chunk.text, f"x{formats[chunk.doc_id]}")) for chunk in cut.chunks)
    figures.leftovers = [(chunk, kinds) for chunk, kinds in found if kinds]
    _compare(figures, reading.documents, site, formats)
    return figures


def count_unread(reading: ReadResult) -> Counter[str]:
    """Count documents that were passed over by their suffix, pictures aside, and included files that were not found."""
    unread = Counter({one.kind: one.files for one in reading.passed_over if one.kind not in PICTURES})
    for warning in reading.warnings:
        if found := _NOT_FOUND.match(warning.error):
            unread["included files"] += int(found[1] or 1)
    return unread


def _count_failed(figures: CorpusFigures, paths: Iterable[str], formats: Mapping[str, str]) -> None:
    """Add the words of the files at ``paths``, which failed, as lost."""
    for path in paths:
        with suppress(Exception):  # the plain readers read fewer damaged files than the converters
            words = read_file((figures.corpus.folder / path).read_bytes(), _effective_suffix(path, formats))
            figures.lost[path] = words.words if words else Counter()
            figures.words += figures.lost[path].total()


def _compare(
    figures: CorpusFigures, documents: Sequence[Document], site: BuiltSite | None, formats: Mapping[str, str]
) -> None:
    """Compare words, titles and links of ``documents`` with their files, and add the results to ``figures``."""
    corpus = figures.corpus
    stated: list[tuple[Document, tuple[str, ...]]] = []
    for document, reference in _read_references(documents, corpus, site, formats):
        figures.compared += 1
        figures.words += reference.words.total()
        text = f"{document.title}\n{document.text}\n{'\n'.join(map(str, document.extra.values()))}"
        if lost := reference.words - count_words(text):
            figures.lost[document.path] = lost
        if titles := (PurePosixPath(document.path).stem,) if corpus.named else reference.titles:
            stated.append((document, titles))
    figures.titles = [
        (any(is_same_title(document.title, title) for title in titles), document.title, " | ".join(titles))
        for document, titles in draw(stated, TITLES)
    ]
    if site is None and corpus.base:
        figures.links = list(_check_written_links(documents, corpus))
        return
    for document in draw(documents, LINKS):
        if site is not None:
            leads_to_page = find_page(site, document.url, corpus.base) is not None
        else:
            leads_to_page = (corpus.folder / unquote(document.url.removeprefix(REPOSITORY)).lstrip("/")).is_file()
        figures.links.append((leads_to_page, document.url))


def is_same_title(title: str, stated: str) -> bool:
    """Return whether two titles have the same letters and digits, upper and lower case alike."""
    one, other = ("".join(filter(str.isalnum, text.casefold())) for text in (title, stated))
    return one == other


def _read_references(
    documents: Sequence[Document], corpus: Corpus, site: BuiltSite | None, formats: Mapping[str, str]
) -> Iterator[tuple[Document, ReferenceText]]:
    """Yield the documents whose file a plain reader can read, or that have a page in the built site."""
    for document in documents:
        file = corpus.folder / document.path
        if not file.is_file():  # several documents of one file
            continue
        data = file.read_bytes()
        if site is None:
            reference = read_file(data, formats[document.doc_id])
        elif page := find_page(site, document.url, corpus.base):
            shown = read_page(page.read_bytes())
            # The generator's <title> comes first and contains the site's name.
            reference = ReferenceText(keep_source_words(data, shown), shown.titles[1:])
        else:
            reference = None
        if reference is not None:
            yield document, reference


def keep_source_words(source: bytes, page: ReferenceText) -> Counter[str]:
    """Return the words of a built page that its source has too, since the build adds words."""
    return count_words(source.decode("utf-8", errors="replace")) & page.words


def _check_written_links(documents: Sequence[Document], corpus: Corpus) -> Iterator[tuple[bool, str]]:
    """Yield links that authors wrote from page to page, with whether a document has that address."""
    paths = {urlsplit(document.url).path.rstrip("/").removesuffix(".html") for document in documents}
    files = {corpus.folder / document.path for document in documents}
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in sorted(files) if file.is_file())
    links = sorted({link for text in texts for link in _LINK.findall(_FENCED.sub("", text))})
    prefix = urlsplit(corpus.base).path.rstrip("/")
    for link in draw(links, LINKS):
        path = link.rstrip("/").removesuffix(".html").removesuffix("/index")
        yield (path in paths or prefix + path in paths), link


def find_leftovers(text: str, path: str) -> list[str]:
    """Return the kinds of markup, outside code, that a chunk of the file ``path`` should not show its reader.

    A format that is not in ``_MARKUP`` has none.
    """
    patterns = _PATTERNS.get(PurePosixPath(path).suffix.lower())
    if patterns is None:
        return []
    without_code = HiddenCode().hide(text)
    prose = _HEADING_LINE.sub("", re.sub("[\ufdd0-\ufdd1]", "", without_code))
    kinds = [kind for kind, pattern in _TEXT_MARKUP.items() if pattern.search(prose)]
    tokens = _PARSER.parse(text)
    inline = (child for token in tokens for child in token.children or ())
    kinds += ["html"] * any(token.type in ("html_block", "html_inline") for token in (*tokens, *inline))
    return kinds + [kind for kind, pattern in patterns.items() if pattern.search(without_code)]


def _effective_suffix(path: str, formats: Mapping[str, str]) -> str:
    name = strip_template_suffixes(path).lower()
    return next((read_as for end, read_as in formats.items() if name.endswith(end)), PurePosixPath(name).suffix)


def draw[T](items: Sequence[T], count: int) -> list[T]:
    """Draw up to ``count`` items, the same in each run."""
    return random.Random(28).sample(items, min(count, len(items)))  # noqa: S311 - a sample, no secret
