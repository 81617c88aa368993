"""SnapStart's hooks before a snapshot and after a restore.

Lambda runs the init once, snapshots the memory and restores it many times, perhaps days later. So the libraries are
imported and the clients made before; state that must not be shared or may be stale is dropped after: connections, the
state of ``random``, cached secrets. Ids come from the operating system's randomness (``secrets``) and are safe in any
copy. A version whose hook raises is never published: CloudFormation goes back to the one before.
"""

from __future__ import annotations

import random

from rag.wiring.application import Application


def register_hooks(service: Application) -> None:
    """Register ``before_snapshot`` and ``after_restore`` with the Lambda runtime, where there is one."""
    try:
        from snapshot_restore_py import register_after_restore, register_before_snapshot
    except ImportError:
        return  # only Lambda's runtime brings it; the local server is never snapshotted
    register_before_snapshot(before_snapshot, service)
    register_after_restore(after_restore, service)


def before_snapshot(service: Application) -> None:
    """Load all that the first answer needs, and answer one question without a secret or another server."""
    from rag.wiring.rehearsal import rehearse  # late: only a start with a snapshot needs it

    service.warm()
    rehearse(service)
    service.index.handle.disconnect()  # no copy may find a connection that another has used


def after_restore(service: Application) -> None:
    """Drop the state that belongs to the moment of the snapshot."""
    random.seed()
    service.renew()
