// Package worker is a worker's stream in Go, on gRPC and protobuf alone. docs/workers.md tells why each part is there.
package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"time"

	spindlev1 "example.com/spindle/gen/spindle/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
)

const (
	drainTimeout = 30 * time.Second
	firstBackoff = 250 * time.Millisecond
	lastBackoff  = 15 * time.Second
)

var (
	// ErrReplaced says that another stream of this process took its place, which only a copy of the process can.
	ErrReplaced = errors.New("another stream of this process took its place")
	// ErrDrainTimeout says that handlers were still running when the time for a drain was over.
	ErrDrainTimeout = errors.New("the drain took too long")

	errSilent   = errors.New("the stream was silent for too long")
	errSentAway = errors.New("the engine asked the worker to reconnect")
)

// Options say what a worker is.
type Options struct {
	Address string
	Name    string
	Tools   []Tool
	// MaxInFlight is how many dispatches run at once.
	MaxInFlight uint32
}

// A worker is one process as the engine knows it, across its streams.
type worker struct {
	options    Options
	tools      map[string]Tool
	instanceID string
	// handlers is done when nobody will take answers any more; a drain leaves it alone.
	handlers context.Context

	mu           sync.Mutex // guards what follows, and the current stream's fields
	leases       map[string]*lease
	stream       *stream // nil between two streams
	resumeToken  string
	streamNumber uint32
	heartbeats   uint32
	backoff      time.Duration
	draining     bool
}

// A lease is a dispatch that this process holds: it runs, or its answer is not acknowledged yet.
type lease struct {
	stop   context.CancelFunc
	answer *spindlev1.WorkerFrame
}

// Serve serves until ctx is done, then drains: what is held is finished, within 30 s (5.9). It returns nil when it
// has drained, and an error where that takes too long, or where reconnecting cannot help.
func Serve(ctx context.Context, options Options) error {
	conn, err := grpc.NewClient(options.Address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		// A peer that is gone without a word is noticed by pings.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 8 * time.Second}),
		// The waits between streams are ours; the channel's own would be added to them, up to two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: firstBackoff, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 20 * time.Second,
		}),
		// Welcome.max_message_bytes bounds what is sent; this is what the hello says that we read.
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(defaultMessageBytes)),
	)
	if err != nil {
		return err
	}
	defer conn.Close()

	handlers, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	w := &worker{
		options:    options,
		tools:      map[string]Tool{},
		instanceID: rand.Text(),
		handlers:   handlers,
		leases:     map[string]*lease{},
		backoff:    firstBackoff,
	}
	for _, tool := range options.Tools {
		w.tools[tool.Definition.GetName()] = tool
	}
	unwatch := context.AfterFunc(ctx, func() {
		w.drain()
		time.AfterFunc(drainTimeout, func() { giveUp(ErrDrainTimeout) })
	})
	defer unwatch()
	return w.serve(ctx, spindlev1.NewWorkerServiceClient(conn))
}

// serve opens one stream after the other.
func (w *worker) serve(draining context.Context, client spindlev1.WorkerServiceClient) error {
	for {
		err := w.serveStream(client)
		switch {
		case w.drained():
			return nil
		case w.handlers.Err() != nil:
			return context.Cause(w.handlers)
		case errors.Is(err, errSentAway):
			continue
		case final(err):
			return fmt.Errorf("the engine does not take this worker: %w", err)
		}
		slog.Warn("the stream ended", "cause", err)
		w.pause(draining, w.nextBackoff())
	}
}

// final says whether trying again cannot help (5.3).
func final(err error) bool {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied, codes.InvalidArgument, codes.Unimplemented:
		return true
	default:
		return errors.Is(err, ErrReplaced)
	}
}

// serveStream serves one stream from its hello to its end. Nothing reads it after that, and what it carried goes
// on (5.5).
func (w *worker) serveStream(client spindlev1.WorkerServiceClient) error {
	ctx, leave := context.WithCancelCause(w.handlers)
	defer leave(nil)
	rpc, err := client.Connect(ctx)
	if err != nil {
		return err
	}
	s := w.open(rpc, leave)
	var others sync.WaitGroup
	others.Go(func() { s.write(ctx) })
	others.Go(func() { s.beat(ctx) })

	err = s.read()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	w.mu.Lock()
	w.stream = nil
	w.mu.Unlock()
	leave(err)
	others.Wait()
	if errors.Is(err, io.EOF) {
		return errors.New("the engine ended it")
	}
	return err
}

// drain asks for no more work.
func (w *worker) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
	w.send(drainFrame())
}

func (w *worker) drained() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.draining && len(w.leases) == 0
}

// send puts a frame on the stream, if it is welcome there. Answers follow a later welcome; the rest is of no use then.
func (w *worker) send(frame *spindlev1.WorkerFrame) {
	if w.stream != nil && w.stream.welcome {
		w.stream.outbox.put(frame)
	}
}

// nextBackoff has full jitter, so that workers do not come back all at once.
func (w *worker) nextBackoff() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	pause := mathrand.N(w.backoff)
	w.backoff = min(w.backoff*2, lastBackoff)
	return pause
}

// pause waits, but not when it is asked to drain: with nothing held it is done.
func (w *worker) pause(draining context.Context, pause time.Duration) {
	interrupt := draining.Done()
	if draining.Err() != nil {
		interrupt = nil
	}
	select {
	case <-time.After(pause):
	case <-interrupt:
	case <-w.handlers.Done():
	}
}
