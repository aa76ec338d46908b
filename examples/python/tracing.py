"""Spans of handlers: `handle TOOL`, under the span of its attempt (docs/tracing.md)."""

from __future__ import annotations

import os

from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from call import Answer, Call, Tool, ToolError, handle

tracer = trace.get_tracer("example-python")


def export_spans() -> None:
    """Exports by the standard variables; without them the spans cost next to nothing and go nowhere."""
    if "OTEL_EXPORTER_OTLP_ENDPOINT" not in os.environ:
        return
    provider = TracerProvider(resource=Resource.create({"service.name": "example-python"}))
    # What waits at the end is sent when the process exits.
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


async def traced(tool: Tool, call: Call) -> Answer:
    """Runs a handler as the current span, so that spans which it makes are its children."""
    # The context is in the message, never in the stream's metadata (8.2).
    parent = propagate.extract(dict(call.dispatch.trace_context))
    attributes = {"gen_ai.tool.name": call.execute.name, "gen_ai.tool.call.id": call.execute.call_id}
    with tracer.start_as_current_span(
        f"handle {call.execute.name}",
        parent,
        trace.SpanKind.SERVER,
        attributes,
        # Its text is content, which does not belong into a trace (8.5).
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            answer = await handle(tool, call)
        except Exception as error:
            failed(span, error.code if isinstance(error, ToolError) else "tool_error")
            raise
        if answer.WhichOneof("outcome") == "accept":
            failed(span, "invalid_arguments")
        return answer


def failed(span: trace.Span, code: str) -> None:
    span.set_attribute("error.type", code)
    span.set_status(trace.StatusCode.ERROR)
