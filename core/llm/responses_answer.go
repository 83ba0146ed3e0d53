package llm

import (
	"bytes"
	"encoding/json"
	"fmt"

	"dragoman/core"
	"dragoman/core/inference"
)

// responsesAnswer reads an answer of a responses service. Items are numbered by the
// service; pieces of several may be interleaved.
type responsesAnswer struct {
	*answer
	items   map[int]*responsesItem
	refused bool
}

// responsesItem is an item that has started.
type responsesItem struct {
	kind  string
	block int // of a message's text, or a thought's; -1: no piece was yielded yet
	part  int // the open part of a summary
	call  *toolCall
}

// The answer of a responses service.
type (
	responsesEvent struct {
		Type     string          `json:"type"`
		Index    int             `json:"output_index"`
		Part     int             `json:"summary_index"`
		Delta    string          `json:"delta"`
		Item     json.RawMessage `json:"item"`
		Response json.RawMessage `json:"response"`
		Error    json.RawMessage `json:"error"`
	}
	responsesItemHead struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Args      string `json:"arguments"`
		Encrypted string `json:"encrypted_content"`
		Content   []struct {
			Type    string `json:"type"`
			Text    string `json:"text"`
			Refusal string `json:"refusal"`
		} `json:"content"`
		Summary []struct {
			Text string `json:"text"`
		} `json:"summary"`
	}
	responsesWhole struct {
		Object     string            `json:"object"`
		Status     string            `json:"status"`
		Output     []json.RawMessage `json:"output"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Error json.RawMessage `json:"error"`
		Usage *struct {
			In        int `json:"input_tokens"`
			Out       int `json:"output_tokens"`
			InDetails struct {
				Cached int `json:"cached_tokens"`
			} `json:"input_tokens_details"`
			OutDetails struct {
				Reasoning int `json:"reasoning_tokens"`
			} `json:"output_tokens_details"`
			Cost *float64 `json:"cost"` // OpenRouter
		} `json:"usage"`
	}
)

func (a *responsesAnswer) event(_ string, data []byte) error {
	if string(data) == "[DONE]" { // some services send it here as well
		if a.finish == "" {
			return errNoEnd
		}
		a.whole = true
		return nil
	}
	var e responsesEvent
	if err := decode(data, &e); err != nil {
		return err
	}
	switch e.Type {
	case "response.output_item.added":
		return a.begin(e.Index, e.Item)
	case "response.output_item.done":
		return a.end(e.Index, e.Item)
	case "response.output_text.delta":
		a.speak(e.Index, inference.DeltaText, e.Delta)
	case "response.refusal.delta":
		a.refused = true
		a.speak(e.Index, inference.DeltaText, e.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.think(&e)
	case "response.function_call_arguments.delta":
		if it := a.items[e.Index]; it != nil && it.call != nil {
			return a.more(it.call, e.Delta)
		}
	case "response.completed", "response.incomplete":
		return a.settle(e.Response)
	case "response.failed", "error":
		return a.fault(&e, data)
	case "":
		return a.reply(data)
	default: // the beginning and end of parts of items have no new content
		if reported(e.Error) {
			return a.fault(&e, data)
		}
	}
	return nil
}

func (a *responsesAnswer) begin(index int, raw json.RawMessage) error {
	var w responsesItemHead
	if err := json.Unmarshal(raw, &w); err != nil {
		return &unreadableError{err: err}
	}
	if a.items == nil {
		a.items = map[int]*responsesItem{}
	}
	if len(a.items) >= maxCalls {
		return fmt.Errorf("the answer has more than %d items", maxCalls)
	}
	it := &responsesItem{kind: w.Type, block: -1}
	a.items[index] = it
	if w.Type == "function_call" {
		it.call = &toolCall{index: index, wireID: w.CallID, name: w.Name, block: a.newBlock()}
		a.calls = append(a.calls, it.call)
		a.start(it.call)
	}
	return nil
}

func (a *responsesAnswer) speak(index int, kind inference.DeltaKind, s string) {
	it := a.items[index]
	if it == nil { // the service does not announce its items
		it = &responsesItem{kind: "message", block: -1}
		if a.items == nil {
			a.items = map[int]*responsesItem{}
		}
		a.items[index] = it
	}
	if it.block < 0 {
		it.block = a.newBlock()
	}
	say(a.answer, it.block, kind, s)
}

// think adds a piece of reasoning. The parts of a summary are paragraphs.
func (a *responsesAnswer) think(e *responsesEvent) {
	if it := a.items[e.Index]; it != nil && it.block >= 0 && it.part != e.Part {
		it.part = e.Part
		say(a.answer, it.block, inference.DeltaThought, "\n\n")
	}
	a.speak(e.Index, inference.DeltaThought, e.Delta)
}

// end ends an item. Reasoning is sealed with the item, which is sent back unchanged.
func (a *responsesAnswer) end(index int, raw json.RawMessage) error {
	var w responsesItemHead
	if err := json.Unmarshal(raw, &w); err != nil {
		return &unreadableError{err: err}
	}
	it := a.items[index]
	if it == nil {
		if err := a.begin(index, raw); err != nil {
			return err
		}
		it = a.items[index]
	}
	switch {
	case it.call != nil && len(it.call.args) == 0: // its arguments arrived in one piece
		return a.more(it.call, w.Args)
	case w.Type == "reasoning" && w.Encrypted != "":
		if it.block < 0 {
			it.block = a.newBlock()
		}
		seal := sealedData{Of: a.model, Item: bytes.Clone(raw)}
		a.emit(inference.Delta{Kind: inference.DeltaSealed, Block: it.block, Sealed: seal.encode()})
	}
	return nil
}

// settle processes the complete response at the end of the stream.
func (a *responsesAnswer) settle(raw json.RawMessage) error {
	var w responsesWhole
	if err := json.Unmarshal(raw, &w); err != nil {
		return &unreadableError{err: err}
	}
	if u := w.Usage; u != nil && u.In+u.Out > 0 {
		a.usage = &core.Usage{
			In:        u.In,
			Out:       u.Out,
			CacheRead: u.InDetails.Cached,
			Reasoning: u.OutDetails.Reasoning,
			Cost:      u.Cost,
		}
	}
	switch {
	case w.Incomplete.Reason == "max_output_tokens":
		a.stop = core.StopTokens
	case w.Incomplete.Reason == "content_filter" || a.refused:
		a.stop = core.StopRefusal
	case w.Status == "incomplete" && w.Incomplete.Reason != "":
		return &unreadableError{err: fmt.Errorf("the answer is incomplete: %s", shorten(w.Incomplete.Reason, 100))}
	default:
		a.stop = core.StopEnd
	}
	a.finish, a.whole = "completed", true
	return nil
}

// reply processes a complete answer of a service that does not stream.
func (a *responsesAnswer) reply(data []byte) error {
	var w responsesWhole
	if err := json.Unmarshal(data, &w); err != nil {
		return &unreadableError{err: err}
	}
	if reported(w.Error) || w.Object != "response" {
		return &reportedError{data: bytes.Clone(data)}
	}
	for i, raw := range w.Output {
		var head responsesItemHead
		if err := json.Unmarshal(raw, &head); err != nil {
			return &unreadableError{err: err}
		}
		if err := a.begin(i, raw); err != nil {
			return err
		}
		for _, s := range head.Summary {
			a.speak(i, inference.DeltaThought, s.Text)
		}
		for _, c := range head.Content {
			a.refused = a.refused || c.Refusal != ""
			a.speak(i, inference.DeltaText, c.Text+c.Refusal)
		}
		if err := a.end(i, raw); err != nil {
			return err
		}
	}
	return a.settle(data)
}

// fault finds the error: in the event, or in its response.
func (a *responsesAnswer) fault(e *responsesEvent, data []byte) error {
	var w responsesWhole
	if json.Unmarshal(e.Response, &w) == nil && reported(w.Error) {
		data = []byte(`{"error":` + string(w.Error) + `}`)
	}
	return &reportedError{data: bytes.Clone(data)}
}
