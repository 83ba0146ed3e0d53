package coretest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/inference"
)

// ModelCase is a behaviour of a model's service, in any wire format.
type ModelCase string

// The behaviours of a model's service. By default it answers the first request in this
// way, and each later one like ModelText.
const (
	// ModelText: says "Hello", ", " and "world."; the usage is 12 in, 3 out.
	ModelText ModelCase = "text"
	// ModelThought: thinks "First " and "I think.", then says "42".
	ModelThought ModelCase = "thought"
	// ModelCall: calls get_weather with {"city":"Zürich"}, in several pieces, as "call_1".
	ModelCall ModelCase = "one call"
	// ModelParallel: says "Let me look.", then calls get_weather with {"city":"Bern"}
	// and get_time with {"tz":"CET"}, with interleaved pieces.
	ModelParallel ModelCase = "two calls whose arguments come in turns"
	// ModelBadArgs: calls get_weather with {"city": and nothing more.
	ModelBadArgs ModelCase = "arguments that are not JSON"
	// ModelEndless: says "word " for ever, to every request.
	ModelEndless ModelCase = "endless"
	// ModelMute: accepts every request and never answers.
	ModelMute ModelCase = "mute"
	// ModelRateLimit: refuses because of too many requests; asks to retry after 3 s.
	ModelRateLimit ModelCase = "rate limit"
	// ModelLongWait: refuses because of too many requests; asks to retry after an
	// hour.
	ModelLongWait ModelCase = "rate limit for an hour"
	// ModelFlaky: fails with an internal error.
	ModelFlaky ModelCase = "internal error, then fine"
	// ModelDown: fails every request with an internal error.
	ModelDown ModelCase = "internal error for ever"
	// ModelReset: says "abcd", then the connection breaks.
	ModelReset ModelCase = "connection breaks"
	// ModelCut: says "abcd", then the stream ends without an error.
	ModelCut ModelCase = "stream ends early"
	// ModelReports: says "abcd", then reports in the stream that it is overloaded.
	ModelReports ModelCase = "error in the stream"
	// ModelLongLine: says 100 KiB of "x" in one event.
	ModelLongLine ModelCase = "long line"
	// ModelSlow: says "a", "b" and "c" five minutes apart, with a sign of life every
	// 20 s, if the wire format has one.
	ModelSlow ModelCase = "slow, with pings"
	// ModelStalls: says "abcd", then nothing more; the connection stays open.
	ModelStalls ModelCase = "falls silent"
	// ModelImage: says "MIME:BASE64" of the only picture in the request.
	ModelImage ModelCase = "picture"
	// ModelCached: says "ok"; the usage is 100 in, 80 of them from the cache, 7
	// out, 5 of them reasoning.
	ModelCached ModelCase = "usage with cache and reasoning"
	// ModelOverflow: refuses a request as longer than the model's window.
	ModelOverflow ModelCase = "window overflow"
	// ModelNoKey: refuses the key, and repeats it in its message.
	ModelNoKey ModelCase = "key refused"
)

// ModelSecret is the key for models under test.
const ModelSecret = "sk-canary-0123456789"

// Model is the suite that every inference.Model over a network passes. open makes a
// model whose service behaves as the case describes; it is called in a synctest
// bubble, so all its connections are in memory, and it stops in t.Cleanup everything
// that it starts. It may skip cases that its wire format does not support.
func Model(t *testing.T, open func(t *testing.T, c ModelCase) inference.Model) {
	for _, c := range modelCases {
		t.Run(string(c.does), func(t *testing.T) {
			// A goroutine left behind fails the bubble.
			synctest.Test(t, func(t *testing.T) { c.check(t, open(t, c.does)) })
		})
	}
}

var modelCases = []struct {
	does  ModelCase
	check func(*testing.T, inference.Model)
}{
	{ModelText, checkText},
	{ModelThought, checkThought},
	{ModelCall, checkCall},
	{ModelParallel, checkParallel},
	{ModelBadArgs, checkBadArgs},
	{ModelEndless, checkEndless},
	{ModelMute, checkMute},
	{ModelRateLimit, checkRateLimit},
	{ModelLongWait, checkLongWait},
	{ModelFlaky, checkFlaky},
	{ModelDown, checkDown},
	{ModelReset, checkTruncated},
	{ModelCut, checkTruncated},
	{ModelReports, checkReports},
	{ModelLongLine, checkLongLine},
	{ModelSlow, checkSlow},
	{ModelStalls, checkStalls},
	{ModelImage, checkImage},
	{ModelCached, checkCached},
	{ModelOverflow, checkOverflow},
	{ModelNoKey, checkNoKey},
}

