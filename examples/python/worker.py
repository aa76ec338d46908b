"""The standard tools of docs/conformance.md, on the stream of worker_stream.py."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import signal
import sys

from google.protobuf.duration_pb2 import Duration

from call import Answer, Call, Handler, Tool, ToolError, text
from spindle.v1 import action_pb2, result_pb2, retry_pb2, tool_pb2
from tracing import export_spans
from worker_stream import Refused, Worker

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=="
)


async def echo(call: Call) -> Answer:
    # The text goes back as it came: reading it would change numbers and spelling.
    return Answer(value_json=call.value_json)


async def add(call: Call) -> Answer:
    arguments = json.loads(call.value_json)
    return Answer(value_json=json.dumps(arguments["a"] + arguments["b"]))


async def fail(call: Call) -> Answer:
    arguments = json.loads(call.value_json)
    raise ToolError(
        arguments["message"], arguments.get("code", "tool_error"), arguments.get("retryable", False)
    )


async def flaky(call: Call) -> Answer:
    attempt = call.execute.attempt
    if attempt <= json.loads(call.value_json)["failures"]:
        raise ToolError(f"attempt {attempt} fails", "flaky", retryable=True)
    return text(f"attempt {attempt}")


async def slow(call: Call) -> Answer:
    ms = json.loads(call.value_json)["ms"]
    await asyncio.sleep(ms / 1_000)
    return text(f"slept {ms}")


async def progress(call: Call) -> Answer:
    steps = json.loads(call.value_json)["steps"]
    for step in range(1, steps + 1):
        call.progress(step, steps, f"step {step}")
        await asyncio.sleep(0.005)
    return text("done")


async def defer(call: Call) -> Answer:
    action = action_pb2.ToolDeferAction()
    ms = json.loads(call.value_json).get("timeout_ms")
    if ms is not None:
        action.timeout.FromMilliseconds(ms)
    return Answer(tool_defer=action)


async def image(_: Call) -> Answer:
    block = result_pb2.Content(image=result_pb2.MediaContent(data=PIXEL, mime_type="image/png"))
    return Answer(result=result_pb2.ToolResult(content=[block]))


async def big(call: Call) -> Answer:
    return text("x" * json.loads(call.value_json)["bytes"])


async def crash(call: Call) -> Answer:
    if json.loads(call.value_json)["how"] == "exit":
        os._exit(70)
    raise TypeError("a bug in the handler")


async def context(call: Call) -> Answer:
    told = {
        "call_id": call.execute.call_id,
        "attempt": call.execute.attempt,
        "traceparent": call.dispatch.trace_context.get("traceparent", ""),
    }
    return Answer(value_json=json.dumps(told))


def tool(
    handler: Handler,
    input_schema: str,
    output_schema: str = "",
    annotations: tool_pb2.ToolAnnotations | None = None,
    retry: retry_pb2.RetryPolicy | None = None,
) -> Tool:
    definition = tool_pb2.Tool(
        name=handler.__name__,
        description=f"The standard tool {handler.__name__} of the conformance suite.",
        input_schema_json=input_schema,
        output_schema_json=output_schema,
        annotations=annotations,
        retry=retry,
    )
    return Tool(definition, handler)


TOOLS = (
    tool(echo, '{"type":"object"}'),
    tool(
        add,
        '{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},'
        '"required":["a","b"],"additionalProperties":false}',
        output_schema='{"type":"integer"}',
        annotations=tool_pb2.ToolAnnotations(read_only=True),
    ),
    tool(
        fail,
        '{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"},'
        '"retryable":{"type":"boolean"}},"required":["message"]}',
    ),
    tool(
        flaky,
        '{"type":"object","properties":{"failures":{"type":"integer"}},"required":["failures"]}',
        retry=retry_pb2.RetryPolicy(max_attempts=5, initial_backoff=Duration(nanos=10_000_000)),
    ),
    tool(slow, '{"type":"object","properties":{"ms":{"type":"integer"}},"required":["ms"]}'),
    tool(progress, '{"type":"object","properties":{"steps":{"type":"integer"}},"required":["steps"]}'),
    tool(defer, '{"type":"object","properties":{"timeout_ms":{"type":"integer"}}}'),
    tool(image, '{"type":"object"}'),
    tool(big, '{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}'),
    tool(crash, '{"type":"object","properties":{"how":{"enum":["throw","exit"]}},"required":["how"]}'),
    tool(context, '{"type":"object"}'),
)


async def main() -> None:
    export_spans()
    address = os.environ.get("SPINDLE_ADDRESS", "127.0.0.1:7433")
    worker = Worker(address, "example-python", TOOLS)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.drain)
    await worker.serve()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    try:
        asyncio.run(main())
    except Refused as refused:
        sys.exit(f"the engine does not take this worker: {refused}")
    except TimeoutError:
        sys.exit("the drain took too long")
