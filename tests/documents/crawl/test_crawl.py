"""``documents.crawl`` against a site on this machine: what is read, what is refused, and what a bad day does to it."""

import gzip
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from web_server import (
    Answer,
    FakeMachine,
    Misbehave,
    WebServer,
    dripping,
    endless,
    html,
    http_1_0,
    links,
    moved,
    not_http,
    reset,
    self_signed,
    too_short,
    urlset,
    zipped,
)

from documents import CrawlResult, Limits
from documents.crawl.crawler import crawl
from documents.errors import Unreadable

HERE = frozenset({"127.0.0.1"})

type Read = Callable[..., CrawlResult]


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer().running() as server:
        yield server


@pytest.fixture
def read(web: WebServer, tmp_path: Path) -> Read:
    """Crawl a path of the server, or another address, into the test's cache."""

    def run(path: str = "/guide/", *, machine: FakeMachine | None = None, **options: Any) -> CrawlResult:
        options = {"limits": Limits(), "system": (machine or FakeMachine()).system, "allow_hosts": HERE, **options}
        return crawl(path if "://" in path else web.address + path, cache=tmp_path, **options)

    return run


def names(crawled: CrawlResult) -> set[str]:
    """The pages by their names, without the host."""
    return {page.path.partition("/")[2] for page in crawled.pages}


def addresses(crawled: CrawlResult, web: WebServer) -> set[str]:
    """The addresses that the pages are cited by, without the host."""
    return {page.url.removeprefix(web.address) for page in crawled.pages}


def errors(crawled: CrawlResult, web: WebServer) -> dict[str, str]:
    """What failed, by path."""
    return {failure.path.removeprefix(web.address): failure.error for failure in crawled.failed}


def bodies(crawled: CrawlResult) -> dict[str, bytes]:
    return {page.path.partition("/")[2]: page.file.read_bytes() for page in crawled.pages}


def test_folder_is_its_page_and_what_it_leads_to_below(web: WebServer, read: Read) -> None:
    targets = ("install", "_sources/index.md", "../blog/", "/guide/deep/er.html#part", "https://elsewhere.example/")
    web.site = {
        "/guide/": links(*targets, "pic.png"),
        "/guide/install": links("/guide/", "?page=2", "mailto:a@b.c"),
        "/guide/deep/er.html": html("Deep words."),
    }
    got = read()
    assert names(got) == {"guide/index.html", "guide/install.html", "guide/deep/er.html"}
    assert addresses(got, web) == {"/guide/", "/guide/install", "/guide/deep/er.html"}
    reasons = ("outside the folder", "another host", "image/png", "a link with a query", "the source of a page")
    assert got.skipped == dict.fromkeys(reasons, 1)
    assert not got.failed


def test_pages_for_what_does_not_exist_are_left_out(web: WebServer, read: Read) -> None:
    """A site that answers 200 for everything, with the address and the time on its page."""

    class Everything(dict[str, Answer]):
        def get(self, path: str, default: object = None) -> object:  # type: ignore[override]
            return super().get(path) or not_found(path)

    def not_found(path: str) -> Answer:
        said = f"<nav><a href=/guide/>Guide</a></nav><h1>Sorry</h1><p>There is no {path[1:]}, at 12:0{len(path)}."
        return html(said + '<a href="deeper/">Next</a>', title=f"{path} - Sorry")

    pages = {"/guide/": links("a", "gone-a", "gone-b/"), "/guide/a": html("<h1>Sorry</h1><p>There is no fee.")}
    web.site = Everything(pages)
    got = read()
    assert names(got) == {"guide/index.html", "guide/a.html"}
    assert got.skipped == {"the page that the site has for addresses that do not exist": 2}
    assert sum("-page" in path for path, _ in web.asked) == 1


def test_sitemap_is_known_by_what_it_holds_and_read_with_its_children(web: WebServer, read: Read) -> None:
    child = urlset(
        f"<loc>{web.address}/a.html</loc><lastmod>2024-05-06</lastmod><image><loc>{web.address}/x.jpg</loc></image>",
        f"{web.address}/b?id=7",
        "https://elsewhere.example/c",
    )
    index = f"<sitemapindex xmlns='urn:wrong'><sitemap><loc>{web.address}/part.xml.gz</loc></sitemap></sitemapindex>"
    web.site = {
        "/map": Answer(body=index.encode(), headers={"Content-Type": "text/plain"}),
        "/part.xml.gz": Answer(body=gzip.compress(child.body), headers={"Content-Type": "application/gzip"}),
        "/a.html": links("/not-listed.html"),
        "/b?id=7": html("Seven."),
    }
    got = read("/map")
    found = {page.url.removeprefix(web.address): page.last_modified for page in got.pages}
    assert found == {"/a.html": "2024-05-06", "/b?id=7": ""}
    assert got.skipped == {"another host": 1}


