package worker

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	spindlev1 "example.com/spindle/gen/spindle/v1"
)

// The context is in the message, never in the stream's metadata (8.2).
var propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// traced runs a handler within its span, `handle TOOL`, under that of its attempt (8.1): spans that the handler
// makes from its context are its children. Without an SDK in the process it costs next to nothing.
func traced(ctx context.Context, tool Tool, call *Call) *spindlev1.Answer {
	ctx = propagator.Extract(ctx, propagation.MapCarrier(call.Dispatch.GetTraceContext()))
	ctx, span := otel.Tracer("example-go").Start(ctx, "handle "+call.Execute.GetName(),
		trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(
			attribute.String("gen_ai.tool.name", call.Execute.GetName()),
			attribute.String("gen_ai.tool.call.id", call.Execute.GetCallId()),
		))
	defer span.End()
	answer := run(ctx, tool, call)
	if code := failureCode(answer); code != "" {
		// The text of the failure is content, which does not belong into a trace (8.5).
		span.SetStatus(codes.Error, "")
		span.SetAttributes(attribute.String("error.type", code))
	}
	return answer
}

// failureCode is empty where the call did not fail: a handler that was stopped has not (8.4).
func failureCode(answer *spindlev1.Answer) string {
	switch outcome := answer.GetOutcome().(type) {
	case *spindlev1.Answer_Error:
		return outcome.Error.GetCode()
	case *spindlev1.Answer_Accept:
		return "invalid_arguments"
	default:
		return ""
	}
}
