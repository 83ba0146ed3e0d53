package llm

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"dragoman/core"
	"dragoman/core/inference"
)

const (
	maxCalls = 256
	maxArgs  = 16 << 20 // bytes, of one answer's calls together
	// maxGathered is about how much text one delta has, in bytes, if it has several pieces.
	maxGathered = 4 << 10
)

// answer assembles one answer and yields it as deltas. A listener feeds it.
type answer struct {
	model   string
	price   *inference.Price // nil: unknown
	request *inference.Request
	remote  *remote // knows the tools in their forms; nil: they were sent as they are
	yield   func(inference.Delta, error) bool
	sent    int // characters of the request
	// gathers means that pieces of one part that have come together are yielded as one.
	gathers bool

	refused []string // keys of parts that were left out of the request, after the refusal why
	why     error

	gone      bool // the consumer has stopped reading
	begun     bool // a part of the answer was yielded
	done      bool // its terminal was yielded
	requestID string

	blocks int             // numbered so far
	open   partOf          // the part that text is added to
	block  int             // its number
	field  string          // the field of the open thought
	piece  inference.Delta // the delta of held, without its text
	held   []byte          // text that is to be yielded
	calls  []*toolCall
	args   int // bytes, of all calls
	chars  int // of text and thoughts
	usage  *core.Usage
	// finish is the service's reason for the end of the answer; empty: it has not
	// ended yet.
	finish string
	// whole means that the answer is complete, including the usage.
	whole bool
	stop  core.StopReason // the meaning of finish
}

// partOf is a kind of part of which only one can be open.
type partOf string

const (
	partNone    partOf = ""
	partText    partOf = "text"
	partThought partOf = "thought"
)

// toolCall is a call whose pieces are arriving.
type toolCall struct {
	index   int // of the service; -1: none was sent
	wireID  string
	id      core.CallID
	name    string
	block   int
	started bool
	args    []byte
	extra   json.RawMessage
	form    *toolForm // nil: it was not offered, or was sent as it is
}

// renames reports whether arguments of the call have other names than the model writes.
func (c *toolCall) renames() bool { return c.form != nil && c.form.names != nil }

// emit yields a delta behind the held text, unless the consumer has left.
func (a *answer) emit(d inference.Delta) bool {
	a.flush()
	return a.send(d)
}

func (a *answer) send(d inference.Delta) bool {
	if a.gone {
		return false
	}
	if d.Kind != inference.DeltaRetry && !a.begun {
		a.begun = true
		if a.refused != nil && !a.send(inference.Delta{Kind: inference.DeltaRefused, Refused: a.refused, Bad: a.why}) {
			return false
		}
	}
	a.gone = !a.yield(d, nil)
	return !a.gone
}

// waits yields that a request is waiting to be sent, and reports whether to continue.
func (a *answer) waits(d time.Duration) bool {
	return a.emit(inference.Delta{Kind: inference.DeltaRetry, After: d})
}

// errLeft: the consumer has stopped reading while a request was waiting.
var errLeft = errors.New("the reader has left")

// say yields a piece of the text or thought of that number, or holds it until flush.
func say[T string | []byte](a *answer, block int, kind inference.DeltaKind, s T) {
	if len(s) == 0 {
		return
	}
	if len(a.held) > 0 && (a.piece.Block != block || a.piece.Kind != kind) {
		a.flush()
	}
	a.piece.Block, a.piece.Kind = block, kind
	if a.held = append(a.held, s...); !a.gathers || len(a.held) >= maxGathered {
		a.flush()
	}
}

// flush yields the held text.
func (a *answer) flush() {
	if len(a.held) == 0 {
		return
	}
	d := a.piece
	d.Text = string(a.held)
	a.held = a.held[:0]
	a.chars += characters(d.Text)
	a.send(d)
}