@pytest.mark.parametrize(
    "body",
    [
        b'<!DOCTYPE x [<!ENTITY a "b">]><urlset><url><loc>&a;</loc></url></urlset>',
        b'<!DOCTYPE urlset SYSTEM "file:///etc/passwd"><urlset></urlset>',
        b"<urlset><url><loc>http://127.0.0.1/",
    ],
)
def test_hostile_or_broken_sitemap_is_named(web: WebServer, read: Read, body: bytes) -> None:
    web.site = {"/sitemap.xml": Answer(body=body)}
    got = read("/sitemap.xml")
    assert not got.pages
    assert "DOCTYPE" in errors(got, web)["/sitemap.xml"]


def test_sitemaps_of_robots_txt_add_pages_that_nothing_links_to(web: WebServer, read: Read) -> None:
    web.site = {
        "/robots.txt": Answer(body=f"Sitemap: {web.address}/map.xml".encode()),
        "/map.xml": urlset(f"{web.address}/guide/island.html", f"{web.address}/shop/"),
        "/guide/": html("Hello."),
        "/guide/island.html": html("Island."),
    }
    assert names(read()) == {"guide/index.html", "guide/island.html"}


def test_robots_txt_is_honoured_with_wildcards(web: WebServer, read: Read) -> None:
    rules = b"User-agent: *\nDisallow: /guide/*/old\nDisallow: /*.txt$\nAllow: /guide/a/old/kept\nCrawl-delay: 2\n"
    web.site = {
        "/robots.txt": Answer(body=rules),
        "/guide/": links("a/old/x", "a/old/kept", "notes.txt"),
        "/guide/a/old/kept": html("Kept."),
    }
    machine = FakeMachine()
    got = read(machine=machine)
    assert names(got) == {"guide/index.html", "guide/a/old/kept.html"}
    assert got.skipped == {"disallowed by robots.txt": 2}
    assert web.paths == ["/guide/", "/guide/a/old/kept"]
    assert machine.slept[-1] == 2


@pytest.mark.parametrize("trouble", [Answer(status=500), Answer(status=429), reset])
def test_site_whose_robots_txt_fails_is_not_read_and_its_pages_are_kept(
    web: WebServer, read: Read, trouble: Answer | Misbehave
) -> None:
    web.site = {"/guide/": html("Hello.")}
    assert len(read().pages) == 1
    web.site["/robots.txt"] = trouble
    got = read()
    assert names(got) == {"guide/index.html"}
    assert "what the run before found is kept (pages: 1)" in errors(got, web)["/robots.txt"]


def test_pages_say_themselves_what_robots_may_do(web: WebServer, read: Read) -> None:
    web.site = {
        "/guide/": links("hidden", "tagged", "dead-end"),
        "/guide/hidden": html('<a href="found">x</a>', head='<meta name="ROBOTS" content="NOINDEX, follow">'),
        "/guide/tagged": Answer(body=b"<p>x", headers={"Content-Type": "text/html", "X-Robots-Tag": "ragctl: none"}),
        "/guide/dead-end": html('<a href="secret">x</a>', head='<meta name="robots" content="nofollow">'),
        "/guide/found": html("Found.", head='<meta name="googlebot" content="noindex">'),
    }
    got = read()
    assert names(got) == {"guide/index.html", "guide/dead-end.html", "guide/found.html"}
    assert got.skipped == {"noindex": 2}
    assert "/guide/secret" not in web.paths


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "0.0.0.0", "localhost", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_private_address_is_refused_unless_its_host_was_allowed(web: WebServer, read: Read, host: str) -> None:
    with pytest.raises(Unreadable, match=r"not an address of the public internet; --allow-host \S+ allows it"):
        read(f"http://{host}:{web.address.rpartition(':')[2]}/", allow_hosts=frozenset({"x.example"}))
    assert web.asked == []