// Transcript is a whole answer.
type Transcript struct {
	Text     string
	Thought  string
	Calls    []TranscriptCall // in the order of their beginning
	Sealed   []json.RawMessage
	Usage    *core.Usage
	Retries  []time.Duration
	Instead  []string // models that were asked instead
	Refused  []string // keys of parts that were left out
	Stop     core.StopReason
	Err      error
	Deltas   int
	kinds    map[int]inference.DeltaKind
	byBlock  map[int]int
	finished bool
}

// TranscriptCall is one call of an answer.
type TranscriptCall struct {
	ID     core.CallID
	Tool   string
	Pieces []string
	Args   string
	Bad    error
	ended  bool
}

// Hear streams an answer to its end, or until each, which may be nil, returns false.
// It fails the test if the deltas break a rule of inference.Model.
func Hear(
	ctx context.Context, t *testing.T, m inference.Model, r *inference.Request, each func(inference.Delta) bool,
) *Transcript {
	t.Helper()
	h := &Transcript{kinds: map[int]inference.DeltaKind{}, byBlock: map[int]int{}}
	for d, err := range m.Stream(ctx, r) {
		if h.finished {
			t.Errorf("a terminal was followed by %+v, %v", d, err)
		}
		if err != nil {
			h.Err, h.finished = err, true
			continue
		}
		if err := h.take(d); err != nil {
			t.Errorf("delta %d, %+v: %v", h.Deltas, d, err)
		}
		if each != nil && !each(d) {
			return h
		}
	}
	if !h.finished {
		t.Error("the answer has no terminal")
	}
	return h
}

// take adds a delta and checks it against the previous ones.
func (h *Transcript) take(d inference.Delta) error {
	h.Deltas++
	switch d.Kind {
	case inference.DeltaText:
		h.Text += d.Text
		return h.inBlock(d, inference.DeltaText)
	case inference.DeltaThought:
		h.Thought += d.Text
		return h.inBlock(d, inference.DeltaThought)
	case inference.DeltaSealed:
		h.Sealed = append(h.Sealed, d.Sealed)
		return h.inBlock(d, inference.DeltaThought)
	case inference.DeltaToolStart:
		return h.begin(d)
	case inference.DeltaToolArgs:
		c, err := h.call(d)
		if err == nil {
			c.Pieces = append(c.Pieces, d.Text)
		}
		return err
	case inference.DeltaToolEnd:
		return h.end(d)
	case inference.DeltaUsage:
		u := d.Usage
		h.Usage = &u
	case inference.DeltaRetry:
		h.Retries = append(h.Retries, d.After)
		if h.Deltas > len(h.Retries) {
			return errors.New("a retry after the answer began")
		}
	case inference.DeltaFellBack:
		h.Instead = append(h.Instead, d.Instead.ID)
	case inference.DeltaRefused:
		h.Refused = append(h.Refused, d.Refused...)
	case inference.DeltaStop:
		h.Stop, h.finished = d.Stop, true
		for _, c := range h.Calls {
			if !c.ended {
				return fmt.Errorf("the call %s has not ended", c.ID)
			}
		}
	}
	return nil
}

func (h *Transcript) inBlock(d inference.Delta, kind inference.DeltaKind) error {
	if k, ok := h.kinds[d.Block]; ok && k != kind {
		return fmt.Errorf("the block %d is of kind %s", d.Block, k)
	}
	h.kinds[d.Block] = kind
	return nil
}

func (h *Transcript) begin(d inference.Delta) error {
	if _, ok := h.kinds[d.Block]; ok {
		return fmt.Errorf("the block %d has begun already", d.Block)
	}
	if d.ToolID == "" {
		return errors.New("the call has no id")
	}
	if slices.ContainsFunc(h.Calls, func(c TranscriptCall) bool { return c.ID == d.ToolID }) {
		return fmt.Errorf("two calls have the id %s", d.ToolID)
	}
	h.kinds[d.Block], h.byBlock[d.Block] = inference.DeltaToolStart, len(h.Calls)
	h.Calls = append(h.Calls, TranscriptCall{ID: d.ToolID, Tool: d.ToolName})
	return nil
}

func (h *Transcript) call(d inference.Delta) (*TranscriptCall, error) {
	i, ok := h.byBlock[d.Block]
	if !ok || h.Calls[i].ended {
		return nil, fmt.Errorf("no call is open in block %d", d.Block)
	}
	return &h.Calls[i], nil
}

