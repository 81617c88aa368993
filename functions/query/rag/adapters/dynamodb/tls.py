"""One SSL context for all connections of a boto3 client, with its certificate authorities loaded once.

botocore hands urllib3 the path of its bundle with each connection, and urllib3 parses all of it each time: of the CPU
of a new connection nine parts in ten. The context is botocore's own and stays with the client, so a snapshot holds it.
"""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger(__name__)


def load_authorities_once(client: Any) -> None:
    """Load the bundle that ``client`` is told to trust into its context, and let no connection load it again.

    There is no public way. Where botocore is built otherwise, the client stays as it is: slower, and as safe.
    Connections through a proxy have contexts of their own and are left alone.
    """
    from botocore.httpsession import get_cert_path  # type: ignore[import-untyped]

    try:
        session = client._endpoint.http_session
        context, verify = session._manager.connection_pool_kw["ssl_context"], session._verify
        set_up = session._setup_ssl_cert
        if not verify or not client.meta.endpoint_url.startswith("https:"):
            return
        context.load_verify_locations(get_cert_path(verify))
    except (AttributeError, KeyError, TypeError, OSError) as exc:
        logger.warning("each connection will load its certificate authorities: %s", type(exc).__name__)
        return

    def set_up_without_bundle(pool: Any, url: str, verify: Any) -> None:
        set_up(pool, url, verify)
        if getattr(pool, "conn_kw", {}).get("ssl_context") is context:
            pool.ca_certs = None

    session._setup_ssl_cert = set_up_without_bundle
