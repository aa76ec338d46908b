package worker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	spindlev1 "example.com/spindle/gen/spindle/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
)

// What holds until a welcome says otherwise (5.3).
const (
	defaultHeartbeat = 10 * time.Second
	defaultSilence   = 30 * time.Second
)

// A stream is what is known of one Connect, from its hello to its end.
type stream struct {
	*worker
	rpc   grpc.BidiStreamingClient[spindlev1.ConnectRequest, spindlev1.ConnectResponse]
	leave context.CancelCauseFunc

	outbox  *outbox
	welcome bool
	// welcomed is closed by the welcome.
	welcomed        chan struct{}
	heartbeat       time.Duration
	silence         time.Duration
	heard           time.Time
	receivedThrough uint32
	// noMore says that nothing is dispatched on it: the hello or the engine said so.
	noMore bool
}

func (w *worker) open(
	rpc grpc.BidiStreamingClient[spindlev1.ConnectRequest, spindlev1.ConnectResponse],
	leave context.CancelCauseFunc,
) *stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streamNumber++
	hello := &spindlev1.Hello{
		InstanceId:   w.instanceID,
		ResumeToken:  w.resumeToken,
		StreamNumber: w.streamNumber,
		WorkerName:   w.options.Name,
		Sdk:          "example-go",
		MaxInFlight:  &w.options.MaxInFlight,
		Draining:     w.draining,
	}
	for _, tool := range w.options.Tools {
		hello.Tools = append(hello.Tools, &spindlev1.ToolOffer{Tool: tool.Definition})
	}
	for token, held := range w.leases {
		hello.Held = append(hello.Held, &spindlev1.HeldLease{LeaseToken: token, Answered: held.answer != nil})
	}
	w.stream = &stream{
		worker:    w,
		rpc:       rpc,
		leave:     leave,
		outbox:    newOutbox(),
		welcomed:  make(chan struct{}),
		heartbeat: defaultHeartbeat,
		silence:   defaultSilence,
		heard:     time.Now(),
		noMore:    w.draining,
	}
	w.stream.outbox.put(&spindlev1.WorkerFrame{Kind: &spindlev1.WorkerFrame_Hello{Hello: hello}})
	return w.stream
}

// read takes what comes, until the stream ends. It holds the lock for a whole message, so what the message leads to
// goes in one message too.
func (s *stream) read() error {
	for {
		response, err := s.rpc.Recv()
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.heard = time.Now()
		for _, frame := range response.GetFrames() {
			s.receive(frame)
		}
		s.mu.Unlock()
	}
}

// write is the only one that sends: a stream bears one sender and one receiver at a time.
func (s *stream) write(ctx context.Context) {
	for {
		s.mu.Lock()
		frames, closed := s.outbox.take(), s.outbox.closed
		s.mu.Unlock()
		switch {
		case len(frames) > 0:
			if err := s.rpc.Send(&spindlev1.ConnectRequest{Frames: frames}); err != nil {
				// EOF says that the stream is over, and its reader has the status. Else the message is at fault.
				if !errors.Is(err, io.EOF) {
					s.leave(err)
				}
				return
			}
		case closed:
			if err := s.rpc.CloseSend(); err != nil {
				s.leave(err)
			}
			return
		default:
			select {
			case <-s.outbox.ready:
			case <-ctx.Done():
				return
			}
		}
	}
}