// more adds a piece of a call's arguments.
func (a *answer) more(c *toolCall, piece string) error {
	if a.args += len(piece); a.args > maxArgs {
		return fmt.Errorf("the arguments of the answer's calls are longer than %d MiB", maxArgs>>20)
	}
	if piece != "" {
		c.args = append(c.args, piece...)
		if c.renames() { // its arguments come with their own names, when they are complete
			return nil
		}
		a.emit(inference.Delta{Kind: inference.DeltaToolArgs, Block: c.block, Text: piece})
	}
	return nil
}

func (a *answer) text(s string) {
	if s == "" {
		return
	}
	a.openPart(partText)
	say(a, a.block, inference.DeltaText, s)
}

func (a *answer) thought(field, s string) {
	if s == "" {
		return
	}
	a.openPart(partThought)
	a.field = field
	say(a, a.block, inference.DeltaThought, s)
}

// openPart opens the part p, under a new number unless it is open already. A thought
// that ends is sealed with its field.
func (a *answer) openPart(p partOf) {
	if a.open == p {
		return
	}
	if a.open == partThought && a.field != "" {
		a.emit(inference.Delta{
			Kind:   inference.DeltaSealed,
			Block:  a.block,
			Sealed: sealedData{Of: a.model, Field: a.field}.encode(),
		})
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

// start yields a call's beginning, and the arguments that came before its name.
func (a *answer) start(c *toolCall) {
	c.started = true
	c.id = a.newID(c.wireID)
	if a.remote != nil {
		if c.form = a.remote.called(a.request.Tools, c.name); c.form != nil {
			c.name = c.form.own.Name
		}
	}
	a.emit(inference.Delta{Kind: inference.DeltaToolStart, Block: c.block, ToolID: c.id, ToolName: c.name})
	if len(c.args) > 0 && !c.renames() {
		a.emit(inference.Delta{Kind: inference.DeltaToolArgs, Block: c.block, Text: string(c.args)})
	}
}

// newID returns the service's id for a call, or a new one if the service has sent none
// or one that the session already has.
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

// complete yields the final deltas of a complete answer.
func (a *answer) complete(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	a.openPart(partNone)
	seal := sealedData{Of: a.model}
	for i, c := range a.calls {
		if !c.started {
			a.start(c)
		}
		d := inference.Delta{
			Kind:     inference.DeltaToolEnd,
			Block:    c.block,
			ToolID:   c.id,
			ToolName: c.name,
		}
		d.Args, d.Bad = a.arguments(c)
		if c.renames() && d.Bad == nil {
			a.emit(inference.Delta{Kind: inference.DeltaToolArgs, Block: c.block, Text: string(d.Args)})
		}
		a.emit(d)
		if c.extra != nil {
			seal.Calls = append(seal.Calls, sealedCall{Call: i, Extra: c.extra})
		}
	}
	if seal.Calls != nil {
		a.emit(inference.Delta{Kind: inference.DeltaSealed, Block: a.newBlock(), Sealed: seal.encode()})
	}
	if a.usage == nil {
		a.usage = &core.Usage{
			In:        inference.EstimateTokens(a.sent),
			Out:       inference.EstimateTokens(a.chars + a.args),
			Estimated: true,
		}
	}
	if a.usage.Cost == nil && a.price != nil {
		cost := a.price.Cost(*a.usage)
		a.usage.Cost = &cost
	}
	a.emit(inference.Delta{Kind: inference.DeltaUsage, Usage: *a.usage})
	if err := ctx.Err(); err != nil {
		return err
	}
	a.done = true
	a.emit(inference.Delta{Kind: inference.DeltaStop, Stop: a.stop})
	return nil
}

// arguments returns a call's arguments as a JSON object. The error is for the model.
func (a *answer) arguments(c *toolCall) (json.RawMessage, error) {
	args := bytes.TrimSpace(c.args)
	if c.name == "" {
		return nil, errors.New("the call does not name a tool")
	}
	if len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	err := isObject(args)
	switch {
	case err == nil && c.form != nil:
		args = c.form.restore(args)
		return args, c.form.check(args)
	case err == nil:
		return args, nil
	case a.stop == core.StopTokens:
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
