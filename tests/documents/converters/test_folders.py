"""Pages that name other files of their folder: titles, trees of contents and included files of Sphinx and Antora."""

import os
from pathlib import Path

import pytest
from made_files import write_files as write

import documents
from documents.converters.sphinx_folder import select_lines


def text_of(folder: Path, name: str) -> str:
    """What is below the front matter of a converted page; Markdown as the folder's site shows it."""
    site = documents.find_site(folder)
    text = documents.read(folder / name, root=folder, site=site).text
    if not name.endswith(".md"):
        return text.partition("---\n")[2].partition("---\n")[2]
    return documents.clean_page(text, file=folder / name, root=folder, site=site).text


CONF = "project = 'Harbour'"
SPHINX = {
    "conf.py": CONF,
    ".git/HEAD": "",
    "index.rst": "Harbour\n=======\n\n.. toctree::\n   :caption: Guides\n\n   guide/start\n   The fees <fees>\n"
    "   gone\n",
    "fees.md": "(tariff)=\n# Fees of {term}`tugs`\n\nSee [](guide/start.md), [](#tariff) and {doc}`/guide/start`.\n",
    "guide/start.rst": ".. _begin:\n\n.. index:: start\n\n==========\nGet *moor*\\ ed\n==========\n\nText.\n",
    "guide/all.rst": "All\n===\n\n.. toctree::\n   :glob:\n\n   s*\n\n.. toctree::\n   :hidden:\n\n   /fees\n",
    "guide/refs.rst": "Refs\n====\n\n:ref:`begin`, :ref:`TARIFF`, :doc:`/fees`, :doc:`start`, :ref:`no-such`"
    " :ref:`plan`.\n\n.. _plan:\n\n.. figure:: plan.png\n\n   The plan\n",
}


def test_sphinx_names_documents_and_labels_by_their_titles_as_they_are_now(tmp_path: Path) -> None:
    write(tmp_path, SPHINX)

    assert text_of(tmp_path, "index.rst") == "# Harbour {#harbour}\n\nGuides\n\n- Get moored\n- The fees\n"
    assert text_of(tmp_path, "guide/all.rst") == "# All {#all}\n\n- Get moored\n"
    shown = "Get moored, Fees of tugs, Fees of tugs, Get moored, no-such The plan."
    assert shown in text_of(tmp_path, "guide/refs.rst")
    without_its_place = documents.convert(b":doc:`fees`\n\n.. include:: fees.md\n", ".rst").text
    assert without_its_place.endswith("---\nfees\n")
    (tmp_path / "guide/start.rst").write_text("Leave\n=====\n")
    os.utime(tmp_path / "guide/start.rst", ns=(1, 1))
    assert "- Leave\n" in text_of(tmp_path, "index.rst")


def test_sphinx_takes_in_files_of_the_folder_alone_and_none_for_ever(tmp_path: Path) -> None:
    write(tmp_path, {"secret.rst": "Private.", "docs/.hidden.rst": "Private."})
    page = (
        "Page\n====\n\n.. include:: part.rst\n\n.. include:: ../secret.rst\n\n.. include:: .hidden.rst\n\n"
        ".. include:: /etc/hostname\n\n.. literalinclude:: run.py\n   :pyobject: Ship.sail\n   :dedent:\n\nAfter.\n"
    )
    files = {
        "conf.py": CONF,
        "index.rst": page,
        "part.rst": "Part\n----\n\nOnce.\n\n.. include:: part.rst\n\n.. include:: index.rst\n",
        "run.py": "class Ship:\n    def moor(self):\n        pass\n\n    def sail(self):\n        return 1\n",
    }
    docs = write(tmp_path / "docs", files)

    assert text_of(docs, "index.rst") == (
        "# Page {#page}\n\n## Part {#part}\n\nOnce.\n\n```\ndef sail(self):\n    return 1\n```\n\nAfter.\n"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "```{note}\nMind the *{{ tide }}* tide, {ref}`moor` and {py:func}`~port.sail`.\n```\n\n(moor)=\n## Mooring",
            "Note:\n\nMind the *{{ tide }}* tide, Mooring and `sail`.\n\n# Mooring {#mooring}",
        ),
        (
            ":::{list-table}\n:header-rows: 1\n\n* - Kind\n  - Fee\n* - Tug\n  - 22\n:::",
            "| Kind | Fee |\n| --- | --- |\n| Tug | 22 |",
        ),
        ("```{include} part.md\n```", "A part, `{include} part.md`."),
        (
            "# Mooring\n\n```{confval} depth\n:default: 4\n\nIn metres.\n```\n\n<p>HTML &amp; <b>words</b></p>",
            "# Mooring {#mooring}\n\n## `depth` {#confval-depth}\n\n`depth`, Default: 4\n\nIn metres.\n\n"
            "## Mooring {#mooring}\n\nHTML & **words**",
        ),
        ("[the plan](gone.md#x)", "the plan"),
        ('```python\n"{{ tide }}"\n```', '```\n"{{ tide }}"\n```'),
    ],
)
def test_myst_is_read_as_what_it_shows(tmp_path: Path, text: str, shown: str) -> None:
    docs = write(tmp_path, {"conf.py": CONF, "index.md": text, "part.md": "A part, ```{include} part.md```.\n"})
    site = documents.find_site(docs)
    meta = {"myst": {"substitutions": {"tide": "spring"}}}
    assert documents.clean_page(text, file=docs / "index.md", root=docs, site=site, meta=meta).text.strip() == shown