func (h *Transcript) end(d inference.Delta) error {
	c, err := h.call(d)
	if err != nil {
		return err
	}
	c.Args, c.Bad, c.ended = string(d.Args), d.Bad, true
	var members map[string]any
	switch {
	case c.Bad != nil:
		return nil
	case json.Unmarshal(d.Args, &members) != nil || members == nil:
		return errors.New("the arguments are not a JSON object")
	case len(c.Pieces) > 0 && strings.Join(c.Pieces, "") != c.Args:
		return fmt.Errorf("the pieces say %q", c.Pieces)
	}
	return nil
}

// ModelRequest returns a request with a text and the tools of the suite's cases.
func ModelRequest(blocks ...core.Block) *inference.Request {
	if blocks == nil {
		blocks = []core.Block{core.Text{Text: "go"}}
	}
	object := json.RawMessage(`{"type":"object"}`)
	return &inference.Request{
		Session:  "s1",
		System:   "Be brief.",
		Messages: []inference.Message{{Role: inference.RoleUser, Blocks: blocks}},
		Tools:    []inference.ToolSpec{{Name: "get_weather", Schema: object}, {Name: "get_time", Schema: object}},
	}
}

func hear(t *testing.T, m inference.Model) *Transcript {
	t.Helper()
	return Hear(t.Context(), t, m, ModelRequest(), nil)
}

func checkText(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	wantEqual(t, "text", h.Text, "Hello, world.")
	if h.Usage == nil || h.Usage.In != 12 || h.Usage.Out != 3 || h.Usage.Estimated {
		t.Errorf("usage is %+v, want 12 in, 3 out", h.Usage)
	}
	wantEqual(t, "the text of a second answer", hear(t, m).Text, "Hello, world.")
}

func checkThought(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	wantEqual(t, "thought", h.Thought, "First I think.")
	wantEqual(t, "text", h.Text, "42")
}

func checkCall(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	wantCalls(t, h, `get_weather {"city":"Zürich"}`)
	wantEqual(t, "id", string(h.Calls[0].ID), "call_1")
	if len(h.Calls[0].Pieces) < 2 {
		t.Errorf("the arguments came in %d pieces", len(h.Calls[0].Pieces))
	}
	// An id that the session already has is not used again.
	r := ModelRequest()
	r.Messages = append(
		r.Messages,
		inference.Message{
			Role:  inference.RoleAssistant,
			Calls: []inference.ToolUse{{ID: "call_1", Name: "get_time"}},
		},
		inference.Message{
			Role:   inference.RoleTool,
			Result: inference.ToolReturn{ID: "call_1", Name: "get_time"},
		},
	)
	wantEnd(t, Hear(t.Context(), t, m, r, nil), core.StopEnd)
}

func checkParallel(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	wantEqual(t, "text", h.Text, "Let me look.")
	wantCalls(t, h, `get_weather {"city":"Bern"}`, `get_time {"tz":"CET"}`)
}

func checkBadArgs(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	if len(h.Calls) != 1 || h.Calls[0].Bad == nil {
		t.Errorf("calls are %+v, want one whose arguments are bad", h.Calls)
	}
}

// checkEndless stops an answer at 40 different points, and abandons as many.
func checkEndless(t *testing.T, m inference.Model) {
	stopAnywhere(t, m, func(came, stopped int) bool { return came == stopped+1 })
}

// stopAnywhere stops 40 answers, each one delta later, and abandons as many. fits
// judges the number of deltas that arrived from an answer that was stopped after a
// certain number.
func stopAnywhere(t *testing.T, m inference.Model, fits func(came, stopped int) bool) {
	for i := range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		h := Hear(ctx, t, m, ModelRequest(), func(inference.Delta) bool {
			if n++; n > i {
				cancel()
			}
			return true
		})
		cancel()
		if !errors.Is(h.Err, context.Canceled) || h.Stop != "" || !fits(n, i) {
			t.Fatalf("cancel %d: stop %q, error %v, %d deltas", i, h.Stop, h.Err, n)
		}
		n = 0
		Hear(t.Context(), t, m, ModelRequest(), func(inference.Delta) bool { n++; return n <= i })
	}
}

func checkMute(t *testing.T, m inference.Model) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	start := time.Now()
	h := Hear(ctx, t, m, ModelRequest(), nil)
	if !errors.Is(h.Err, context.DeadlineExceeded) || time.Since(start) != time.Second {
		t.Errorf("stopped after %v with %v", time.Since(start), h.Err)
	}
	h = hear(t, m)
	if wantKind(t, h, inference.ErrNetwork); time.Since(start) > 10*time.Minute {
		t.Errorf("gave up only after %v", time.Since(start))
	}
}

func checkRateLimit(t *testing.T, m inference.Model) {
	start := time.Now()
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	wantEqual(t, "text", h.Text, "Hello, world.")
	if took := time.Since(start); !slices.Equal(h.Retries, []time.Duration{3 * time.Second}) ||
		took != 3*time.Second {
		t.Errorf("retries %v took %v, want 3s", h.Retries, took)
	}
}

