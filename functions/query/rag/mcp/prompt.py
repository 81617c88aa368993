"""The prompt that a program may offer its user: a question to the documents."""

from __future__ import annotations

from typing import Any

from rag.mcp.protocol import INVALID_PARAMS, McpError, Params

PROMPT: dict[str, Any] = {
    "name": "ask-documents",
    "title": "Ask the documents",
    "description": "Answers a question from the documents alone, with what it rests on.",
    "arguments": [{"name": "question", "description": "The question, in plain words.", "required": True}],
}
_TEXT = (
    "Answer this question with the tool `ask`, from the documents alone. Name the sources that it cites and how sure "
    "it is. Where it is refused, say that the documents do not hold the answer.\n\nQuestion: {question}"
)


def get_prompt(params: Params) -> dict[str, Any]:
    """The prompt with its question; McpError where another is asked for, or the question is missing."""
    if params.get("name") != PROMPT["name"]:
        raise McpError(INVALID_PARAMS, f"There is no such prompt; there is {PROMPT['name']}")
    given = params.get("arguments")
    question = given.get("question") if isinstance(given, dict) else None
    if not isinstance(question, str) or not question.strip():
        raise McpError(INVALID_PARAMS, "arguments must hold the text question")
    text = _TEXT.replace("{question}", question)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": PROMPT["description"], "messages": [message]}