// beat sends heartbeats, and leaves a stream on which nothing was heard for too long.
func (s *stream) beat(ctx context.Context) {
	select {
	case <-s.welcomed:
	case <-time.After(defaultSilence):
		s.leave(errSilent)
		return
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	heartbeats := time.NewTicker(s.heartbeat)
	s.mu.Unlock()
	defer heartbeats.Stop()
	for {
		select {
		case <-heartbeats.C:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		silent := time.Since(s.heard) > s.silence
		s.sendHeartbeat()
		s.mu.Unlock()
		if silent {
			s.leave(errSilent)
			return
		}
	}
}

func (s *stream) sendHeartbeat() {
	s.heartbeats++
	beat := &spindlev1.Heartbeat{Sequence: s.heartbeats, ReceivedThrough: s.receivedThrough}
	for token := range s.leases {
		beat.Held = append(beat.Held, token)
	}
	s.send(&spindlev1.WorkerFrame{Kind: &spindlev1.WorkerFrame_Heartbeat{Heartbeat: beat}})
}

func (s *stream) receive(frame *spindlev1.EngineFrame) {
	switch kind := frame.GetKind().(type) {
	case *spindlev1.EngineFrame_Welcome:
		s.greeted(kind.Welcome)
	case *spindlev1.EngineFrame_Dispatch:
		s.receivedThrough = kind.Dispatch.GetSequence()
		s.start(kind.Dispatch)
	case *spindlev1.EngineFrame_Cancel:
		s.stop(kind.Cancel.GetLeaseToken())
	case *spindlev1.EngineFrame_HeartbeatReply:
		s.stop(kind.HeartbeatReply.GetAbandon()...)
	case *spindlev1.EngineFrame_Acknowledge:
		// Whatever the verdict: the duty to resend has ended (5.7).
		delete(s.leases, kind.Acknowledge.GetLeaseToken())
		s.closeIfDrained()
	case *spindlev1.EngineFrame_DrainReply:
		s.noMore = true
		s.closeIfDrained()
	case *spindlev1.EngineFrame_GoAway:
		s.goAway(kind.GoAway)
	default:
		// Newer engines may say more (5.12).
	}
}

func (s *stream) greeted(welcome *spindlev1.Welcome) {
	if s.welcome {
		return
	}
	s.welcome = true
	s.resumeToken = welcome.GetResumeToken()
	s.backoff = firstBackoff
	s.heartbeat = durationOr(welcome.GetHeartbeatInterval(), defaultHeartbeat)
	s.silence = durationOr(welcome.GetSilenceTimeout(), defaultSilence)
	if limit := int(welcome.GetMaxMessageBytes()); limit > 0 {
		s.outbox.maxMessageBytes = limit
	}
	for _, refused := range welcome.GetRefusedTools() {
		slog.Warn("the engine refused a tool", "tool", refused.GetName(), "reason", refused.GetReason())
	}
	close(s.welcomed)
	// At once and first: nothing is dispatched before it (5.1).
	s.sendHeartbeat()
	s.stop(welcome.GetAbandon()...)
	for _, held := range s.leases {
		if held.answer != nil {
			s.send(held.answer)
		}
	}
	if s.draining && !s.noMore {
		s.send(drainFrame())
	}
	s.closeIfDrained()
}

// start starts what it reads, at once: the engine keeps to max_in_flight (5.4), so nothing waits here.
func (s *stream) start(dispatch *spindlev1.Dispatch) {
	token := dispatch.GetLeaseToken()
	if _, ok := s.leases[token]; ok {
		return
	}
	execute := dispatch.GetTrigger().GetToolExecute()
	tool, ok := s.tools[execute.GetName()]
	if execute == nil || !ok {
		reject := &spindlev1.Reject{LeaseToken: token, Reason: "this worker does not serve it: " + execute.GetName()}
		s.send(&spindlev1.WorkerFrame{Kind: &spindlev1.WorkerFrame_Reject{Reject: reject}})
		return
	}
	ctx, cancel := context.WithCancel(s.handlers)
	held := &lease{stop: cancel}
	s.leases[token] = held
	call := &Call{Dispatch: dispatch, Execute: execute, Progress: s.reporter(token)}
	go func() {
		defer cancel()
		answer := answerFrame(token, traced(ctx, tool, call))
		s.mu.Lock()
		defer s.mu.Unlock()
		// Kept until it is acknowledged, and sent again after a reconnect (5.7).
		held.answer = answer
		s.send(answer)
	}()
}

// reporter reports on a lease, on whatever stream there is by then.
func (w *worker) reporter(token string) func(completed, total float64, activity string) {
	return func(completed, total float64, activity string) {
		activity = strings.ToValidUTF8(activity, "\uFFFD")
		progress := &spindlev1.Progress{LeaseToken: token, Completed: &completed, Total: &total, Activity: activity}
		w.mu.Lock()
		defer w.mu.Unlock()
		held, ok := w.leases[token]
		if ok && held.answer == nil && w.stream != nil && w.stream.welcome {
			w.stream.outbox.report(progress)
		}
	}
}

// stop ends the contexts of handlers. Each still answers, once it has really stopped.
func (w *worker) stop(tokens ...string) {
	for _, token := range tokens {
		if held, ok := w.leases[token]; ok {
			held.stop()
		}
	}
}

func (s *stream) goAway(goAway *spindlev1.GoAway) {
	if goAway.GetReason() == spindlev1.GoAwayReason_GO_AWAY_REASON_REPLACED {
		s.leave(ErrReplaced)
		return
	}
	pause := durationOr(goAway.GetReconnectAfter(), rand.N(firstBackoff))
	time.AfterFunc(pause, func() { s.leave(errSentAway) })
}

// closeIfDrained ends our side of the stream once nothing is held and nothing will come.
func (s *stream) closeIfDrained() {
	if s.welcome && s.noMore && len(s.leases) == 0 {
		s.outbox.close()
	}
}

func drainFrame() *spindlev1.WorkerFrame {
	drain := &spindlev1.Drain{Reason: "the process was asked to end"}
	return &spindlev1.WorkerFrame{Kind: &spindlev1.WorkerFrame_Drain{Drain: drain}}
}

func durationOr(duration *durationpb.Duration, fallback time.Duration) time.Duration {
	if duration.AsDuration() <= 0 {
		return fallback
	}
	return duration.AsDuration()
}
