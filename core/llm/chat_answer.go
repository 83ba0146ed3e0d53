package llm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"dragoman/core"
)

const (
	maxCalls = 256
	maxArgs  = 16 << 20 // bytes, of one answer's calls together
)

// answer assembles one answer of a chat model from its events and yields it as
// deltas.
type answer struct {
	model   string
	request *core.Request
	yield   func(core.Delta, error) bool
	sent    int // characters of the request

	gone      bool // the consumer has left
	begun     bool // something of the answer was yielded
	done      bool // its terminal was
	requestID string

	blocks  int    // that were numbered
	open    partOf // the part that text goes to
	block   int    // its number
	field   string // in which the open thought came
	calls   []*toolCall
	args    int // bytes, of all calls
	chars   int // of text and thoughts
	usage   *core.Usage
	finish  string
	refused bool
}

// partOf is a kind of part that only one can be open of.
type partOf string

const (
	partNone    partOf = ""
	partText    partOf = "text"
	partThought partOf = "thought"
)

// toolCall is a call while its pieces arrive.
type toolCall struct {
	index   int // of the service; -1: it sends none
	wireID  string
	id      core.CallID
	name    string
	block   int
	started bool
	args    []byte
	extra   json.RawMessage
}

// emit yields a delta, unless the consumer has left.
func (a *answer) emit(d core.Delta) bool {
	if a.gone {
		return false
	}
	if d.Kind != core.DeltaRetry {
		a.begun = true
	}
	a.gone = !a.yield(d, nil)
	return !a.gone
}

// event takes one event in. The error is what the service reported, or that
// the event cannot be read.
func (a *answer) event(name string, data []byte) error {
	var c wireChunk
	if err := json.Unmarshal(data, &c); err != nil {
		if !json.Valid(data) {
			return &unreadableError{data: shorten(string(data), 200), err: err}
		}
		return &unreadableError{data: "", err: err}
	}
	if reported(c.Error) || name == "error" {
		return &reportedError{data: bytes.Clone(data)}
	}
	if c.Usage != nil && c.Usage.counts() {
		u := c.Usage.core()
		a.usage = &u
	}
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			return a.choice(&c.Choices[i], data)
		}
	}
	return nil
}

func (a *answer) choice(c *wireChoice, data []byte) error {
	m := &c.Delta
	if c.Message != nil {
		m = c.Message
	}
	a.thought("reasoning_content", m.ReasoningContent)
	if m.ReasoningContent == "" { // some services send the same text in both
		a.thought("reasoning", m.Reasoning)
	}
	a.thought("", m.Content.thought)
	a.text(m.Content.text)
	if m.Refusal != "" {
		a.refused = true
		a.text(m.Refusal)
	}
	for i := range m.ToolCalls {
		if err := a.toolDelta(&m.ToolCalls[i]); err != nil {
			return err
		}
	}
	if c.FinishReason == "error" {
		return &reportedError{data: bytes.Clone(data)}
	}
	if c.FinishReason != "" {
		a.finish = c.FinishReason
	}
	return nil
}

func (a *answer) text(s string) {
	if s == "" {
		return
	}
	a.openPart(partText)
	a.chars += utf8.RuneCountInString(s)
	a.emit(core.Delta{Kind: core.DeltaText, Block: a.block, Text: s})
}

func (a *answer) thought(field, s string) {
	if s == "" {
		return
	}
	a.openPart(partThought)
	a.field = field
	a.chars += utf8.RuneCountInString(s)
	a.emit(core.Delta{Kind: core.DeltaThought, Block: a.block, Text: s})
}

// openPart makes p the part that is open, under a new number unless it is so
// already. A thought that ends is sealed with the field that it came in.
func (a *answer) openPart(p partOf) {
	if a.open == p {
		return
	}
	if a.open == partThought && a.field != "" {
		a.emit(core.Delta{Kind: core.DeltaSealed, Block: a.block, Sealed: sealed{Of: a.model, Field: a.field}.encode()})
	}
	a.open, a.field = p, ""
	if p != partNone {
		a.block = a.newBlock()
	}
}

func (a *answer) newBlock() int {
	a.blocks++
	return a.blocks - 1
}

// toolDelta takes a piece of a call.
func (a *answer) toolDelta(w *wireToolCall) error {
	a.openPart(partNone)
	c := a.callOf(w)
	if c == nil {
		if len(a.calls) == maxCalls {
			return fmt.Errorf("the answer holds more than %d calls", maxCalls)
		}
		c = &toolCall{index: -1, wireID: w.ID, block: a.newBlock()}
		if w.Index != nil {
			c.index = *w.Index
		}
		a.calls = append(a.calls, c)
	}
	if c.wireID == "" {
		c.wireID = w.ID
	}
	if c.name == "" {
		c.name = w.Function.Name
	}
	if len(w.ExtraContent) > 0 && !bytes.Equal(w.ExtraContent, []byte("null")) {
		c.extra = bytes.Clone(w.ExtraContent)
	}
	piece := string(w.Function.Arguments)
	if a.args += len(piece); a.args > maxArgs {
		return fmt.Errorf("the arguments of the answer's calls are longer than %d MiB", maxArgs>>20)
	}
	if !c.started && c.name != "" {
		a.start(c)
	} else if !c.started {
		c.args = append(c.args, piece...) // yielded once the name is known
		return nil
	}
	if piece != "" {
		c.args = append(c.args, piece...)
		a.emit(core.Delta{Kind: core.DeltaToolArgs, Block: c.block, Text: piece})
	}
	return nil
}

