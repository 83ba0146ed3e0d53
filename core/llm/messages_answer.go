package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"dragoman/core"
	"dragoman/core/inference"
)

// messagesAnswer reads an answer of a messages service. Its parts are numbered by the
// service, and begin and end; pieces of several may be interleaved.
type messagesAnswer struct {
	*answer
	parts map[int]*messagesPart
	used  messagesUsage
}

// messagesPart is a part of the answer that has started.
type messagesPart struct {
	kind      string
	block     int
	call      *toolCall
	signature string
	redacted  string
}

// The answer of a messages service.
type (
	messagesEvent struct {
		Type    string               `json:"type"`
		Index   int                  `json:"index"`
		Message *messagesWhole       `json:"message"`
		Part    *messagesContentPart `json:"content_block"`
		Delta   struct {
			Type       string `json:"type"`
			Text       string `json:"text"`
			Thinking   string `json:"thinking"`
			Signature  string `json:"signature"`
			Partial    string `json:"partial_json"`
			StopReason string `json:"stop_reason"`
		} `json:"delta"`
		Usage *messagesUsage  `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	messagesContentPart struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	messagesWhole struct {
		Usage *messagesUsage `json:"usage"`
	}
	messagesUsage struct {
		In         int `json:"input_tokens"`
		Out        int `json:"output_tokens"`
		CacheRead  int `json:"cache_read_input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
	}
	// messagesReply is a complete answer of a service that does not stream.
	messagesReply struct {
		Content    []messagesContentPart `json:"content"`
		StopReason string                `json:"stop_reason"`
		Usage      *messagesUsage        `json:"usage"`
	}
)

func (a *messagesAnswer) event(_ string, data []byte) error {
	var e messagesEvent
	if err := decode(data, &e); err != nil {
		return err
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			a.count(e.Message.Usage)
		}
	case "content_block_start":
		if e.Part == nil {
			return &unreadableError{data: shorten(string(data), 200)}
		}
		return a.begin(e.Index, e.Part)
	case "content_block_delta":
		return a.piece(&e)
	case "content_block_stop":
		a.end(e.Index)
	case "message_delta":
		a.count(e.Usage)
		if e.Delta.StopReason != "" {
			a.stop = stopOfMessages(e.Delta.StopReason)
		}
	case "message_stop":
		a.settle()
	case "message":
		return a.reply(data)
	case "error":
		return &reportedError{data: bytes.Clone(data)}
	default: // ping, and future events
		if reported(e.Error) {
			return &reportedError{data: bytes.Clone(data)}
		}
	}
	return nil
}

// count keeps the newest value of each figure: they are totals, and some are sent only
// once.
func (a *messagesAnswer) count(u *messagesUsage) {
	if u == nil {
		return
	}
	a.used.In, a.used.Out = max(a.used.In, u.In), max(a.used.Out, u.Out)
	a.used.CacheRead, a.used.CacheWrite = max(a.used.CacheRead, u.CacheRead), max(a.used.CacheWrite, u.CacheWrite)
	if a.used != (messagesUsage{}) {
		a.usage = &core.Usage{
			In: a.used.In + a.used.CacheRead + a.used.CacheWrite, Out: a.used.Out,
			CacheRead: a.used.CacheRead, CacheWrite: a.used.CacheWrite,
		}
	}
}

// begin begins a part. Its initial content is its first piece.
func (a *messagesAnswer) begin(index int, w *messagesContentPart) error {
	if a.parts == nil {
		a.parts = map[int]*messagesPart{}
	}
	if len(a.parts) >= maxCalls {
		return fmt.Errorf("the answer has more than %d parts open", maxCalls)
	}
	p := &messagesPart{kind: w.Type, signature: w.Signature, redacted: w.Data}
	a.parts[index] = p
	switch w.Type {
	case "text", "thinking", "redacted_thinking":
		p.block = a.newBlock()
		a.speak(p, w.Text, w.Thinking)
	case "tool_use":
		if len(a.calls) == maxCalls {
			return fmt.Errorf("the answer has more than %d calls", maxCalls)
		}
		p.call = &toolCall{index: index, wireID: w.ID, name: w.Name, block: a.newBlock()}
		a.calls = append(a.calls, p.call)
		a.start(p.call)
		if isObject(w.Input) == nil && string(bytes.TrimSpace(w.Input)) != "{}" {
			return a.more(p.call, string(w.Input))
		}
	}
	return nil
}

func (a *messagesAnswer) piece(e *messagesEvent) error {
	p := a.parts[e.Index]
	if p == nil {
		return &unreadableError{err: fmt.Errorf("a piece came of part %d, which has not begun", e.Index)}
	}
	switch e.Delta.Type {
	case "text_delta", "thinking_delta":
		a.speak(p, e.Delta.Text, e.Delta.Thinking)
	case "signature_delta":
		p.signature += e.Delta.Signature
	case "input_json_delta":
		if p.call != nil {
			return a.more(p.call, e.Delta.Partial)
		}
	}
	return nil
}

func (a *messagesAnswer) speak(p *messagesPart, text, thought string) {
	switch p.kind {
	case "text":
		say(a.answer, p.block, inference.DeltaText, text)
	case "thinking":
		say(a.answer, p.block, inference.DeltaThought, thought)
	}
}

// end ends a part. A thought is sealed with the data that the service expects back.
func (a *messagesAnswer) end(index int) {
	p := a.parts[index]
	delete(a.parts, index)
	if p == nil || p.signature == "" && p.redacted == "" {
		return
	}
	seal := sealedData{Of: a.model, Signature: p.signature, Redacted: p.redacted}
	a.emit(inference.Delta{Kind: inference.DeltaSealed, Block: p.block, Sealed: seal.encode()})
}

// settle ends the answer, and all parts that are still open.
func (a *messagesAnswer) settle() {
	for i := range a.parts {
		a.end(i)
	}
	a.stop = cmp.Or(a.stop, core.StopEnd)
	a.finish, a.whole = "message_stop", true
}

// reply processes a complete answer.
func (a *messagesAnswer) reply(data []byte) error {
	var r messagesReply
	if err := json.Unmarshal(data, &r); err != nil {
		return &unreadableError{err: err}
	}
	for i := range r.Content {
		if err := a.begin(i, &r.Content[i]); err != nil {
			return err
		}
		a.end(i)
	}
	a.count(r.Usage)
	a.stop = stopOfMessages(r.StopReason)
	a.settle()
	return nil
}

func stopOfMessages(reason string) core.StopReason {
	switch reason {
	case "max_tokens", "model_context_window_exceeded":
		return core.StopTokens
	case "refusal":
		return core.StopRefusal
	}
	return core.StopEnd // end_turn, stop_sequence, tool_use, pause_turn
}