def test_certificate_is_checked(tmp_path: Path, read: Read) -> None:
    with WebServer(tls=self_signed(tmp_path)).running() as safe:
        got = read(f"{safe.address}/")
    assert not got.pages
    assert "the certificate of 127.0.0.1 is not valid: self-signed certificate" in got.failed[0].error


@pytest.mark.parametrize(
    ("path", "answer", "reason"),
    [
        ("/guide/", Answer(status=404), r"gone \(404\).: give the address of a page"),
        ("/guide/", Answer(body=b"\x89PNG\0", headers={"Content-Type": "image/png"}), "image/png.: give the address"),
        ("/guide/", moved("https://away.example/g/"), r"leads to https://away\.example/g/, on another host"),
        (
            "/robots.txt",
            Answer(body=b"User-agent: *\nDisallow:\n\nUser-agent: RagCtl\nDisallow: /"),
            r"\.txt does not allow",
        ),
    ],
    ids=["gone", "a picture", "on another host", "not for this program"],
)
def test_given_address_without_a_page_is_named_and_the_cache_is_kept(
    web: WebServer, read: Read, path: str, answer: Answer, reason: str
) -> None:
    web.site = {"/guide/": html("Hello.")}
    file = read().pages[0].file
    web.site[path] = answer
    with pytest.raises(Unreadable, match=reason):
        read()
    assert file.exists()


def test_redirects_are_followed_hop_by_hop(web: WebServer, read: Read) -> None:
    port = web.address.rpartition(":")[2]
    web.site = {
        "/guide": moved("/guide/", 301),
        "/guide/": links("old", "out", "loop", "metadata", "long0", "file", "up"),
        "/guide/old": moved("new", 308),
        "/guide/new": html("New."),
        "/guide/out": moved("https://elsewhere.example/guide/"),
        "/guide/loop": moved("loop"),
        "/guide/metadata": moved(f"http://localhost:{port}/latest/meta-data/"),
        **{f"/guide/long{n}": moved(f"long{n + 1}") for n in range(9)},
        "/guide/file": moved("file:///etc/passwd"),
        "/guide/up": moved("/elsewhere/"),
    }
    got = read("/guide")
    assert names(got) == {"guide/index.html", "guide/new.html"}
    assert got.skipped == {"another host": 2, "outside the folder": 1}
    assert set(errors(got, web)) == {"/guide/loop", "/guide/long0", "/guide/file"}
    assert "circle" in errors(got, web)["/guide/loop"]
    assert "more than 5 times" in errors(got, web)["/guide/long0"]


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (reset, "connection broke"),
        (too_short, "connection broke"),
        (not_http, "not HTTP"),
        (endless, "larger than 1 MiB"),
        (zipped(html("0" * 2_000_000)), "larger than 1 MiB"),
        (Answer(body=b"\x1f\x8bnonsense", headers={"Content-Encoding": "gzip"}), "damaged"),
        (Answer(body=gzip.compress(b"x" * 999)[:20], headers={"Content-Encoding": "gzip"}), "ends too early"),
        (Answer(body=b"x", headers={"Content-Encoding": "br"}), "'br', which was not asked for"),
        (Answer(status=304), "unchanged, and it is not in the cache"),
        (Answer(status=500), "status 500"),
        (Answer(status=403), "refuses it"),
    ],
)
def test_page_that_misbehaves_is_named_and_the_others_are_read(
    web: WebServer, read: Read, trouble: Answer | Misbehave, reason: str
) -> None:
    web.site = {"/guide/": links("bad", "good"), "/guide/bad": trouble, "/guide/good": html("Good.")}
    got = read(limits=Limits(bytes_per_page=2**20), machine=FakeMachine())
    assert names(got) == {"guide/index.html", "guide/good.html"}
    assert reason in errors(got, web)["/guide/bad"]


def test_server_that_drips_is_given_up(web: WebServer, read: Read) -> None:
    machine = FakeMachine()

    def slowly(handler: BaseHTTPRequestHandler) -> None:
        machine.tick_s = 300
        dripping(handler)

    web.site = {"/guide/": slowly}
    got = read(machine=machine)
    assert errors(got, web) == {"/guide/": "could not be fetched: no whole answer in 20 seconds a wait, 200 in all"}


