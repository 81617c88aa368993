"""The built layers, alone: all that the function needs is in them and in their bill, with room for an index."""

import hashlib
import importlib.util
import json
import random
import re
import tomllib
from importlib.metadata import PathDistribution, distribution
from pathlib import Path
from typing import Any

import chromadb
import pytest
from artefacts import BUILD, FUNCTION, INDEX, LIBRARIES, ROOT, require_build, run_bare
from fakes_embedding import ReadingEmbedder

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.values import Document
from layerbuilder import index as index_layer
from layerbuilder.chroma import LIST
from layerbuilder.sizes import CHUNK_BYTES, LIMIT_BYTES, weigh

pytestmark = pytest.mark.build

QUESTION = "What documents do I need for an import permit in Singapore?"
EXPECTED = "Singapore Import Permits and TradeNet"
UNCHECKED_HASH = 1
"""Flags of bytecode that is valid whatever its source says (PEP 552)."""

WITHOUT_LICENCE = {"flatbuffers", "onnxruntime", "tokenizers"}
"""Their wheels have none in their metadata; onnxruntime's lie beside its code, flatbuffers' code does not ship."""

PARTS = ("ChromaLayer", "IndexLayer", "QueryFunction")
RULES = tomllib.loads(LIST.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    require_build()


SEARCH = """
import json
import chromadb
from knowledge.embedding import MiniLM
from knowledge.open.index import open_index

place, collection, question = sys.argv[1:]
embedder = MiniLM()
index = open_index(place, embedder=embedder, collection=collection)
hits = index.nearest(embedder.embed([question])[0], k=3)
files = {name: module.__file__ for name, module in sys.modules.items() if getattr(module, "__file__", None)}
print(json.dumps({
    "titles": [hit.chunk.title for hit in hits],
    "texts": [hit.chunk.text for hit in hits],
    "scores": [hit.score for hit in hits],
    "manifest": index.manifest is not None,
    "files": files,
    "standard": sys.prefix,
}))
index.close()
"""


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a fresh interpreter with nothing but the layer found in the built index."""
    found: dict[str, Any] = run_bare(SEARCH, INDEX, "waypoint_kb", QUESTION, cwd=tmp_path_factory.mktemp("search"))
    return found


def test_the_layer_alone_opens_the_index_embeds_and_finds(searched: dict[str, Any]) -> None:
    assert searched["titles"][0] == EXPECTED
    assert searched["manifest"] is True
    assert searched["scores"] == sorted(searched["scores"], reverse=True)
    assert 0.6 < searched["scores"][0] <= 1


def test_every_module_is_the_layer_s_or_the_standard_library_s(searched: dict[str, Any]) -> None:
    places = (str(LIBRARIES), searched["standard"])
    assert {name: file for name, file in searched["files"].items() if not file.startswith(places)} == {}
    assert "site-packages" not in "".join(searched["files"].values())


def test_no_source_is_compiled_at_a_start(searched: dict[str, Any]) -> None:
    modules = {name: Path(file) for name, file in searched["files"].items() if file.startswith(str(LIBRARIES))}
    theirs = {name: path for name, path in modules.items() if name.partition(".")[0] != "knowledge"}
    ours = {name: path for name, path in modules.items() if name not in theirs}
    assert {path.suffix for path in theirs.values()} == {".pyc", ".so"}
    assert {path.suffix for path in ours.values()} == {".py"}
    assert {"chromadb", "onnxruntime", "tokenizers", "numpy"} <= set(theirs)
    assert {"knowledge.open.index", "knowledge.embedding"} <= set(ours)
    compiled = [path for path in theirs.values() if path.suffix == ".pyc"]
    compiled += [Path(importlib.util.cache_from_source(str(path))) for path in ours.values()]
    assert [path for path in compiled if _flags(path) != UNCHECKED_HASH] == []


def test_every_module_of_the_function_is_compiled() -> None:
    sources = list(FUNCTION.rglob("*.py"))
    assert {"app.py", "snapshot.py", "telemetry.py"} <= {path.name for path in sources}
    assert {_flags(Path(importlib.util.cache_from_source(str(path)))) for path in sources} == {UNCHECKED_HASH}


def _flags(bytecode: Path) -> int:
    head = bytecode.read_bytes()[:8]
    assert head[:4] == importlib.util.MAGIC_NUMBER, f"{bytecode} is of another Python"
    return int.from_bytes(head[4:8], "little")


def test_a_foreign_chroma_folder_opens_with_chroma_s_default_embedding_function(tmp_path: Path) -> None:
    # jsonschema and overrides are stand-ins in the layer, and opening such a collection reads a configuration that
    # the real ones have checked.
    folder = tmp_path / "theirs"
    texts = ["Permits take five working days.", "A harpsichord is tuned by ear.", "Tea is grown in Darjeeling."]
    client = chromadb.PersistentClient(str(folder))
    collection = client.create_collection("theirs_kb")
    titles: Any = [{"title": title} for title in ("Permits", "Music", "Tea")]
    collection.add(ids=["a", "b", "c"], documents=texts, embeddings=MiniLM().embed(texts), metadatas=titles)
    assert collection.configuration_json["embedding_function"]["name"] == "default"
    client.close()  # type: ignore[attr-defined]

    found = run_bare(SEARCH, folder, "theirs_kb", "How long does a permit take?", cwd=tmp_path)

    assert (found["manifest"], found["texts"][0], found["titles"][0]) == (False, texts[0], "Permits")
    assert found["files"]["jsonschema"] == str(LIBRARIES / "jsonschema" / "__init__.pyc")


def test_a_configured_trace_exporter_is_refused_with_the_reason(tmp_path: Path) -> None:
    script = """
import json
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
try:
    OTLPSpanExporter(endpoint="http://collector:4317")
except RuntimeError as error:
    print(json.dumps(str(error)))
"""
    assert "CHROMA_OTEL_COLLECTION_ENDPOINT" in run_bare(script, cwd=tmp_path)


def test_what_the_list_names_is_gone_for_a_reason() -> None:
    stubs = tuple(entry["path"] for entry in RULES["stub"])
    left = [
        str(path.relative_to(LIBRARIES))
        for entry in RULES["remove"]
        for pattern in entry["paths"]
        for path in LIBRARIES.glob(pattern)
        if not any(stub.startswith(f"{path.relative_to(LIBRARIES)}/") for stub in stubs)
    ]
    assert left == []
    assert [entry for entry in (*RULES["remove"], *RULES["stub"]) if len(entry["why"].strip()) < 20] == []


def test_neither_sources_installers_tests_records_nor_places_of_the_building_machine_ship() -> None:
    never = {"pip", "setuptools", "uv", "RECORD", "INSTALLER", "direct_url.json", ".lock", "conftest.py"}
    place = str(ROOT).encode()
    wrong = []
    for path in (path for part in PARTS for path in (BUILD / part).rglob("*")):
        binary = path.is_dir() or path.suffix in {".so", ".onnx"}
        if path.name in never or (path.is_dir() and path.name in {"test", "tests", "_tests"}):
            wrong.append(f"{path.relative_to(BUILD)} ships")
        if not binary and place in path.read_bytes():
            wrong.append(f"{path.relative_to(BUILD)} names {ROOT}")
    wrong += [str(path) for path in LIBRARIES.rglob("*.py") if not path.is_relative_to(LIBRARIES / "knowledge")]
    assert wrong == []


def test_the_model_ships_once_and_quantised() -> None:
    names = {path.name for path in (LIBRARIES / "model").iterdir()}
    assert {"model.json", "tokenizer.json"} <= names
    assert [name for name in names if name.endswith(".onnx")] == ["model.onnx"]
    assert (LIBRARIES / "model" / "model.onnx").stat().st_size < 30_000_000


def test_the_index_layer_holds_one_state_and_its_manifest() -> None:
    manifest = json.loads((INDEX / "manifest.json").read_text(encoding="utf-8"))
    data = INDEX / manifest["data"]
    assert {path.name for path in INDEX.iterdir()} == {"manifest.json", manifest["data"]}
    assert {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()} == set(manifest["files"])


def _legal(names: list[str]) -> set[str]:
    words = ("licen", "copying", "notice")
    return {name for name in names if any(word in Path(name).name.lower() for word in words)}


def test_licences_and_notices_ship_as_the_wheels_have_them() -> None:
    shipped = [PathDistribution(info) for info in sorted(LIBRARIES.glob("*.dist-info"))]
    assert {"chromadb", "openai", "pydantic", "onnxruntime"} <= {each.metadata["Name"] for each in shipped}
    lost = {}
    for each in shipped:
        name = each.metadata["Name"]
        installed = distribution(name)
        assert installed.version == each.version, f"{name}: the layer's lock file is not the environment's"
        texts = _legal([str(file) for file in installed.files or () if ".dist-info" in str(file)])
        assert texts or name in WITHOUT_LICENCE, f"{name} came without a licence"
        if missing := {text for text in texts if not (LIBRARIES / text).is_file()}:
            lost[name] = missing
    assert lost == {}

    # And the notices of what is linked into onnxruntime
    assert (LIBRARIES / "onnxruntime" / "LICENSE").is_file()
    assert (LIBRARIES / "onnxruntime" / "ThirdPartyNotices.txt").stat().st_size > 100_000


def test_the_bill_of_materials_names_what_the_layer_holds() -> None:
    bills = {path.name: json.loads(path.read_bytes()) for path in (ROOT / ".aws-sam").glob("chroma-*.cdx.json")}
    assert "chroma-x86_64.cdx.json" in bills
    locks = "".join((ROOT / "requirements" / name).read_text("utf-8") for name in ("chroma.txt", "query.txt"))
    pins = re.findall(r"^([\w.-]+)==([^ ;]+)", locks, re.MULTILINE)
    pinned = {(canonical(name), version) for name, version in pins}
    for bill in bills.values():
        libraries = [part for part in bill["components"] if part["type"] == "library"]
        packages = {(canonical(part["name"]), part["version"]) for part in libraries}
        # A pin may be for another system or Python than Lambda's; nothing may be there that is not pinned.
        assert packages <= pinned
        assert {"chromadb", "onnxruntime", "openai", "aws-lambda-powertools"} <= {name for name, _ in packages}
        unlicensed = {part["name"] for part in bill["components"] if not part.get("licenses")}
        assert len(unlicensed) < 5
        [model] = [part for part in bill["components"] if part["type"] == "machine-learning-model"]
        told = json.loads((LIBRARIES / "model" / "model.json").read_text(encoding="utf-8"))
        assert {part["name"]: part["hashes"][0]["content"] for part in model["components"]} == {
            name: hashlib.sha256((LIBRARIES / "model" / name).read_bytes()).hexdigest() for name in told["files"]
        }


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


CHUNKS, MEASURED = 5_000, 2_000
"""What is to fit, and what is measured of it: the size grows a little less than the number."""
CHARACTERS = 1_200


def page(number: int, words: list[str], random_: random.Random) -> Document:
    """A document that is one chunk of about CHARACTERS characters, with all fourteen fields and two more.

    Its words are as often the same ones as in prose (Zipf): 120 different ones of 200.
    """
    drawn = random_.choices(words, [1 / (rank + 3) for rank in range(len(words))], k=400)
    text = " ".join(drawn)[:CHARACTERS].rsplit(" ", 1)[0] + "."
    return Document(
        doc_id=f"DOC-{number:05}",
        title=f"Guide number {number} to {random_.choice(words)} and {random_.choice(words)}",
        text=text,
        digest=f"{number:064x}",
        path=f"01_regulatory/guide_{number}.md",
        category="01_regulatory",
        source_org="Singapore Customs (sample summary)",
        source_urls=(f"https://www.example.org/regulations/guide-{number}",),
        source_type="public_regulatory",
        jurisdiction="SG",
        last_updated="2026-03-17",
        dated=20260317,
        url=f"https://www.example.org/regulations/guide-{number}",
        extra={"priority": number % 10, "sample": True},
    )


@pytest.fixture
def chunk_bytes(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The index layer of MEASURED chunks whose words are as many as a real text's, in bytes."""
    place = tmp_path_factory.mktemp("capacity")
    random_ = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(random_.choices(letters, range(26, 0, -1), k=random_.randint(2, 10))) for _ in range(20_000)]
    documents = [page(number, words, random_) for number in range(MEASURED)]
    summary = ingest(documents, target=place / "index", embedder=ReadingEmbedder())
    assert summary.chunks == MEASURED
    index_layer.build(place / "layer", index=place / "index")
    return weigh(place / "layer").total() / MEASURED


def test_five_thousand_chunks_fit_each_of_what_the_size_gate_reckons_with(chunk_bytes: float) -> None:
    assert chunk_bytes == pytest.approx(CHUNK_BYTES, rel=0.05)
    built = {part: weigh(BUILD / part).total() for part in PARTS}
    assert min(built.values()) > 100_000, "what was built is there"
    size = CHUNKS * chunk_bytes + built["ChromaLayer"] + built["QueryFunction"]
    assert size <= LIMIT_BYTES, f"{size} bytes"
