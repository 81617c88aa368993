"""Whether a request comes from the page of another site, whose browser would lend it this server's address."""

from __future__ import annotations

OTHER_SITE = "Requests from the pages of other sites are not answered"


def is_from_another_site(*, host: str, origin: str, fetch_site: str = "") -> bool:
    """Judge by the headers ``Host``, ``Origin`` and ``Sec-Fetch-Site``, each ``""`` where there is none.

    Every browser sends ``Origin`` with what is no GET; programs such as curl send neither of the two.
    """
    if fetch_site.lower() not in {"", "none", "same-origin"}:
        return True
    return origin != "" and origin.partition("://")[2].lower() != host.lower()