def test_what_is_odd_but_whole_is_read(web: WebServer, read: Read) -> None:
    latin = '<html><head><meta charset="utf-8"></head><p>Größe, façade</p>'.encode("latin-1")
    web.site = {
        "/guide/": links("old", "zip", "latin", "lie.html", "picture.html", "cookie"),
        "/guide/old": http_1_0,
        "/guide/zip": zipped(html("Unpacked words.")),
        "/guide/latin": Answer(body=latin, headers={"Content-Type": "text/html; charset=utf-8"}),
        "/guide/lie.html": Answer(body=b"%PDF-1.7\n%\0", headers={"Content-Type": "text/html"}),
        "/guide/picture.html": Answer(body=b"\x89PNG\r\n\x1a\n\0\0", headers={"Content-Type": "text/html"}),
        "/guide/cookie": Answer(body=b"<p>c", headers={"Content-Type": "text/html", "Set-Cookie": "id=7"}),
    }
    got = read()
    kept = ("index.html", "old.html", "zip.html", "latin.html", "lie.html.pdf", "cookie.html")
    assert names(got) == {f"guide/{name}" for name in kept}
    assert b"Unpacked words." in bodies(got)["guide/zip.html"]
    assert "Größe, façade" in bodies(got)["guide/latin.html"].decode("utf-8-sig")
    assert got.skipped == {"text/html": 1}
    assert all("cookie" not in headers for _, headers in web.asked)


def test_limits_of_pages_and_bytes_are_kept_and_told(web: WebServer, read: Read) -> None:
    web.site = {"/guide/": links(*(f"day{n}" for n in range(2_000)))}
    web.site |= {f"/guide/day{n}": html(f"{n} " * 20_000) for n in range(30)}
    got = read(limits=Limits(pages=20))
    assert len(got.pages) == 20
    assert got.skipped == {"over the limit of 20 pages": 1_981}
    got = read("/guide/day1", limits=Limits(bytes_total=10_000))
    assert got.skipped == {"over the limit of 0.00953674 MiB in all": 1}


def test_pages_that_the_bytes_do_not_reach_are_kept(web: WebServer, read: Read) -> None:
    web.site = {"/guide/": links("a", "b", "c"), **{f"/guide/{name}": html(name) for name in "abc"}}
    before = names(read())
    web.site |= {f"/guide/{name}": html("much " * 1_000) for name in "abc"}
    assert names(read(limits=Limits(bytes_total=3_000))) == before


def test_requests_keep_the_rate(web: WebServer, read: Read) -> None:
    web.site = {"/guide/": links("a", "b"), "/guide/a": html("a"), "/guide/b": html("b")}
    machine = FakeMachine()
    read(limits=Limits(per_second=2), machine=machine)
    assert machine.slept == [0.5] * 4  # robots.txt, three pages, and one address that cannot exist


def test_server_that_asks_for_patience_gets_some(web: WebServer, read: Read) -> None:
    busy = Answer(status=503, headers={"Retry-After": "7"})
    web.site = {
        "/guide/": links("busy", "closed"),
        "/guide/busy": [busy, html("There.")],
        "/guide/closed": Answer(status=429, headers={"Retry-After": "86400"}),
    }
    machine = FakeMachine()
    got = read(machine=machine)
    assert names(got) == {"guide/index.html", "guide/busy.html"}
    assert 7 in machine.slept
    assert max(machine.slept) < 60
    assert "Retry-After: 86400" in errors(got, web)["/guide/closed"]


def test_second_run_asks_only_for_what_changed(web: WebServer, read: Read) -> None:
    dated = {"Content-Type": "text/html", "Last-Modified": "Mon, 05 Jan 2026 10:00:00 GMT"}
    web.site = {
        "/guide/": replace(html('<a href="b">x</a>'), etag='"one"'),
        "/guide/b": Answer(body=b"<p>b", headers=dated),
        "/guide/gone": html("gone"),
    }
    before = read()
    web.asked.clear()
    again = read()
    sent = dict(web.asked)
    assert sent["/guide/"]["if-none-match"] == '"one"'
    assert sent["/guide/b"]["if-modified-since"] == dated["Last-Modified"]
    assert bodies(again) == bodies(before)
    assert {page.last_modified for page in again.pages} == {"", "2026-01-05T10:00:00+00:00"}