@pytest.mark.parametrize(
    "text",
    [
        "---\nmyst:\n  enable_extensions: [substitution]\n---\n\n{{ ''.__class__.__mro__ }}\n",
        "```{raw} html\n:file: secret.txt\n```\n\nText.\n",
        "```{csv-table}\n:file: secret.txt\n```\n\nText.\n",
        "```{eval-rst}\n.. include:: ../secret.txt\n```\n\nText.\n",
    ],
)
def test_myst_runs_nothing_and_reads_nothing_else(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"secret.txt": "private"})
    docs = write(tmp_path / "docs", {"conf.py": CONF, "index.md": text, "secret.txt": "private"})
    found = documents.clean_page(text, file=docs / "index.md", root=docs, site=documents.find_site(docs)).text
    assert "private" not in found
    assert "<class" not in found
    assert "{{" in found or "Text." in found


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({"lines": "1,3-"}, "acd"),
        ({"start-after": "a", "end-before": "d"}, "bc"),
        ({"start-at": "b", "end-at": "c"}, "bc"),
        ({"start-line": "1", "end-line": "-1"}, "bc"),
        ({"lines": "no"}, "abcd"),
        ({"pyobject": "Gone"}, "abcd"),
    ],
)
def test_parts_of_included_files(options: dict[str, str], lines: str) -> None:
    assert select_lines("a\nb\nc\nd", options) == "\n".join(lines)


ANTORA = {
    ".git/HEAD": "",
    "antora.yml": "name: harbour\nversion: '2'\nasciidoc:\n  attributes:\n    brand: Quay\nnav: [a.adoc]\n",
    "modules/ROOT/nav.adoc": "* xref:index.adoc[]\n",
    "modules/ROOT/pages/index.adoc": (
        "= {brand} {page-component-version}\n\nSee xref:ships:tug.adoc[], xref:ships:gone.adoc[], <<fees>> and"
        " [.ui]*Save*.\n\ninclude::partial$fees.adoc[leveloffset=+1]\n\n----\n"
        "include::ships:example$run.sh[tag=run]\n----\n\ninclude::ships:partial$deep.adoc[]\n"
        "include::../../../../secret.adoc[]\n"
    ),
    "modules/ROOT/partials/fees.adoc": "[#fees]\n= Fees\n\nFrom 2.\n\ninclude::partial$fees.adoc[]\n",
    "modules/ships/examples/run.sh": "# tag::run[]\nrun {brand}\n# end::run[]\nno\n",
    "modules/ships/partials/deep.adoc": "Deep. [.var]#x# pass:q[of _y_]",
    "modules/ships/pages/tug.adoc": "= Tugs\n",
}


