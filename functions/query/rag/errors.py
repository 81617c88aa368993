"""What can go wrong with a question, and the stable code that the caller sees.

RagError
├── BadRequest                       the caller's to mend
│   ├── InvalidQuery                   invalid_query       not a string
│   ├── EmptyQuery                     empty_query
│   ├── QueryTooLong                   query_too_long
│   ├── UnsafeQuery                    unsafe_query
│   ├── InvalidParameter               invalid_parameter   names it and what is accepted
│   ├── UnsupportedParameter           unsupported_parameter   would change the form of the result
│   ├── UnknownResponse                unknown_response    feedback on nothing
│   ├── TooManyVotes                   too_many_votes      of one session within an hour
│   └── UnknownChunk                   unknown_chunk       there is no such chunk
├── LlmError                         the model gave no answer
│   ├── LlmFailed                      pipeline_error      one call was answered, but not with an answer
│   │   ├── EmbeddingFailed              the same of an embedding model behind an API
│   │   └── RequestRefused               the server says that the request is wrong
│   │       ├── ParameterRefused           for an optional parameter
│   │       └── ContextTooLong             for its length
│   └── LlmUnavailable                 llm_unavailable     no model gives a completion now
│       ├── LlmTooSlow                   not in the time that there was
│       ├── LlmDenied                    not before the operator acts: key, account, address, models
│       └── EmbeddingUnavailable       embedder_unavailable   the same of an embedding model behind an API
├── ClientGone                       nobody listens to a stream any more: no answer, and no error to tell
├── StoreUnavailable                 store_unavailable   cache, memory, feedback: skipped, not fatal
│   └── StoreOutOfReach                  the same, and the next call would find no better
└── ConfigurationError               configuration_error a setting is wrong (start-up only)

knowledge.model.errors beside it: IndexUnavailable (IndexMissing, IndexDamaged: index_not_ready; IndexMismatch:
index_mismatch) and SearchFailed (pipeline_error).

``BadRequest`` messages are written for the caller. The messages of the others are for the log only: callers
get the fixed sentences of ``rag.http.failures``.
"""

from __future__ import annotations

import math

from rag.values.chat import LlmUse


class RagError(Exception):
    """Base of every error that ``rag`` raises on purpose.

    ``spent`` is what was used of LLMs before it: by the call that failed, and once it has ended a request by that
    whole request.
    """

    code = "pipeline_error"
    spent = LlmUse()


class BadRequest(RagError):
    """The request cannot be served as it is; the message tells the caller why.

    ``{noun}`` in the message stands for what the endpoint calls the question ("Query", "Question"). ``param`` is the
    name of the parameter that is wrong, None where that is not said.
    """

    code = "invalid_parameter"
    param: str | None = None

    def sentence(self, noun: str = "Query") -> str:
        """The message with the endpoint's own word for the question."""
        return str(self).replace("{noun}", noun)


class InvalidQuery(BadRequest):
    """The question is not a string."""

    code = "invalid_query"

    def __init__(self) -> None:
        super().__init__("{noun} must be a string")


class EmptyQuery(BadRequest):
    """The question holds nothing but white space."""

    code = "empty_query"

    def __init__(self) -> None:
        super().__init__("{noun} cannot be empty")


class QueryTooLong(BadRequest):
    """The question has more characters than the profile admits."""

    code = "query_too_long"

    def __init__(self, limit: int) -> None:
        super().__init__(f"{{noun}} exceeds maximum length of {limit} characters")


class UnsafeQuery(BadRequest):
    """The question holds a script pattern or characters that cannot be shown."""

    code = "unsafe_query"


class InvalidParameter(BadRequest):
    """A parameter of the request is wrong; the message names it and what is accepted."""

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


class UnsupportedParameter(BadRequest):
    """A parameter asks for a result of another form than this service gives."""

    code = "unsupported_parameter"

    def __init__(self, param: str) -> None:
        super().__init__(f"{param} is not supported with this value: the answer is one text, and nothing is kept of it")
        self.param = param


class UnknownResponse(BadRequest):
    """No response with that id is known, or not any more."""

    code = "unknown_response"

    def __init__(self) -> None:
        super().__init__("responseId names no response of the last 30 days")


class TooManyVotes(BadRequest):
    """One session has sent as many votes within an hour as are taken. ``retry_after`` is in whole seconds."""

    code = "too_many_votes"

    def __init__(self, limit: int, *, retry_after: float) -> None:
        self.retry_after = max(1, math.ceil(retry_after))
        votes, minutes = _several(limit, "vote"), _several(math.ceil(self.retry_after / 60), "minute")
        super().__init__(f"No more than {votes} within an hour are taken from one session; try again in {minutes}")


class UnknownChunk(BadRequest):
    """The index has no chunk of that id."""

    code = "unknown_chunk"

    def __init__(self) -> None:
        super().__init__("The index has no such chunk; ids look like id_42")


class ClientGone(RagError):
    """Nobody listens to the stream any more."""


class LlmError(RagError):
    """The model gave no answer."""


class LlmFailed(LlmError):
    """One call was refused, or its answer cannot be read.

    A chat model asks the next model then, and is unavailable where no one is left.
    """


class RequestRefused(LlmFailed):
    """The server answered that the request is wrong."""


class ParameterRefused(RequestRefused):
    """The model does not take ``parameter``, an optional one of the request, or not with its value."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter


class ContextTooLong(RequestRefused):
    """The request holds more tokens than the model's context window."""


class LlmUnavailable(LlmError):
    """No model gives a completion now. ``retry_after`` is in seconds, None when nobody said."""

    code = "llm_unavailable"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class LlmTooSlow(LlmUnavailable):
    """No text came in the time that there was."""


class LlmDenied(LlmUnavailable):
    """It will not be reached before the operator acts: the key, the account, the address or every model is refused."""


class EmbeddingFailed(LlmFailed):
    """The embedding model refused the request, or its vectors cannot be used."""


class EmbeddingUnavailable(LlmUnavailable):
    """The embedding model cannot be reached now."""

    code = "embedder_unavailable"


class StoreUnavailable(RagError):
    """The answer cache, the memory or the feedback store cannot be read or written now."""

    code = "store_unavailable"


class StoreOutOfReach(StoreUnavailable):
    """It cannot be reached, or is asked for too much: whoever can do without it leaves it alone for a while."""


class ConfigurationError(RagError):
    """A setting is missing or wrong; the message names the variable and what is accepted."""

    code = "configuration_error"


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
