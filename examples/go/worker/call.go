package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	spindlev1 "example.com/spindle/gen/spindle/v1"
)

// A Tool is a definition and what runs it.
type Tool struct {
	Definition *spindlev1.Tool
	Run        Handler
}

// A Handler runs one call. It returns an answer without its lease, or an error to fail: a *ToolError where it
// foresaw the failure. The answer belongs to the worker from then on. Its context is done when the engine wants it to stop; it then returns ctx.Err(), once it
// has really stopped.
type Handler func(ctx context.Context, call *Call) (*spindlev1.Answer, error)

// A Call is one call of a tool, as its handler sees it.
type Call struct {
	Dispatch *spindlev1.Dispatch
	Execute  *spindlev1.ToolExecute
	// Progress reports what is completed, of what total, and a short label of what is going on. May be lost.
	Progress func(completed, total float64, activity string)
}

// ValueJSON is the value of the arguments: the caller's own text, unless a repair says otherwise (1.1).
func (c *Call) ValueJSON() string {
	if valid := c.Execute.GetInput().GetValid(); valid != nil && valid.RepairedJson != nil {
		return valid.GetRepairedJson()
	}
	return c.Execute.GetArguments()
}

// A ToolError is a failure that the tool's author foresaw. The model reads the message.
type ToolError struct {
	Code      string
	Message   string
	Retryable bool
}

func (e *ToolError) Error() string { return e.Message }

// run runs a handler to its end. Whatever happens in it, the call gets an answer.
func run(ctx context.Context, tool Tool, call *Call) *spindlev1.Answer {
	// Arguments that do not match: the engine proposes what the model should read (1.2).
	if call.Execute.GetInput().GetValid() == nil {
		return &spindlev1.Answer{Outcome: &spindlev1.Answer_Accept{Accept: &spindlev1.AcceptProposal{}}}
	}
	answer, err := recovered(ctx, tool, call)
	var foreseen *ToolError
	switch {
	case err == nil && answer != nil:
		return answer
	case err == nil:
		return failed("tool_error", "the handler returned neither an answer nor an error", false)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &spindlev1.Answer{Outcome: &spindlev1.Answer_Cancelled{Cancelled: &spindlev1.Cancelled{}}}
	case errors.As(err, &foreseen):
		return failed(foreseen.Code, foreseen.Message, foreseen.Retryable)
	default:
		return failed("tool_error", err.Error(), false)
	}
}

// recovered keeps a panic in a handler from ending the process, and with it every other call.
func recovered(ctx context.Context, tool Tool, call *Call) (answer *spindlev1.Answer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			slog.Error("a handler panicked", "tool", tool.Definition.GetName(), "cause", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("the handler panicked: %v", cause)
		}
	}()
	return tool.Run(ctx, call)
}

// Text is an answer of one block of text.
func Text(text string) *spindlev1.Answer {
	block := &spindlev1.Content{Kind: &spindlev1.Content_Text{Text: &spindlev1.TextContent{Text: text}}}
	return Result(block)
}

// Result is an answer of these blocks.
func Result(blocks ...*spindlev1.Content) *spindlev1.Answer {
	result := &spindlev1.ToolResult{Content: blocks}
	return &spindlev1.Answer{Outcome: &spindlev1.Answer_Result{Result: result}}
}

// JSON is an answer of one JSON value, as it is written.
func JSON(text string) *spindlev1.Answer {
	return &spindlev1.Answer{Outcome: &spindlev1.Answer_ValueJson{ValueJson: text}}
}

func failed(code, message string, retryable bool) *spindlev1.Answer {
	failure := &spindlev1.Failure{Code: code, Message: message, Retryable: retryable}
	return &spindlev1.Answer{Outcome: &spindlev1.Answer_Error{Error: failure}}
}
