"""GaCounts as a service in a test: its environment, a model that behaves, and what its replies and metrics say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from functional.harness import API_KEY, REPOSITORY, Api, Json, Reply

SAMPLES = REPOSITORY / "samples" / "gacounts"
NO_ANSWER = "I don't have specific information about that in the knowledge base."

MEALS = "What is the meal allowance in the latest travel policy?"
COLORS = "Which colors does our brand have?"
TRAINING = "When is the security training due each year?"
TOMATOES = "Why do the leaves of my tomato plants turn yellow?"


def gacounts(store: Path | str | None, **env: str) -> dict[str, str]:
    """The profile's environment, with a SQLite store at ``store``."""
    return {
        "RAG_PROFILE": "gacounts",
        "ACRONYMS_FILE": str(SAMPLES / "acronyms.json"),
        "FILTER_RULES_FILE": str(SAMPLES / "filters.json"),
        **({"STORE_PATH": str(store)} if store else {}),
        **env,
    }


def of_llm(url: str) -> dict[str, str]:
    """The environment of an LLM at ``url`` that is not retried."""
    return {"LLM_BASE_URL": url, "LLM_API_KEY": API_KEY, "LLM_MAX_RETRIES": "0"}


def cited(reply: Reply) -> list[str]:
    """The ids of the documents that an answer cites, best first."""
    return [citation["docId"] for citation in reply.json["citations"]]


def cached(reply: Reply) -> bool:
    """Whether it came from the cache."""
    assert reply.status == 200, reply.text
    return bool(reply.json["metadata"]["cached"])


def moved(reply: Reply) -> dict[str, float]:
    """By how much readers' votes moved which chunks."""
    told = "ordered by readers' votes: "
    lines = [line.removeprefix(told) for line in reply.json["metadata"]["trail"] if line.startswith(told)]
    pairs = (part.split(" ") for line in lines for part in line.split(", "))
    return {chunk_id: float(delta) for chunk_id, delta in pairs}


def cited_chunks(api: Api, question: str, **fields: object) -> list[str]:
    """The ids of the chunks that an answer cites."""
    sources: list[str] = api.send("/v1/query", question=question, **fields).json["sources"]
    return sources


def counted(reply: Reply, name: str, **dimensions: str) -> float:
    """The sum of a metric in what the call wrote, of those with these dimensions."""
    lines = [line for line in reply.metrics if name in line and dimensions.items() <= line.items()]
    return sum(sum(line[name]) if isinstance(line[name], list) else line[name] for line in lines)


def kind_of(request: Json) -> str:
    """What a chat request is for: "answer", "reframe" or "rerank"."""
    first = request["messages"][0]
    if first["role"] == "system":
        return "answer"
    return "reframe" if first["content"].startswith("Rewrite the last question") else "rerank"


def first_sentence(request: Json) -> str:
    """The first sentence of the first passage of an answer's context: what no check can doubt."""
    return sentence_of(_between(request, "CONTEXT").partition("\n\n[2] ")[0].splitlines()[1:])


def sentence_of(lines: list[str]) -> str:
    """The first sentence of prose in lines."""
    prose = next(line for line in lines if ". " in line or line.endswith("."))
    return prose.partition(". ")[0].rstrip(".") + "."


def model(
    *,
    answer: Callable[[Json], str] | None = None,
    reframe: Callable[[str], str] = lambda question: question,
    rerank: Callable[[int], str] = lambda count: ", ".join(map(str, range(1, count + 1))),
) -> Callable[[Json], str]:
    """A model for ``LlmServer(answer=...)``; ``rerank`` gets the number of passages, ``reframe`` the question."""

    def write(request: Json) -> str:
        match kind_of(request):
            case "answer":
                return answer(request) if answer else f"{first_sentence(request)} [1]"
            case "reframe":
                return reframe(_between(request, "QUESTION"))
            case _:
                return rerank(_between(request, "PASSAGES").count("\n[") + 1)

    return write


def asked(requests: list[Any], kind: str) -> list[Json]:
    """The bodies of the requests of one kind that an ``LlmServer`` recorded."""
    return [request.json for request in requests if kind_of(request.json) == kind]


def _between(request: Json, name: str) -> str:
    text: str = request["messages"][0]["content"]
    fenced = text[text.index(f"\n{name}\n<<<") : text.index(f"\nEND OF {name}")]
    return "\n".join(fenced.splitlines()[3:-1])
