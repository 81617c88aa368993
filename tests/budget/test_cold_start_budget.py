"""What a cold start of the built function imports: with the layer and the runtime on its path, as Lambda has them."""

import pytest
from artefacts import LIBRARIES, RUNTIME_PYTHON, require_build, run_as_lambda

pytestmark = pytest.mark.build

MAX_MODULES = 990
"""Measured 985, 205 of them ours (chromadb 1.5.9, Powertools 3.37, numpy 2.5); a new library shows here."""

AFTER_THE_START = {"openai", "httpx2", "httpcore2", "boto3", "botocore.session", "s3transfer", "requests", "urllib3"}
"""Clients of the LLM and of AWS: on first use, or before the snapshot."""

ONLY_AT_INGEST = {
    "knowledge.cut.chunking", "knowledge.read.documents", "knowledge.build.ingest", "markdown_it", "filelock",
}  # fmt: skip
NEVER = {
    "aiohttp", "anyio", "attr", "aws_xray_sdk", "bcrypt", "build", "chromadb.test", "click", "flatbuffers",
    "google.protobuf", "grpc", "hf_xet", "httpcore", "huggingface_hub", "jsonschema.validators", "kubernetes",
    "layerbuilder", "modelbuilder", "numpy.f2py", "numpy.testing", "onnx", "onnxruntime.quantization",
    "overrides.enforce", "pip", "pydantic.v1", "pygments", "pytest", "ragctl", "referencing", "rich", "rpds", "scipy",
    "setuptools", "torch", "tqdm", "transformers", "typer", "unittest", "uvicorn", "uvloop", "watchfiles",
    "websockets",
}  # fmt: skip
"""``tenacity``, ``yaml`` and ``httpx`` are not here: ``import chromadb`` itself needs them."""

START = """
import json, sys
import app
assert app.service.health().index.chunks > 0
print(json.dumps({
    "modules": sorted(sys.modules),
    "files": {name: file for name, module in sys.modules.items() if (file := getattr(module, "__file__", None))},
}))
"""

SETTINGS = {"no LLM": {}, "a key": {"LLM_API_KEY": "sk-never-used"}, "a secret": {"LLM_SECRET_NAME": "rag/llm-key"}}


@pytest.fixture(scope="module", params=SETTINGS)
def started(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """The modules of a fresh process after its init, and their files where they have one."""
    require_build()
    if not RUNTIME_PYTHON.exists():
        pytest.fail("The Lambda runtime client is missing in .venv-lambda. Run: make build")
    environment = SETTINGS[request.param]
    told = run_as_lambda(START, environment, cwd=tmp_path_factory.mktemp("start"))
    return {name: told["files"].get(name) for name in told["modules"]}


@pytest.mark.parametrize("absent", [AFTER_THE_START, ONLY_AT_INGEST, NEVER], ids=["later", "ingest", "never"])
def test_what_a_start_does_not_need_is_not_imported(started: dict[str, str | None], absent: set[str]) -> None:
    assert absent & set(started) == set()


def test_what_is_imported_is_within_the_budget_compiled_and_with_stand_ins_for_what_was_pruned(
    started: dict[str, str | None],
) -> None:
    assert len(started) <= MAX_MODULES
    assert {"app", "knowledge.open.index", "chromadb", "onnxruntime", "tokenizers"} <= started.keys()
    assert "snapshot_restore_py" in started
    for name in ("overrides", "jsonschema"):
        assert started[name] == str(LIBRARIES / name / "__init__.pyc")
    libraries = {name: file for name, file in started.items() if file and file.startswith(str(LIBRARIES))}
    sources = {name for name, file in libraries.items() if file.endswith(".py")}
    assert {name.partition(".")[0] for name in sources} == {"knowledge"}
    assert len(libraries) > 400
