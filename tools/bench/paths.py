"""Where things are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".index" / "bench"
"""Indexes and copies that take minutes to make: kept, and brought up to date."""