// callOf finds the call that a piece belongs to; nil: a new one. The index
// decides. Services that send none, or the same for all, are told apart by the
// id; with neither, a name after whole arguments begins a new call.
func (a *answer) callOf(w *wireToolCall) *toolCall {
	if w.Index == nil && w.ID == "" && w.Function.Name == "" && len(a.calls) > 0 {
		return a.calls[len(a.calls)-1]
	}
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		if w.Index != nil && c.index != *w.Index || w.Index == nil && c.index >= 0 {
			continue
		}
		other := w.ID != "" && c.wireID != "" && w.ID != c.wireID
		named := w.Function.Name != ""
		switch {
		case w.Index != nil && other && named && isObject(c.args) == nil:
			continue // every call has the index 0
		case w.Index == nil && other:
			continue
		case w.Index == nil && w.ID == "" && named && isObject(c.args) == nil:
			continue // neither index nor id
		}
		return c
	}
	return nil
}

// start yields a call's beginning, and the arguments that came before its name.
func (a *answer) start(c *toolCall) {
	c.started = true
	c.id = a.newID(c.wireID)
	a.emit(core.Delta{Kind: core.DeltaToolStart, Block: c.block, ToolID: c.id, ToolName: c.name})
	if len(c.args) > 0 {
		a.emit(core.Delta{Kind: core.DeltaToolArgs, Block: c.block, Text: string(c.args)})
	}
}

// newID returns the service's id for a call, or one of our own where it sent
// none or one that the session has seen.
func (a *answer) newID(wire string) core.CallID {
	id := core.CallID(wire)
	if id == "" || a.seen(id) {
		return core.CallID("call_" + rand.Text()[:20])
	}
	return id
}

func (a *answer) seen(id core.CallID) bool {
	for _, c := range a.calls {
		if c.id == id {
			return true
		}
	}
	for i := range a.request.Messages {
		for j := range a.request.Messages[i].Calls {
			if a.request.Messages[i].Calls[j].ID == id {
				return true
			}
		}
	}
	return false
}

// complete yields what is due at the end of a whole answer.
func (a *answer) complete(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.openPart(partNone)
	seal := sealed{Of: a.model}
	for i, c := range a.calls {
		if !c.started {
			a.start(c)
		}
		d := core.Delta{Kind: core.DeltaToolEnd, Block: c.block, ToolID: c.id, ToolName: c.name}
		d.Args, d.Bad = a.arguments(c)
		a.emit(d)
		if c.extra != nil {
			seal.Calls = append(seal.Calls, sealedCall{Call: i, Extra: c.extra})
		}
	}
	if seal.Calls != nil {
		a.emit(core.Delta{Kind: core.DeltaSealed, Block: a.newBlock(), Sealed: seal.encode()})
	}
	if a.usage == nil {
		a.usage = &core.Usage{In: tokens(a.sent), Out: tokens(a.chars + a.args), Estimated: true}
	}
	a.emit(core.Delta{Kind: core.DeltaUsage, Usage: *a.usage})
	if err := ctx.Err(); err != nil {
		return err
	}
	a.done = true
	a.emit(core.Delta{Kind: core.DeltaStop, Stop: a.stop()})
	return nil
}

// arguments returns a call's arguments as a JSON object, or what is wrong with
// them, in words for the model.
func (a *answer) arguments(c *toolCall) (json.RawMessage, error) {
	args := bytes.TrimSpace(c.args)
	if c.name == "" {
		return nil, errors.New("the call does not name a tool")
	}
	if len(args) == 0 || string(args) == "null" {
		return json.RawMessage("{}"), nil
	}
	err := isObject(args)
	switch {
	case err == nil:
		return args, nil
	case a.finish == "length":
		return nil, fmt.Errorf("the arguments of %s are not whole: the answer came to its limit of tokens", c.name)
	}
	return nil, fmt.Errorf("the arguments of %s are not a JSON object: %s", c.name, jsonProblem(err))
}

func isObject(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	if members == nil {
		return errors.New("they are null")
	}
	return nil
}

// stop maps the finish_reason. That calls are to be made needs no reason of its
// own: they were yielded.
func (a *answer) stop() core.StopReason {
	switch {
	case a.finish == "length":
		return core.StopTokens
	case a.finish == "content_filter" || a.refused:
		return core.StopRefusal
	}
	return core.StopEnd // stop, tool_calls, function_call, and what services have of their own
}

// tokens estimates: four characters each.
func tokens(chars int) int { return (chars + 3) / 4 }
