"""The errors of a question, each with the stable code that the caller sees.

RagError
├── BadRequest                       an error of the caller
│   ├── InvalidQuery                   invalid_query       not a string
│   ├── EmptyQuery                     empty_query
│   ├── QueryTooLong                   query_too_long
│   ├── UnsafeQuery                    unsafe_query
│   ├── InvalidParameter               invalid_parameter   names it and the accepted values
│   ├── UnsupportedParameter           unsupported_parameter   asks for a result of another form
│   ├── UnknownResponse                unknown_response    feedback on an unknown response
│   ├── TooManyVotes                   too_many_votes      of one session within an hour
│   └── UnknownChunk                   unknown_chunk
├── LlmError                         the model gave no answer
│   ├── LlmFailed                      pipeline_error      one call failed
│   │   ├── EmbeddingFailed              the same for an embedding model behind an API
│   │   └── RequestRefused               the server refused the request
│   │       ├── ParameterRefused           for an optional parameter
│   │       └── ContextTooLong             for its length
│   └── LlmUnavailable                 llm_unavailable     no model answers now
│       ├── LlmTooSlow                   the time was over
│       ├── LlmDenied                    key, account, address or models are refused: the operator must act
│       └── EmbeddingUnavailable       embedder_unavailable   the same for an embedding model behind an API
├── ClientGone                       the reader of a stream has gone: there is no answer and no reply
├── StoreUnavailable                 store_unavailable   cache, memory, feedback: skipped, not fatal
│   └── StoreOutOfReach                  the same, and the next call would fail too
└── ConfigurationError               configuration_error a setting is wrong (start-up only)

Beside it knowledge.model.errors: IndexUnavailable (IndexMissing, IndexDamaged: index_not_ready; IndexMismatch:
index_mismatch) and SearchFailed (pipeline_error).

``BadRequest`` messages are written for the caller. Other messages are for the log only: callers get the fixed
sentences of ``rag.http.failures``.
"""

from __future__ import annotations

import math

from rag.values.chat import LlmUse


class RagError(Exception):
    """Base of all errors that ``rag`` raises.

    ``spent`` is the use of models before it: by the failed call, or by the whole request that it ended.
    """

    code = "pipeline_error"
    spent = LlmUse()


class BadRequest(RagError):
    """An error of the caller; the message says the fault and the accepted values.

    ``{noun}`` in the message stands for the endpoint's word for the question ("Query", "Question"). ``text`` is the
    message of a class that always has the same. ``param`` is the name of the wrong parameter, None if unknown.
    """

    code = "invalid_parameter"
    text = ""

    def __init__(self, message: str = "", *, param: str | None = None) -> None:
        super().__init__(message or self.text)
        self.param = param

    def sentence(self, noun: str = "Query") -> str:
        """Return the message with the endpoint's word for the question."""
        return str(self).replace("{noun}", noun)


class InvalidQuery(BadRequest):
    """The question is not a string."""

    code = "invalid_query"
    text = "{noun} must be a string"


class EmptyQuery(BadRequest):
    """The question has no visible character."""

    code = "empty_query"
    text = "{noun} cannot be empty"


class QueryTooLong(BadRequest):
    """The question has more characters than the profile admits."""

    code = "query_too_long"

    def __init__(self, limit: int) -> None:
        super().__init__(f"{{noun}} exceeds maximum length of {limit} characters")


class UnsafeQuery(BadRequest):
    """The question holds a script pattern or characters that cannot be shown."""

    code = "unsafe_query"


class InvalidParameter(BadRequest):
    """A parameter of the request is wrong; the message names it and the accepted values."""


class UnsupportedParameter(BadRequest):
    """A parameter asks for a result in an unsupported form."""

    code = "unsupported_parameter"

    def __init__(self, param: str) -> None:
        super().__init__(
            f"{param} is not supported with this value: the answer is one text, and nothing is kept of it", param=param
        )


class UnknownResponse(BadRequest):
    """No response of the last 30 days has this id."""

    code = "unknown_response"
    text = "responseId names no response of the last 30 days"


class TooManyVotes(BadRequest):
    """One session has sent the most votes that are accepted in an hour. ``retry_after`` is in whole seconds."""

    code = "too_many_votes"

    def __init__(self, limit: int, *, retry_after: float) -> None:
        self.retry_after = max(1, math.ceil(retry_after))
        votes, minutes = _count(limit, "vote"), _count(math.ceil(self.retry_after / 60), "minute")
        super().__init__(f"No more than {votes} within an hour are taken from one session; try again in {minutes}")


class UnknownChunk(BadRequest):
    """The index has no chunk of that id."""

    code = "unknown_chunk"
    text = "The index has no such chunk; ids look like id_42"


class ClientGone(RagError):
    """The reader of the stream has gone."""


class LlmError(RagError):
    """The model gave no answer."""


class LlmFailed(LlmError):
    """One call was refused, or its reply cannot be read; the chat model then tries the next model."""


class RequestRefused(LlmFailed):
    """The server refused the request as wrong."""


class ParameterRefused(RequestRefused):
    """The model does not accept the optional ``parameter``, or not with this value."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class ContextTooLong(RequestRefused):
    """The request holds more tokens than the model's context window."""


class LlmUnavailable(LlmError):
    """No model answers now. ``retry_after`` is in seconds, None if unknown."""

    code = "llm_unavailable"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class LlmTooSlow(LlmUnavailable):
    """No text arrived before the deadline."""


class LlmDenied(LlmUnavailable):
    """The key, the account, the address or every model is refused: the operator must act."""


class EmbeddingFailed(LlmFailed):
    """The embedding model refused the request, or its vectors cannot be used."""


class EmbeddingUnavailable(LlmUnavailable):
    """The embedding model cannot be reached now."""

    code = "embedder_unavailable"


class StoreUnavailable(RagError):
    """The answer cache, the memory or the feedback store cannot be read or written now."""

    code = "store_unavailable"


class StoreOutOfReach(StoreUnavailable):
    """The store cannot be reached or is overloaded: optional stages pause their calls for a while."""


class ConfigurationError(RagError):
    """A setting is missing or wrong; the message names the variable and the accepted values."""

    code = "configuration_error"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