def test_pages_that_are_gone_leave_the_cache_and_what_fails_stays(web: WebServer, read: Read) -> None:
    web.site = {"/guide/": links("a", "b", "c"), "/guide/b": links("b/deep")}
    web.site |= {f"/guide/{name}": html(name) for name in ("a", "b/deep", "c")}
    assert len(read().pages) == 5
    web.site |= {"/guide/": links("a", "b", "c", "d"), "/guide/b": Answer(status=500), "/guide/c": Answer(status=410)}
    got = read()
    assert names(got) == {"guide/index.html", "guide/a.html", "guide/b.html", "guide/b/deep.html"}
    assert errors(got, web) == {"/guide/b": "could not be fetched now (status 500): the copy of 2026-03-01 is kept"}
    assert got.skipped == {"gone (410)": 1, "gone (404)": 1}
    files = {page.file.name for page in got.pages}
    kept = {path.name for path in got.pages[0].file.parent.iterdir() if path.suffix == ".html"}
    assert kept == files


def test_page_that_only_a_failing_sitemap_lists_is_asked_for_itself(web: WebServer, read: Read) -> None:
    index = f"<sitemapindex><sitemap><loc>{web.address}/part.xml</loc></sitemap></sitemapindex>"
    web.site = {
        "/sitemap.xml": Answer(body=index.encode()),
        "/part.xml": urlset(f"{web.address}/a.html", f"{web.address}/b.html"),
        "/a.html": html("a"),
        "/b.html": html("b"),
    }
    assert names(read("/sitemap.xml")) == {"a.html", "b.html"}
    web.site |= {"/part.xml": Answer(status=500), "/b.html": Answer(status=404)}
    got = read("/sitemap.xml")
    assert names(got) == {"a.html"}
    assert list(errors(got, web)) == ["/part.xml"]


def test_site_that_dies_is_left_alone_and_kept(web: WebServer, read: Read) -> None:
    web.site["/guide/"] = links(*(f"{n}" for n in range(30)))
    web.site.update({f"/guide/{n}": html(f"{n}") for n in range(30)})
    assert len(read().pages) == 31
    web.site.update({f"/guide/{n}": reset for n in range(30)})
    web.asked.clear()
    got = read()
    assert len(got.pages) == 31
    assert len(set(web.paths)) == 6
    assert "25 addresses were not asked for, 25 pages of the run before are kept" in errors(got, web)["/guide/"]


def test_run_that_is_stopped_leaves_what_it_has(web: WebServer, tmp_path: Path, read: Read) -> None:
    pages = {"/guide/": links("a", "b"), "/guide/a": html("a"), "/guide/b": html("b")}
    web.site = {path: replace(page, etag='"1"') for path, page in pages.items()}

    def stop(done: int, total: int | None) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read(on_progress=stop)
    for body in tmp_path.rglob("*.html"):
        body.write_bytes(b"cut by a kill")
        break
    web.asked.clear()
    assert names(read()) == {"guide/index.html", "guide/a.html", "guide/b.html"}
    assert sum("if-none-match" in headers for _, headers in web.asked) == 1


def test_one_text_is_one_page_and_cited_by_its_canonical_address(web: WebServer, read: Read) -> None:
    stated = {"a": f"{web.address}/stable/a", "b": "https://elsewhere.example/b", "c": "/guide/a"}
    web.site = {f"/guide/{at}": html(at, head=f'<link rel="canonical" href="{to}">') for at, to in stated.items()}
    web.site |= dict.fromkeys(("/guide/", "/guide/index.html"), links("index.html", *stated))
    got = read()
    assert addresses(got, web) == {"/guide/", "/stable/a", "/guide/b", "/guide/c"}
    assert got.skipped == {"the same page at another address": 1}


def test_page_that_sends_its_reader_on_is_a_link_and_a_given_page_is_read_alone(web: WebServer, read: Read) -> None:
    web.site = {
        "/": html("Redirecting", head='<meta http-equiv="Refresh" content="0; URL=\'en/latest/\'">'),
        "/en/latest/": links("a.html"),
        "/en/latest/a.html": links("/b.html"),
        "/b.html": html("b"),
    }
    assert names(read("/")) == {"en/latest/index.html", "en/latest/a.html", "b.html"}
    assert names(read("/en/latest/a.html")) == {"en/latest/a.html"}