def test_antora_s_pages_have_their_attributes_parts_and_titles(tmp_path: Path) -> None:
    write(tmp_path, {"secret.adoc": "Private."})
    docs = write(tmp_path / "docs", ANTORA)
    assert text_of(docs, "modules/ROOT/pages/index.adoc") == (
        "# Quay 2\n\nSee Tugs, ships:gone.adoc, Fees and **Save**.\n\n## Fees {#fees}\n\nFrom 2.\n\n"
        "```\nrun {brand}\n```\n\nDeep. x of _y_\n"
    )
    with pytest.raises(documents.NoText, match="navigation"):
        text_of(docs, "modules/ROOT/nav.adoc")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("tag=a", "1\n2"),
        ("tags=a;!b", "1"),
        ("tags=**", "0\n1\n2\n3"),
        ("tags=!a", "0\n3"),
        ("lines=1;3..-1", "0\n1"),
        ("", "0\n1\n2\n3"),
    ],
)
def test_asciidoc_takes_in_tags_and_lines(tmp_path: Path, said: str, shown: str) -> None:
    part = "0\n// tag::a[]\n1\n// tag::b[]\n2\n// end::b[]\n// end::a[]\n3\n"
    included = "0\n\n1\n" if "lines" in said else part
    write(tmp_path, {"page.adoc": f"----\ninclude::part.txt[{said}]\n----\n", "part.txt": included})
    assert text_of(tmp_path, "page.adoc").startswith(f"```\n{shown}\n")


@pytest.mark.parametrize("alone", [False, True])
def test_a_book_takes_in_its_chapters_where_they_are_no_documents_beside_it(tmp_path: Path, alone: bool) -> None:
    book = "= Book\n\ninclude::one.adoc[]\n\ninclude::note.adoc[]\n\ninclude::_end.adoc[]\n\nBy {by}.\n"
    files = {"one.adoc": ":by: Ada\n\n== One\n\nFirst.\n", "note.adoc": "Mind the tide.\n"}
    write(tmp_path, {"book.adoc": book, "_end.adoc": "== End\n\nLast.\n", **files})
    made = documents.convert(book.encode(), ".adoc", file=tmp_path / "book.adoc", root=tmp_path, alone=alone)
    chapter = "## One {#_one}\n\nFirst.\n\n" if alone else ""
    shown = f"# Book\n\n{chapter}Mind the tide.\n\n## End {{#_end}}\n\nLast.\n\nBy Ada.\n"
    assert made.text.removeprefix("---\n---\n") == shown


OUTSIDE = "../../secret.txt"


@pytest.mark.parametrize(
    ("name", "text", "missing"),
    [
        (
            "a.md",
            "```\n{!> ../code/x.py !}\n```\n{!> ../../secret.txt !}\n{!> ../.git/config !}\n{!> l.txt !}",
            (3, OUTSIDE),
        ),
        (
            "deep/a.md",
            "```\n{!> x.py !}\n```\n{!> ../code/x.py !}\n{!> no.py !}\n{!> ../../../secret.txt !}",
            (2, "no.py"),
        ),
        (
            "a.rst",
            ".. literalinclude:: ../code/x.py\n\n.. include:: ../../secret.txt\n.. include:: l.txt\n",
            (2, OUTSIDE),
        ),
        ("a.adoc", "----\ninclude::../code/x.py[]\n----\ninclude::../../secret.txt[]\ninclude::l.txt[]", (2, OUTSIDE)),
    ],
)
def test_includes_are_read_within_the_repository_and_the_missing_ones_are_named(
    tmp_path: Path, name: str, text: str, missing: tuple[int, str]
) -> None:
    config = "site_name: x\nmarkdown_extensions:\n- mdx_include: {base_path: ../code}\n"
    files = {"port/.git/config": "SECRET", "port/docs/mkdocs.yml": config, "port/code/x.py": "x = 1\n"}
    docs = write(tmp_path, {"secret.txt": "SECRET", f"port/docs/{name}": text, **files}) / "port" / "docs"
    (docs / "l.txt").symlink_to(tmp_path / "secret.txt")
    site = documents.find_site(docs)
    with documents.record_looks() as looks:
        page = documents.read(docs / name, root=docs, site=site)
        if name.endswith(".md"):
            page = documents.clean_page(text, file=docs / name, root=docs, site=site)
    assert page.text.startswith("```\nx = 1\n```") or page.text.endswith("---\n```\nx = 1\n```\n")
    assert "SECRET" not in page.text
    count, first = missing
    assert page.caveats == (f"{count} included files were not found, e.g. {first}: give the folder that holds them",)
    assert any(look.endswith("code/x.py") and documents.look_state(look) for look in looks)
    assert not any("secret" in look for look in looks)
