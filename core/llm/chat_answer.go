package llm

import (
	"bytes"
	"cmp"
	"fmt"

	"dragoman/core"
	"dragoman/core/inference"
)

// chatAnswer reads an answer of a chat completions service.
type chatAnswer struct {
	*answer
	refused bool
	skim    skimmer
	shape   chatShape // of the event that was skimmed last
}

// event processes one event. The error is one that the service has reported, or an
// unreadable event.
func (a *chatAnswer) event(name string, data []byte) error {
	if string(data) == "[DONE]" {
		if a.finish == "" {
			return errNoEnd
		}
		a.whole = true
		return nil
	}
	if name != "error" {
		if text, ok := a.shape.text(data); ok {
			a.again(text)
			return nil
		}
		if m, u, ok := a.skim.read(data); ok {
			a.shape.learn(&a.skim, data)
			a.used(u)
			return a.said(m)
		}
	}
	var c wireChunk
	if err := decode(data, &c); err != nil {
		return err
	}
	if reported(c.Error) || name == "error" {
		return &reportedError{data: bytes.Clone(data)}
	}
	a.used(c.Usage)
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			return a.choice(&c.Choices[i], data)
		}
	}
	return nil
}

// used records the usage so far; nil means that the event has none.
func (a *chatAnswer) used(u *wireUsage) {
	if u != nil && u.counts() {
		is := u.core()
		a.usage = &is
	}
}

func (a *chatAnswer) choice(c *wireChoice, data []byte) error {
	m := &c.Delta
	if c.Message != nil {
		m = c.Message
	}
	if err := a.said(m); err != nil {
		return err
	}
	if c.FinishReason == "error" {
		return &reportedError{data: bytes.Clone(data)}
	}
	if c.FinishReason != "" {
		a.finish, a.stop = c.FinishReason, a.stopOf(c.FinishReason)
	}
	return nil
}

// said processes a piece of the model's message.
func (a *chatAnswer) said(m *wireMessage) error {
	a.thought("reasoning_content", m.ReasoningContent)
	if m.ReasoningContent == "" { // some services send the same text in both fields
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
	return nil
}

// again processes the text of an event that has the form of an earlier one.
func (a *chatAnswer) again(text []byte) {
	switch field := a.shape.field; {
	case len(text) == 0:
	case field == "":
		a.openPart(partText)
		say(a.answer, a.block, inference.DeltaText, text)
	default:
		a.openPart(partThought)
		a.field = field
		say(a.answer, a.block, inference.DeltaThought, text)
	}
}

// toolDelta adds a piece of a call.
func (a *chatAnswer) toolDelta(w *wireToolCall) error {
	a.openPart(partNone)
	c := a.callOf(w)
	if c == nil {
		if len(a.calls) == maxCalls {
			return fmt.Errorf("the answer has more than %d calls", maxCalls)
		}
		c = &toolCall{index: -1, wireID: w.ID, block: a.newBlock()}
		if w.Index != nil {
			c.index = *w.Index
		}
		a.calls = append(a.calls, c)
	}
	c.wireID = cmp.Or(c.wireID, w.ID)
	c.name = cmp.Or(c.name, w.Function.Name)
	if len(w.ExtraContent) > 0 && !bytes.Equal(w.ExtraContent, []byte("null")) {
		c.extra = bytes.Clone(w.ExtraContent)
	}
	piece := string(w.Function.Arguments)
	if !c.started && c.name != "" {
		a.start(c)
	} else if !c.started {
		if a.args += len(piece); a.args > maxArgs {
			return fmt.Errorf("the arguments of the answer's calls are longer than %d MiB", maxArgs>>20)
		}
		c.args = append(c.args, piece...) // yielded once the name is known
		return nil
	}
	return a.more(c, piece)
}

// callOf finds the call of a piece; nil means a new one. The index decides. For
// services that send no index, or the same for all calls, the id decides; without
// either, a name after complete arguments begins a new call.
func (a *chatAnswer) callOf(w *wireToolCall) *toolCall {
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

// stopOf maps the finish_reason. Calls need no reason of their own: they were yielded.
func (a *chatAnswer) stopOf(finish string) core.StopReason {
	switch {
	case finish == "length":
		return core.StopTokens
	case finish == "content_filter" || a.refused:
		return core.StopRefusal
	}
	return core.StopEnd // stop, tool_calls, function_call, and values of single services
}
