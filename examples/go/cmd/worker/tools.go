package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strings"
	"time"

	spindlev1 "example.com/spindle/gen/spindle/v1"
	"example.com/spindle/worker"
	"google.golang.org/protobuf/types/known/durationpb"
)

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=="

var standardTools = []worker.Tool{
	tool("echo", echo, `{"type":"object"}`),
	readOnly(tool("add", typed(add), `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
		"required":["a","b"],"additionalProperties":false}`)),
	tool("fail", typed(fail), `{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"},
		"retryable":{"type":"boolean"}},"required":["message"]}`),
	retried(tool("flaky", typed(flaky), `{"type":"object","properties":{"failures":{"type":"integer"}},
		"required":["failures"]}`)),
	tool("slow", typed(slow), `{"type":"object","properties":{"ms":{"type":"integer"}},"required":["ms"]}`),
	tool("progress", typed(progress), `{"type":"object","properties":{"steps":{"type":"integer"}},"required":["steps"]}`),
	tool("defer", typed(deferred), `{"type":"object","properties":{"timeout_ms":{"type":"integer"}}}`),
	tool("image", image, `{"type":"object"}`),
	tool("big", typed(large), `{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}`),
	tool("crash", typed(crash), `{"type":"object","properties":{"how":{"enum":["throw","exit"]}},"required":["how"]}`),
	tool("context", told, `{"type":"object"}`),
}

// typed reads the value of the arguments into a struct.
func typed[T any](run func(context.Context, *worker.Call, T) (*spindlev1.Answer, error)) worker.Handler {
	return func(ctx context.Context, call *worker.Call) (*spindlev1.Answer, error) {
		var arguments T
		if err := json.Unmarshal([]byte(call.ValueJSON()), &arguments); err != nil {
			return nil, &worker.ToolError{Code: "invalid_arguments", Message: err.Error()}
		}
		return run(ctx, call, arguments)
	}
}

func echo(_ context.Context, call *worker.Call) (*spindlev1.Answer, error) {
	// The text goes back as it came: reading it would change numbers and spelling.
	return worker.JSON(call.ValueJSON()), nil
}

func add(_ context.Context, _ *worker.Call, arguments struct{ A, B *big.Int }) (*spindlev1.Answer, error) {
	return worker.JSON(new(big.Int).Add(arguments.A, arguments.B).String()), nil
}

type failArguments struct {
	Code, Message string
	Retryable     bool
}

func fail(_ context.Context, _ *worker.Call, arguments failArguments) (*spindlev1.Answer, error) {
	code := arguments.Code
	if code == "" {
		code = "tool_error"
	}
	return nil, &worker.ToolError{Code: code, Message: arguments.Message, Retryable: arguments.Retryable}
}

func flaky(_ context.Context, call *worker.Call, arguments struct{ Failures uint32 }) (*spindlev1.Answer, error) {
	attempt := call.Execute.GetAttempt()
	if attempt <= arguments.Failures {
		return nil, &worker.ToolError{Code: "flaky", Message: fmt.Sprintf("attempt %d fails", attempt), Retryable: true}
	}
	return worker.Text(fmt.Sprintf("attempt %d", attempt)), nil
}

func slow(ctx context.Context, _ *worker.Call, arguments struct{ MS int64 }) (*spindlev1.Answer, error) {
	if err := sleep(ctx, time.Duration(arguments.MS)*time.Millisecond); err != nil {
		return nil, err
	}
	return worker.Text(fmt.Sprintf("slept %d", arguments.MS)), nil
}

func progress(ctx context.Context, call *worker.Call, arguments struct{ Steps int }) (*spindlev1.Answer, error) {
	for step := 1; step <= arguments.Steps; step++ {
		call.Progress(float64(step), float64(arguments.Steps), fmt.Sprintf("step %d", step))
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return worker.Text("done"), nil
}

type deferArguments struct {
	TimeoutMS *int64 `json:"timeout_ms"`
}

func deferred(_ context.Context, _ *worker.Call, arguments deferArguments) (*spindlev1.Answer, error) {
	action := &spindlev1.ToolDeferAction{}
	if arguments.TimeoutMS != nil {
		action.Timeout = durationpb.New(time.Duration(*arguments.TimeoutMS) * time.Millisecond)
	}
	return &spindlev1.Answer{Outcome: &spindlev1.Answer_ToolDefer{ToolDefer: action}}, nil
}

func image(context.Context, *worker.Call) (*spindlev1.Answer, error) {
	data, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		return nil, err
	}
	media := &spindlev1.MediaContent{Data: data, MimeType: "image/png"}
	return worker.Result(&spindlev1.Content{Kind: &spindlev1.Content_Image{Image: media}}), nil
}

func large(_ context.Context, _ *worker.Call, arguments struct{ Bytes int }) (*spindlev1.Answer, error) {
	return worker.Text(strings.Repeat("x", arguments.Bytes)), nil
}

func crash(_ context.Context, _ *worker.Call, arguments struct{ How string }) (*spindlev1.Answer, error) {
	if arguments.How == "exit" {
		os.Exit(70)
	}
	panic("a bug in the handler")
}

func told(_ context.Context, call *worker.Call) (*spindlev1.Answer, error) {
	text, err := json.Marshal(map[string]any{
		"call_id":     call.Execute.GetCallId(),
		"attempt":     call.Execute.GetAttempt(),
		"traceparent": call.Dispatch.GetTraceContext()["traceparent"],
	})
	return worker.JSON(string(text)), err
}

// sleep ends early when the context does.
func sleep(ctx context.Context, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func tool(name string, run worker.Handler, inputSchema string) worker.Tool {
	definition := &spindlev1.Tool{
		Name:            name,
		Description:     fmt.Sprintf("The standard tool %s of the conformance suite.", name),
		InputSchemaJson: inputSchema,
	}
	return worker.Tool{Definition: definition, Run: run}
}

// readOnly says that a call of the tool changes nothing, and that it answers an integer.
func readOnly(tool worker.Tool) worker.Tool {
	yes := true
	tool.Definition.OutputSchemaJson = `{"type":"integer"}`
	tool.Definition.Annotations = &spindlev1.ToolAnnotations{ReadOnly: &yes}
	return tool
}

func retried(tool worker.Tool) worker.Tool {
	attempts := uint32(5)
	backoff := durationpb.New(10 * time.Millisecond)
	tool.Definition.Retry = &spindlev1.RetryPolicy{MaxAttempts: &attempts, InitialBackoff: backoff}
	return tool
}
