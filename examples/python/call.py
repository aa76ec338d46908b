"""One call of a tool, as its handler sees it: what came in, how to report, and how its end becomes an answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from spindle.v1 import result_pb2, tool_pb2, trigger_pb2, worker_service_pb2

Answer = worker_service_pb2.Answer
Handler = Callable[["Call"], Awaitable[Answer]]
"""Returns an answer without its lease; raises to fail; is cancelled when the engine wants it to stop."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tool:
    definition: tool_pb2.Tool
    handler: Handler


@dataclass(frozen=True)
class Call:
    dispatch: worker_service_pb2.Dispatch
    execute: trigger_pb2.ToolExecute
    progress: Callable[[float, float, str], None]
    """Reports what is completed, of what total, and a short label of what is going on. May be lost."""

    @property
    def value_json(self) -> str:
        """The value of the arguments: the caller's own text, unless a repair says otherwise (1.1)."""
        valid = self.execute.input.valid
        return valid.repaired_json if valid.HasField("repaired_json") else self.execute.arguments


class ToolError(Exception):
    """A failure that the tool's author foresaw. The model reads the message."""

    def __init__(self, message: str, code: str = "tool_error", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


async def handle(tool: Tool, call: Call) -> Answer:
    # Arguments that do not match: the engine proposes what the model should read (1.2).
    if call.execute.input.WhichOneof("status") != "valid":
        return Answer(accept=worker_service_pb2.AcceptProposal())
    answer = await tool.handler(call)
    if not isinstance(answer, Answer):
        raise TypeError(f"the handler returned {answer!r}, which is no answer")
    return answer


def answer_of(task: asyncio.Task[Answer], asked_to_stop: bool) -> Answer:
    """What the engine hears of a handler that has stopped, however it did."""
    if task.cancelled():
        if asked_to_stop:
            return Answer(cancelled=worker_service_pb2.Cancelled())
        return failed("the handler cancelled itself")
    match task.exception():
        case None:
            return task.result()
        case ToolError(code=code, retryable=retryable) as error:
            return failed(str(error), code, retryable)
        case error:
            log.error("%s broke", task.get_name(), exc_info=error)
            return failed(str(error) or type(error).__name__)


def text(value: str) -> Answer:
    block = result_pb2.Content(text=result_pb2.TextContent(text=utf8(value)))
    return Answer(result=result_pb2.ToolResult(content=[block]))


def failed(message: str, code: str = "tool_error", retryable: bool = False) -> Answer:
    failure = result_pb2.Failure(message=utf8(message), code=utf8(code), retryable=retryable)
    return Answer(error=failure)


def utf8(value: str) -> str:
    """Replaces lone surrogates, which file names and json.loads bring and protobuf refuses (5.2)."""
    return value.encode("utf-8", "replace").decode()
