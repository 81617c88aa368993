"""The composition root: from settings to adapters, to a profile, to a service that answers."""

from rag.wiring.service import Service, build_service

__all__ = ["Service", "build_service"]
