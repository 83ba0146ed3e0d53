package thread

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.uber.org/zap"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/pump"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/jsonscan"
)

// ackWait is the time that a turn's end waits for the peer to acknowledge its chunks. A peer that
// missed it once is not waited for again.
const ackWait = 5 * time.Second

// maxChunk limits the text of a message in one request, in bytes of JSON.
const maxChunk = 32 << 10

// feed connects a thread to the pump. All of it belongs to the pump's goroutine. Only turns that
// were prompted over the connection are streamed: the protocol has no form for another client's
// prompt.
type feed struct {
	thread *thread
	prefix string          // of the keys of this connection's prompts
	gone   <-chan struct{} // closed when the connection ends

	turn core.TurnID // the running one of ours
	open int         // chunks that were not acknowledged
	deaf bool        // the peer does not acknowledge
	ends []func()    // answers that wait for acknowledgements
}

var _ pump.Feed = (*feed)(nil)

// Encode implements pump.Feed. It writes nothing itself: our messages are requests, which follow
// everything encoded before. The protocol has texts, and files that were read; the files are
// entries.
func (f *feed) Encode(dst []byte, r core.Record) ([]byte, func()) {
	switch e := any(r.Event).(type) {
	case core.TurnStarted:
		if f.turn = ""; strings.HasPrefix(e.Key, f.prefix) {
			f.turn = e.Turn
		}
		return dst, f.thread.prompts.After(e)
	case core.PromptQueued:
		return dst, f.thread.prompts.After(e)
	case core.TextDelta:
		if f.turn != "" {
			return dst, func() { f.stream(e.Text) }
		}
	case core.Notice:
		if f.turn != "" {
			return dst, func() { f.stream("\n[" + e.Text + "]\n") }
		}
	case core.TurnEnded:
		if e.Turn == f.turn {
			f.turn = ""
		}
		return dst, f.thread.prompts.After(e)
	}
	return dst, nil
}

// Caught implements pump.Feed.
func (f *feed) Caught(core.Pos) {}

// Past implements pump.Feed: a thread's messages come with its answer.
func (f *feed) Past() bool { return false }

// Lost implements pump.Feed.
func (f *feed) Lost(err error) {
	t := f.thread
	t.srv.log.Error("session can no longer be read", zap.String("session", string(t.id)), zap.Error(err))
	t.prompts.Abandon(
		core.TurnEnded{
			Stop: core.StopError,
			Err:  "the connection to this thread was lost: " + err.Error(),
		},
	)
}

// stream sends text of the agent.
func (f *feed) stream(text string) {
	t := f.thread
	for text != "" {
		n := jsonscan.Fit(text, maxChunk)
		chunk := acp.StreamMessageChunk{
			ThreadID: string(t.id),
			Chunk:    acp.MessageChunk{Type: "text", Chunk: text[:n]},
		}
		text = text[n:]
		_, err := t.srv.conn.Start(
			"streamMessageChunk",
			chunk,
			func(json.RawMessage, error) { t.srv.pump.Do(f.acknowledged) },
		)
		if err != nil {
			return // the connection has ended
		}
		f.open++
	}
}

// acknowledged records that the peer has acknowledged a chunk, by a result or an error.
func (f *feed) acknowledged() {
	if f.open--; f.open == 0 {
		f.answer()
	}
}

func (f *feed) answer() {
	ends := f.ends
	f.ends = nil
	for _, end := range ends {
		end()
	}
}

// ended answers a message when the peer has taken all chunks or its time is over.
func (f *feed) ended(call *wire.Call, e core.TurnEnded) {
	answer := func() {
		switch e.Stop {
		case core.StopError, core.StopInterrupted:
			call.Reply(nil, wireError(errors.New(e.Err)))
		case core.StopEnd, core.StopTokens, core.StopRequests, core.StopLimit, core.StopRefusal, core.StopCanceled:
			call.Reply(nil, nil)
		}
	}
	if f.open == 0 || f.deaf {
		answer()
		return
	}
	done := make(chan struct{})
	f.ends = append(f.ends, func() {
		close(done)
		answer()
	})
	f.thread.srv.wg.Go(func() {
		timer := time.NewTimer(ackWait)
		defer timer.Stop()
		select {
		case <-done:
		case <-f.gone:
		case <-timer.C:
			f.thread.srv.pump.Do(func() {
				f.deaf = true
				f.answer()
			})
		}
	})
}
