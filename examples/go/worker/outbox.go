package worker

import (
	"fmt"
	"strings"

	spindlev1 "example.com/spindle/gen/spindle/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	maxBatchFrames      = 128
	maxBatchBytes       = 256 << 10
	defaultMessageBytes = 4 << 20
	// overheadBytes is room for what stands around a frame in its message.
	overheadBytes = 64
)

// An outbox holds the frames that wait for the next write of a stream, in order. Its owner locks it.
type outbox struct {
	frames  []*spindlev1.WorkerFrame
	reports map[string]*spindlev1.WorkerFrame
	// maxMessageBytes is what the engine reads.
	maxMessageBytes int
	// ready holds a token while there may be something to do.
	ready  chan struct{}
	closed bool
}

func newOutbox() *outbox {
	return &outbox{
		reports:         map[string]*spindlev1.WorkerFrame{},
		maxMessageBytes: defaultMessageBytes,
		ready:           make(chan struct{}, 1),
	}
}

func (o *outbox) put(frame *spindlev1.WorkerFrame) {
	o.frames = append(o.frames, o.fitting(frame))
	o.wake()
}

// report merges reports of one call while they wait, so that a slow reader makes no queue grow (4.4).
func (o *outbox) report(progress *spindlev1.Progress) {
	frame := &spindlev1.WorkerFrame{Kind: &spindlev1.WorkerFrame_Progress{Progress: progress}}
	if proto.Size(frame)+overheadBytes > o.maxMessageBytes {
		return
	}
	if waiting, ok := o.reports[progress.GetLeaseToken()]; ok {
		waiting.Kind = frame.GetKind()
		return
	}
	o.reports[progress.GetLeaseToken()] = frame
	o.put(frame)
}

// close says that nothing more will be put in.
func (o *outbox) close() {
	o.closed = true
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// take removes what goes in the next message: everything that waits, within the bounds of 5.2.
func (o *outbox) take() []*spindlev1.WorkerFrame {
	room := min(maxBatchBytes, o.maxMessageBytes)
	count := 0
	for _, frame := range o.frames[:min(len(o.frames), maxBatchFrames)] {
		room -= proto.Size(frame) + overheadBytes
		// One that is larger than a batch goes alone.
		if count > 0 && room < 0 {
			break
		}
		count++
	}
	taken := o.frames[:count]
	o.frames = o.frames[count:]
	for _, frame := range taken {
		delete(o.reports, frame.GetProgress().GetLeaseToken())
	}
	return taken
}

// fitting is the frame, or what takes the place of an answer that the engine could not read (3.4).
func (o *outbox) fitting(frame *spindlev1.WorkerFrame) *spindlev1.WorkerFrame {
	size := proto.Size(frame) + overheadBytes
	if frame.GetAnswer() == nil || size <= o.maxMessageBytes {
		return frame
	}
	message := fmt.Sprintf("The result has %d bytes, and the engine reads at most %d.", size, o.maxMessageBytes)
	return answerFrame(frame.GetAnswer().GetLeaseToken(), failed("result_too_large", message, false))
}

func answerFrame(leaseToken string, answer *spindlev1.Answer) *spindlev1.WorkerFrame {
	answer.LeaseToken = leaseToken
	toValidUTF8(answer.ProtoReflect())
	return &spindlev1.WorkerFrame{Kind: &spindlev1.WorkerFrame_Answer{Answer: answer}}
}

// toValidUTF8 replaces what is no UTF-8 in every string of a message. A Go string may hold any bytes, and one that
// is no text would fail the write, and with it the stream, again after each reconnect (5.2).
func toValidUTF8(message protoreflect.Message) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			// No answer has one.
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				toValidUTF8(value.List().Get(i).Message())
			}
		case field.IsList() && field.Kind() == protoreflect.StringKind:
			for i := range value.List().Len() {
				value.List().Set(i, validString(value.List().Get(i)))
			}
		case field.Message() != nil:
			toValidUTF8(value.Message())
		case field.Kind() == protoreflect.StringKind:
			message.Set(field, validString(value))
		}
		return true
	})
}

func validString(value protoreflect.Value) protoreflect.Value {
	return protoreflect.ValueOfString(strings.ToValidUTF8(value.String(), "\uFFFD"))
}
