package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
)

const flushTimeout = 5 * time.Second

// exportSpans exports by the standard variables; without them there is nothing to do. The result sends what waits.
func exportSpans(ctx context.Context) (flush func(), err error) {
	if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" {
		return func() {}, nil
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, err
	}
	name := resource.NewSchemaless(semconv.ServiceName("example-go"))
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(name))
	otel.SetTracerProvider(provider)
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			slog.Error("spans were lost", "error", err)
		}
	}, nil
}
