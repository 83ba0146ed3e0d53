package wire

import (
	"context"
	"fmt"
	"time"

	"github.com/creachadair/jrpc2"
)

// Limits used where [Options] says nothing.
const (
	DefaultMaxOpen       = 4096
	DefaultMaxReplies    = 1000
	DefaultMaxReplyBytes = 4 << 20
	DefaultMaxBatch      = 100
)

// CodeBusy is the code of an answer to a request that was refused because too many are open.
const CodeBusy jrpc2.Code = -32000

// ErrCanceled is the cause of a call's context when the peer took the call back
// ([Conn.CancelRequest]). As an answer it has the code jrpc2.Cancelled.
var ErrCanceled = fmt.Errorf("taken back by the caller: %w", context.Canceled)

// Options are a connection's circumstances. The zero value is newline framing with the
// default limits.
type Options struct {
	Framing    Framing
	MaxMessage int // bytes of one message; 0: MaxMessage

	MaxOpen       int // requests of the peer's not answered yet; one more is refused; 0: DefaultMaxOpen
	MaxReplies    int // answers not written yet; with more the reading waits; 0: DefaultMaxReplies
	MaxReplyBytes int // bytes of answers not written yet; with more the reading waits; 0: DefaultMaxReplyBytes
	MaxBatch      int // messages in one batch; 0: DefaultMaxBatch; negative: batches are refused

	// NullIDs means that a method with "id":null is a request, which is answered with that id. Without it
	// such a message is a notification.
	NullIDs bool

	Bare     bool          // omit "jsonrpc" from what is sent; see also Conn.SetBare
	Withdraw Withdrawal    // how a request of ours is cancelled; the zero value: the peer is not notified
	Linger   time.Duration // how long the rest of the output may take at the end; 0: DefaultLinger
	Drain    time.Duration // how long open calls may still be answered when the peer has sent its last; 0: not at all

	// Panicked is called after a handler's panic: with the method, the value and the
	// stack. The peer sees none of it.
	Panicked func(method string, value any, stack []byte)
	// Recorder takes down both directions; nil: none.
	Recorder *Recorder
}

// Withdrawal is the notification that takes a request back: its method, and the member
// of its parameters that holds the request's id, such as {"$/cancel_request",
// "requestId"}.
type Withdrawal struct{ Method, Member string }

// Stats counts the messages that a connection has dropped or refused.
type Stats struct {
	Broken  uint64 // frames and messages answered with -32700 or -32600
	Refused uint64 // requests answered with CodeBusy
	Late    uint64 // answers to requests that were withdrawn or answered before
	Stray   uint64 // answers to requests that were never made
	Panics  uint64 // handlers that panicked
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}
