"""Which site a folder belongs to, and what address each tool gives its pages."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from made_files import write_files as write

from documents import find_title, is_excluded, yaml
from documents.sites import Site
from documents.sites.addresses import page_url
from documents.sites.antora import find_attributes
from documents.sites.configuration import parse_literals
from documents.sites.finding import find_site

BASE = "https://x.test"
MDBOOK = {"book.toml": '[book]\ntitle = "B"\n', "src/a/b.md": ""}
NUXT = {"nuxt.config.ts": "site: {}", "content/a.md": ""}
NEXT = {"next.config.mjs": "contentDirBasePath: '/docs'", "content/a.md": ""}
SLUGS = "!!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}"
STARLIGHT = "src/content/docs/"
ASTRO = {"astro.config.mjs": "export default defineConfig({ trailingSlash: 'always' })", f"{STARLIGHT}a.md": ""}


def made(site: Site, path: str, **meta: Any) -> str:
    return page_url(site, path=path, meta=meta)


def test_hugo_s_configuration_is_found_from_a_folder_of_its_content(tmp_path: Path) -> None:
    hugo = 'baseURL = "https://x.test/sub/"\ntitle = "T"\n[permalinks]\nposts = "/:year/:slug/"\n'
    write(tmp_path, {"hugo.toml": hugo, "content/docs/One Page.md": "x", ".git/HEAD": ""})

    site = find_site(tmp_path / "content" / "docs")

    assert (site.kind, site.base_url, site.anchors) == ("hugo", "https://x.test/sub/", "github")
    assert site.config["title"] == "T"
    assert pickle.loads(pickle.dumps(site)) == site
    assert made(site, "One Page.md") == "https://x.test/sub/docs/one-page/"
    assert made(site, "_index.md") == "https://x.test/sub/docs/"
    assert made(site, "b/index.md", slug="c") == "https://x.test/sub/docs/c/"
    assert made(site, "b.md", slug="c") == "https://x.test/sub/docs/c/"
    assert made(site, "b.md", URL="/d/e.html") == "https://x.test/sub/d/e.html"
    assert made(site, "b.md", canonical="https://y.test/z") == "https://y.test/z"
    assert made(site, "é.md") == "https://x.test/sub/docs/%C3%A9/"
    whole = find_site(tmp_path)
    post = made(whole, "content/posts/b.md", title="My post", date="2020-01-02")
    assert (post, made(whole, "README.md")) == ("https://x.test/sub/2020/my-post/", "")
    assert page_url(site, path="b.md", meta={}, base_url="https://z.test/") == "https://z.test/docs/b/"


def test_hugo_s_languages_have_folders_or_names_of_their_own(tmp_path: Path) -> None:
    config = "baseURL: https://x.test\nlanguages:\n  en: {contentDir: content/en}\n  fr: {contentDir: content/fr}\n"
    write(tmp_path, {"config/_default/hugo.yaml": config, "content/en/a.md": "", "content/fr/a.md": ""})
    site = find_site(tmp_path)
    assert made(site, "content/en/a.md") == "https://x.test/a/"
    assert made(site, "content/fr/a.md") == "https://x.test/fr/a/"
    assert made(site, "content/en/a.fr.md") == "https://x.test/fr/a/"


def test_jekyll_s_permalinks_are_those_of_its_configuration_or_end_in_html(tmp_path: Path) -> None:
    config = (
        "url: https://x.test\nbaseurl: /blog\npermalink: /:categories/:year/:month/:day/:title/\n"
        "collections:\n  docs: {output: true, permalink: '/:collection/:path/'}\n"
    )
    site = find_site(write(tmp_path, {"_config.yml": config, "_docs/a.md": ""}))

    assert made(site, "_docs/sub/a.md") == "https://x.test/blog/docs/sub/a/"
    assert made(site, "_docs/a.md", permalink="/b/") == "https://x.test/blog/b/"
    news = made(site, "_posts/2020-01-02-my-post.md", categories=["Big News"])
    assert news == "https://x.test/blog/big-news/2020/01/02/my-post/"
    assert made(site, "_posts/2020-01-02-a.md", date="2021-03-04 10:00:00 +0100") == "https://x.test/blog/2021/03/04/a/"
    assert made(site, "about/index.md") == "https://x.test/blog/about/"
    assert made(site, "_sass/README.md") == ""
    bare = find_site(write(tmp_path / "bare", {"_config.yml": "url: https://x.test\n"}))
    assert made(bare, "a/b.md") == "https://x.test/a/b.html"
    assert made(bare, "_posts/2020-01-02-b.md") == "https://x.test/2020/01/02/b.html"


@pytest.mark.parametrize(
    ("extra", "page", "anchors"),
    [
        ("", "https://x.test/en/a/b/", "python-markdown"),
        ("use_directory_urls: false\n", "https://x.test/en/a/b.html", "python-markdown"),
        (f"markdown_extensions: [toc: {{slugify: {SLUGS}}}]\n", "https://x.test/en/a/b/", "pymdownx"),
    ],
)
def test_mkdocs(tmp_path: Path, extra: str, page: str, anchors: str) -> None:
    config = f"site_url: https://x.test/en/\ntheme: {{features: [a]}}\nx: !ENV [Y, z]\n{extra}"
    site = find_site(write(tmp_path, {"mkdocs.yml": config, "docs/a/b.md": ""}) / "docs")
    assert (made(site, "a/b.md"), made(site, "a/index.md")) == (page, "https://x.test/en/a/")
    assert site.anchors == anchors
    assert find_site(write(tmp_path, {"notes/b.md": "", ".git/HEAD": ""}) / "notes").kind == ""  # beside its pages


def test_docusaurus_has_routes_versions_and_a_blog(tmp_path: Path) -> None:
    config = (
        "const config = {\n  url: 'https://x.test', // url: 'https://no.test'\n  baseUrl: '/p/',\n"
        "  presets: [['classic', {\n    docs: {path: '../docs', editUrl: ({a}) => `${a}`},\n"
        "    blog: {routeBasePath: 'news'},\n  }]],\n};\n"
    )
    files = {"website/docusaurus.config.js": config, "website/versions.json": '["2.0", "1.0"]', "docs/1-a.md": ""}
    site = find_site(write(tmp_path, files) / "docs")

    assert made(site, "01-guide/02-a.md") == "https://x.test/p/docs/next/guide/a"
    assert made(site, "guide/index.md") == "https://x.test/p/docs/next/guide"
    assert made(site, "guide/a.md", id="b") == "https://x.test/p/docs/next/guide/b"
    assert made(site, "guide/a.md", slug="/c") == "https://x.test/p/docs/next/c"
    assert made(site, "guide/_part.mdx") == ""
    whole = find_site(tmp_path / "website")
    assert made(whole, "versioned_docs/version-2.0/a.md") == "https://x.test/p/docs/a"
    assert made(whole, "versioned_docs/version-1.0/a.md") == "https://x.test/p/docs/1.0/a"
    assert made(whole, "blog/b.md", slug="b") == "https://x.test/p/news/b"


@pytest.mark.parametrize(
    ("files", "kind", "path", "page"),
    [
        (MDBOOK, "mdbook", "src/a/b.md", f"{BASE}/a/b.html"),
        (MDBOOK, "mdbook", "src/a/README.md", f"{BASE}/a/"),
        (MDBOOK, "mdbook", "src/SUMMARY.md", ""),
        (NUXT, "nuxt", "content/1.guide/2.a.md", f"{BASE}/guide/a"),
        (NUXT, "nuxt", "content/1.guide/1.index.md", f"{BASE}/guide"),
        ({".vitepress/config.ts": "cleanUrls: true"}, "vitepress", "a/b.md", f"{BASE}/a/b"),
        ({".vitepress/config.ts": "base: '/'"}, "vitepress", "a/b.md", f"{BASE}/a/b.html"),
        ({"conf.py": "project = 'x'", "index.rst": ""}, "sphinx", "a/b.rst", f"{BASE}/a/b.html"),
        ({"next.config.ts": "x", "app/page.mdx": ""}, "nextjs", "app/(docs)/a/page.mdx", f"{BASE}/a"),
        (NEXT, "nextjs", "content/b/c.mdx", f"{BASE}/docs/b/c"),
        ({"next.config.mjs": "x", "content/a.md": ""}, "nextjs", "notes/a.md", ""),
        ({"Home.md": ""}, "wiki", "a-b.md", f"{BASE}/a-b"),
        (ASTRO, "astro", f"{STARLIGHT}a/B c.mdx", f"{BASE}/a/b-c/"),
        (ASTRO, "astro", f"{STARLIGHT}a/index.mdx", f"{BASE}/a/"),
        (ASTRO, "astro", f"{STARLIGHT}index.mdx", f"{BASE}/"),
        (ASTRO, "astro", f"{STARLIGHT}_part.mdx", ""),
        ({"a/_index.md": ""}, "hugo", "a/b.md", f"{BASE}/a/b/"),
        ({"_docs/a.md": ""}, "jekyll", "_docs/a/b.md", f"{BASE}/docs/a/b/"),
        ({"SUMMARY.md": ""}, "mdbook", "a.md", f"{BASE}/a.html"),
        ({"1.guide/2.a.md": ""}, "nuxt", "1.guide/2.a.md", f"{BASE}/guide/a"),
        ({"a.md": ""}, "", "a/b c.md", f"{BASE}/a/b%20c"),
        ({"a.md": ""}, "", "a/README.md", f"{BASE}/a/"),
        ({"a.md": ""}, "", "a/b.pdf", f"{BASE}/a/b.pdf"),
    ],
)
def test_other_tools_and_signs_of_them(tmp_path: Path, files: dict[str, str], kind: str, path: str, page: str) -> None:
    site = find_site(write(tmp_path, files | {".git/HEAD": ""}))
    assert site.kind == kind
    assert page_url(site, path=path, meta={}, base_url=f"{BASE}/") == page


def test_astro_s_address_is_found_where_it_is_computed(tmp_path: Path) -> None:
    config = "const site = PREVIEW || 'https://x.test/';\nexport default defineConfig({ site, base: '/p' });\n"
    site = find_site(write(tmp_path, {"astro.config.ts": config, "src/content/docs/a.md": "", ".git/HEAD": ""}))
    assert made(site, "src/content/docs/a.md") == "https://x.test/p/a/"
    assert made(site, "src/content/docs/a.md", slug="b/c") == "https://x.test/p/b/c/"


def test_antora_has_components_versions_and_modules(tmp_path: Path) -> None:
    play = (
        "site: {url: https://x.test}\ncontent: {sources: [{url: .}]}\n"
        "asciidoc: {attributes: {brand: Quay, tide: low@}}\n"
    )
    files = {
        "antora-playbook.yml": play,
        "docs/antora.yml": "name: harbour\nversion: '2.0'\nasciidoc:\n  attributes:\n    tide: high\n",
        "docs/modules/ROOT/pages/index.adoc": "",
        "docs/modules/ships/pages/big/tug.adoc": "",
        "home/antora.yml": "name: ROOT\nversion: ~\n",
        "home/modules/ROOT/pages/index.adoc": "",
        ".git/HEAD": "",
    }
    site = find_site(write(tmp_path, files))

    assert (site.kind, site.base_url) == ("antora", "https://x.test")
    assert made(site, "docs/modules/ROOT/pages/index.adoc") == "https://x.test/harbour/2.0/index.html"
    assert made(site, "docs/modules/ships/pages/big/tug.adoc") == "https://x.test/harbour/2.0/ships/big/tug.html"
    assert made(site, "home/modules/ROOT/pages/index.adoc") == "https://x.test/index.html"
    assert made(site, "docs/modules/ships/pages/_part.adoc") == ""
    assert made(site, "docs/modules/ROOT/partials/part.adoc") == ""
    own = find_attributes(site.config, tmp_path / "docs/modules/ships/pages/big/tug.adoc")
    assert (own["brand"], own["tide"], own["page-component-version"]) == ("Quay", "high", "2.0")


@pytest.mark.parametrize(("style", "page", "index"), [("drop", "a/b", "a/"), ("indexify", "a/b/", "a/")])
def test_antora_s_playbook_says_how_addresses_end(tmp_path: Path, style: str, page: str, index: str) -> None:
    play = f"site: {{url: https://x.test}}\ncontent: {{sources: [{{url: .}}]}}\nurls: {{html_extension_style: {style}}}"
    files = {"antora-playbook.yml": play, "antora.yml": "name: c\nversion: ~", "modules/ROOT/pages/a/b.adoc": ""}
    site = find_site(write(tmp_path, files | {".git/HEAD": ""}))
    assert made(site, "modules/ROOT/pages/a/b.adoc") == f"https://x.test/c/{page}"
    assert made(site, "modules/ROOT/pages/a/index.adoc") == f"https://x.test/c/{index}"


def test_without_a_base_address_there_is_none_and_suffixes_are_kept_where_that_is_asked_for() -> None:
    site = Site(root="/nowhere")
    assert made(site, "a.md", permalink="/x/") == ""
    assert page_url(site, path="a/index.md", meta={}, base_url=BASE, keep_suffix=True) == f"{BASE}/a/index.md"


@pytest.mark.parametrize("config", ["a: [", "- a", "\x00", "x" * 600_000, "a: " + "[" * 5000])
def test_a_configuration_that_cannot_be_read_is_none(tmp_path: Path, config: str) -> None:
    names = ("_config.yml", "mkdocs.yml", "hugo.toml", "hugo.json", "book.toml", "docusaurus.config.js")
    write(tmp_path, dict.fromkeys(names, config) | {".git/HEAD": ""})
    assert find_site(tmp_path).base_url == ""


@pytest.mark.parametrize(
    ("files", "excluded", "read"),
    [
        (
            {"_config.yml": "exclude: [README.md, notes/, '*.bak.md', vendor]"},
            ["README.md", "notes/a.md", "b/c.bak.md", "vendor/a.md"],
            ["b/README.md", "index.md"],
        ),
        ({"_config.yml": "title: T"}, ["vendor/bundle/ruby/README.md"], ["vendor/a.md", "README.md"]),
        (
            {
                "mkdocs.yml": "exclude_docs: |\n  drafts/\n  !drafts/keep.md\n  /*.tmp.md\ndraft_docs: next.md\n"
                "not_in_nav: lone.md\n"
            },
            ["docs/a/drafts/b.md", "docs/x.tmp.md", "docs/next.md"],
            ["docs/lone.md", "docs/a/x.tmp.md", "other/drafts/b.md"],
        ),
        (
            {
                "index.rst": "",
                "conf.py": "# exclude_patterns = ['a.rst']\nexclude_patterns = [\n 'old_*', '**/attic',\n]",
            },
            ["old_a.rst", "old_b/c.rst", "b/attic/d.rst"],
            ["a.rst", "b/old_a.rst"],
        ),
        (
            {"docusaurus.config.js": "docs: {exclude: ['**/internal/**', '*.wip.md']}", "docs/a.md": ""},
            ["docs/b/internal/a.md", "docs/a.wip.md"],
            ["docs/internal.md"],
        ),
        ({".vitepress/config.ts": "srcExclude: ['**/TODO.md']"}, ["a/TODO.md"], ["a/b.md"]),
        (
            {"hugo.toml": 'ignoreFiles = ["\\\\.wip\\\\.md$", "/old/"]'},
            ["content/a.wip.md", "content/old/a.md"],
            ["content/a.md"],
        ),
        ({"hugo.toml": 'ignoreFiles = ["("]'}, [], ["content/a.md"]),
    ],
)
def test_files_that_a_site_excludes(
    tmp_path: Path, files: dict[str, str], excluded: list[str], read: list[str]
) -> None:
    site = find_site(write(tmp_path, {**files, "content/_index.md": "", "docs/index.md": ""}))
    assert [path for path in (*excluded, *read) if is_excluded(site, path)] == excluded


def test_a_given_folder_is_read_though_its_site_excludes_it(tmp_path: Path) -> None:
    write(tmp_path, {"_config.yml": "exclude: [docs, x.md]", "docs/a.md": ""})
    site = find_site(tmp_path / "docs")
    assert (site.kind, is_excluded(site, "a.md"), is_excluded(find_site(tmp_path), "docs/a.md")) == (
        "jekyll",
        False,
        True,
    )


def test_code_is_searched_for_literals_and_never_run() -> None:
    code = (
        "const host = 'https://x.test'\nconst made = process.env.X || 'https://no.test'\n"
        "export default { url: made, hostname: host, clean: true, // base: '/no/'\n base: `/yes/`, n: {url: 'inner'} }"
    )
    host = "https://x.test"
    assert parse_literals(code) == {"host": host, "hostname": host, "clean": True, "base": "/yes/"}


def test_a_configuration_that_is_a_link_or_a_pipe_is_none(tmp_path: Path) -> None:
    """A page can show what is in it, and whoever made the folder says where a link leads."""
    write(tmp_path, {"private.yml": "url: https://x.test\ntoken: secret\n"})
    docs = write(tmp_path / "docs", {"a.md": "{{ site.token }}", ".git/HEAD": ""})
    (docs / "_config.yml").symlink_to(tmp_path / "private.yml")
    os.mkfifo(docs / "mkdocs.yml")
    os.mkfifo(docs / "index.rst")
    assert not find_site(docs).config


@pytest.mark.parametrize(
    ("base", "path", "page"),
    [
        ("https://github.com/o/r/blob/main", "docs/README.md", "https://github.com/o/r/blob/main/docs/README.md"),
        ("https://gitlab.test/o/r/-/blob/main/", "a b.md", "https://gitlab.test/o/r/-/blob/main/a%20b.md"),
        ("https://codeberg.test/o/r/src/branch/main", "a.rst", "https://codeberg.test/o/r/src/branch/main/a.rst"),
        ("https://x.sharepoint.com/sites/hr", "100%.md", "https://x.sharepoint.com/sites/hr/100%25.md"),
        ("https://docs.test", "a/b.md", "https://docs.test/a/b"),
        ("https://docs.test", "a/b.ipynb", "https://docs.test/a/b.ipynb"),
        ("https://docs.test", "manual/alerts.html.md", "https://docs.test/manual/alerts.html"),
        ("https://docs.test", "manual/index.html.md", "https://docs.test/manual/"),
    ],
)
def test_files_without_a_site_are_linked_as_the_place_has_them(base: str, path: str, page: str) -> None:
    meta = {"permalink": "/x/"} if "/blob/" in base else {}
    assert page_url(Site(root="/nowhere"), path=path, meta=meta, base_url=base) == page


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mkdocs.yml", "site_name: Harbour  Bikes\ndocs_dir: docs\n"),
        ("hugo.toml", 'title = "Harbour Bikes"\ncontentDir = "docs"\n'),
        ("_config.yml", "title: Harbour Bikes\nsource: docs\n"),
        ("book.toml", '[book]\ntitle = "Harbour Bikes"\nsrc = "docs"\n'),
    ],
)
def test_a_configuration_says_it(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert find_title([find_site(tmp_path / "docs")]) == "Harbour Bikes"


def test_else_a_page_that_was_fetched_does(tmp_path: Path) -> None:
    named = '<html><head><meta property="og:site_name" content="Harbour &amp; Bikes"></head></html>'
    write(tmp_path, {"plain.html": "<html><head><title>Fees</title></head><body>x</body></html>", "named.html": named})
    pages = [tmp_path / "plain.html", tmp_path / "named.html"]
    assert find_title([Site(root="/nowhere")], pages) == "Harbour & Bikes"
    assert find_title([], pages[:1]) == ""


@pytest.mark.parametrize(
    ("files", "given", "top"),
    [
        (("port/.git/HEAD", "port/docs/package.json", "port/docs/src/a.md"), "port/docs/src", "port"),
        (("port/.github/x", "port/docs/en/mkdocs.yml", "port/docs/en/docs/a.md"), "port/docs/en/docs", "port"),
        (("port/pyproject.toml", "port/docs/conf.py", "port/docs/a.rst"), "port/docs", "port"),
        (("port/book.toml", "port/src/a.md", "secret.txt"), "port/src", "port"),
        (("port/src/a.md", "secret.txt"), "port/src", "port/src"),
        (("home/.git/HEAD", "home/notes/a.md"), "home/notes", "home/notes"),
    ],
)
def test_pages_include_files_of_their_repository_which_is_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], given: str, top: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write(tmp_path, dict.fromkeys(files, ""))
    assert find_site(tmp_path / given).top == (tmp_path / top).as_posix()


# YAML that strangers wrote


def test_values_are_their_text_but_for_truth_and_nothing_tags_make_nothing_and_the_first_of_equal_keys_counts() -> None:
    text = (
        "version: 1.10\nfrom: 2024-03-01\nmode: 0101\nno: NO\npretty: false\nstrict: True\nempty:\nlist: [1, true, ~]\n"
        "emoji: !!python/name:material.extensions.emoji.twemoji\nsite_url: !ENV [SITE_URL, https://port.example]\n"
        "run: !!python/object/apply:os.system {args: [id]}\nsite_name: Port\nsite_name: Harbour\n"
    )

    texts = {"version": "1.10", "from": "2024-03-01", "mode": "0101", "no": "NO", "site_name": "Port"}
    truths = {"pretty": False, "strict": True, "empty": None, "list": ["1", True, None]}
    tags = {"emoji": "", "site_url": ["SITE_URL", "https://port.example"], "run": {"args": ["id"]}}
    assert yaml.load(text) == texts | truths | tags


def test_aliases_expand_to_nothing() -> None:
    lists = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
    merged = "b0: &b0 {x: y}\n" + "".join(f"b{n}: &b{n} {{<<: [*b{n - 1}, *b{n - 1}]}}\n" for n in range(1, 40))
    read_lists, read_merged = yaml.load(lists), yaml.load(merged)
    assert isinstance(read_lists, dict)
    assert isinstance(read_merged, dict)
    assert len(read_lists["a39"]) == 9
    assert list(read_merged["b39"]) == ["<<"]


@pytest.mark.parametrize("text", ["a: [", "[" * 60 + "]" * 60, "a: \0", "? !!bool maybe\n: 1\n", "--- 1\n--- 2\n"])
def test_what_is_no_yaml_is_a_value_error_of_one_line(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is the library's
        yaml.load(text)
    assert "\n" not in str(caught.value)
