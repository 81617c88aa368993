"""The composition root: from settings to adapters, to a profile, to a service that answers."""

from rag.wiring.application import Application, build_application

__all__ = ["Application", "build_application"]
