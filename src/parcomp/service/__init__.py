"""The service: a custodian's quotes, answers and books over HTTP, for whoever holds a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parcomp.lazy import lazy_exports

if TYPE_CHECKING:
    from parcomp.service.app import create_app
    from parcomp.service.process import serve

__all__ = ["create_app", "serve"]

_, __getattr__, __dir__ = lazy_exports(__name__, {"app": "create_app", "process": "serve"})