func checkLongWait(t *testing.T, m inference.Model) {
	h := hear(t, m)
	e := wantKind(t, h, inference.ErrRateLimit)
	if len(h.Retries) != 0 || e.RetryAfter != time.Hour {
		t.Errorf("retries %v, retry after %v, want none and 1h", h.Retries, e.RetryAfter)
	}
}

func checkFlaky(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	if len(h.Retries) != 1 || h.Retries[0] > 8*time.Second {
		t.Errorf("retries %v, want one within 8s", h.Retries)
	}
}

func checkDown(t *testing.T, m inference.Model) {
	h := hear(t, m)
	e := wantKind(t, h, inference.ErrServer)
	if len(h.Retries) == 0 || !e.Retryable() {
		t.Errorf("retries %v, retryable %v", h.Retries, e.Retryable())
	}
	// A wait ends with the context.
	ctx, cancel := context.WithCancel(t.Context())
	h = Hear(ctx, t, m, ModelRequest(), func(inference.Delta) bool { cancel(); return true })
	if !errors.Is(h.Err, context.Canceled) || len(h.Retries) != 1 {
		t.Errorf("canceled while waiting: %v after %d retries", h.Err, len(h.Retries))
	}
}

func checkTruncated(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantKind(t, h, inference.ErrTruncated)
	wantEqual(t, "text", h.Text, "abcd")
	if len(h.Retries) != 0 {
		t.Errorf("retries %v", h.Retries)
	}
}

func checkReports(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantKind(t, h, inference.ErrOverloaded)
	wantEqual(t, "text", h.Text, "abcd")
}

func checkLongLine(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	if h.Text != strings.Repeat("x", 100<<10) {
		t.Errorf("%d bytes of text, want 100 KiB of x", len(h.Text))
	}
}

func checkSlow(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	wantEqual(t, "text", h.Text, "abc")
}

func checkStalls(t *testing.T, m inference.Model) {
	start := time.Now()
	h := hear(t, m)
	wantKind(t, h, inference.ErrTruncated)
	wantEqual(t, "text", h.Text, "abcd")
	if took := time.Since(start); took < time.Minute || took > 3*time.Minute {
		t.Errorf("noticed after %v", took)
	}
}

func checkImage(t *testing.T, m inference.Model) {
	data := bytes.Repeat([]byte{0x89, 'P', 'N', 'G', 0}, 99)
	r := ModelRequest(core.Text{Text: "look"}, core.Image{MIME: "image/png", Data: data})
	h := Hear(t.Context(), t, m, r, nil)
	wantEnd(t, h, core.StopEnd)
	wantEqual(t, "picture", h.Text, "image/png:"+base64.StdEncoding.EncodeToString(data))
}

func checkCached(t *testing.T, m inference.Model) {
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	if u := h.Usage; u == nil || u.In != 100 || u.CacheRead != 80 || u.Out != 7 || u.Reasoning != 5 ||
		u.Estimated {
		t.Errorf("usage is %+v", u)
	}
}

func checkOverflow(t *testing.T, m inference.Model) {
	h := hear(t, m)
	if wantKind(t, h, inference.ErrContextLength); len(h.Retries) != 0 {
		t.Errorf("retries %v", h.Retries)
	}
}

func checkNoKey(t *testing.T, m inference.Model) {
	h := hear(t, m)
	e := wantKind(t, h, inference.ErrAuth)
	if len(h.Retries) != 0 || e.Hint == "" {
		t.Errorf("retries %v, hint %q", h.Retries, e.Hint)
	}
	if all := fmt.Sprintf("%v %+v", e, *e); strings.Contains(all, ModelSecret) {
		t.Errorf("the error holds the key: %s", all)
	}
}

func wantEnd(t *testing.T, h *Transcript, stop core.StopReason) {
	t.Helper()
	if h.Err != nil || h.Stop != stop {
		t.Errorf("ended with %q, %v; want %q", h.Stop, h.Err, stop)
	}
}

func wantKind(t *testing.T, h *Transcript, kind inference.ErrorKind) *inference.Error {
	t.Helper()
	var e *inference.Error
	if !errors.As(h.Err, &e) || e.Kind != kind || h.Stop != "" {
		t.Fatalf("ended with %q, %v; want an error of kind %q", h.Stop, h.Err, kind)
	}
	return e
}

func wantEqual(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func wantCalls(t *testing.T, h *Transcript, want ...string) {
	t.Helper()
	var got []string
	for _, c := range h.Calls {
		got = append(got, c.Tool+" "+c.Args)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("calls are %q, want %q", got, want)
	}
}
