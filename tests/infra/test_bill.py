"""The layer's bill of materials, beside the layer and the lock files."""

from __future__ import annotations

import hashlib
import json
import re

import artefacts
import pytest
from artefacts import ROOT

BUILT = ROOT / ".aws-sam"


@pytest.mark.build
def test_the_bill_of_materials_names_what_the_layer_holds() -> None:
    artefacts.require_build()
    bills = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in BUILT.glob("chroma-*.cdx.json")}
    assert "chroma-x86_64.cdx.json" in bills
    pinned = set()
    for lock in ("chroma.txt", "query.txt"):
        text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
        pinned |= {
            (canonical(name), version) for name, version in re.findall(r"^([\w.-]+)==([^ ;]+)", text, re.MULTILINE)
        }
    for bill in bills.values():
        packages = {
            (canonical(part["name"]), part["version"]) for part in bill["components"] if part["type"] == "library"
        }
        # A pin may be for another system or Python than Lambda's; nothing may be there that is not pinned.
        assert packages <= pinned
        assert {"chromadb", "onnxruntime", "openai", "aws-lambda-powertools"} <= {name for name, _ in packages}
        unlicensed = {part["name"] for part in bill["components"] if not part.get("licenses")}
        assert len(unlicensed) < 5
        [model] = [part for part in bill["components"] if part["type"] == "machine-learning-model"]
        told = json.loads((artefacts.LIBRARIES / "model" / "model.json").read_text(encoding="utf-8"))
        assert {part["name"]: part["hashes"][0]["content"] for part in model["components"]} == {
            name: hashlib.sha256((artefacts.LIBRARIES / "model" / name).read_bytes()).hexdigest()
            for name in told["files"]
        }


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
