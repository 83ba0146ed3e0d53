package llm

import (
	"bytes"
	"encoding/json"

	"dragoman/core/jsonscan"
)

// skimmer reads an event. Its methods report whether the input was as expected, and
// then advance past it.
type skimmer struct {
	jsonscan.Cursor

	seen  uint32 // members that must not occur twice
	usage []byte
	delta wireMessage
	calls [1]wireToolCall
	index int // of the call

	texts    int // members of the message that are a text
	from, to int // where the last one is, with its quotes
}

// read reads an event that contains only a piece of text, of a thought or of one call,
// and perhaps the usage so far, as most events of an answer do. ok is false for all other
// events and for ambiguous ones, which encoding/json has to read. The results are valid
// until the next call.
func (s *skimmer) read(data []byte) (m *wireMessage, u *wireUsage, ok bool) {
	*s = skimmer{Cursor: jsonscan.NewCursor(data)}
	if !s.object((*skimmer).chunk) || !s.End() || s.seen&sawChoice == 0 {
		return nil, nil, false
	}
	if s.usage != nil {
		u = new(wireUsage)
		if json.Unmarshal(s.usage, u) != nil {
			return nil, nil, false
		}
	}
	return &s.delta, u, true
}

const (
	sawChoice = 1 << iota
	sawUsage
	sawError
	sawIndex
	sawDelta
	sawMessage
	sawFinish
	sawContent
	sawReasoning
	sawReasoningContent
	sawRefusal
	sawToolCalls
	sawCallIndex
	sawID
	sawFunction
	sawExtra
	sawName
	sawArguments
)

func (s *skimmer) chunk(key []byte) bool {
	switch string(key) {
	case "choices":
		return s.once(sawChoice) && s.Take('[') && s.object((*skimmer).choice) && s.Take(']')
	case "usage":
		raw, ok := s.Value()
		if string(raw) != "null" {
			s.usage = raw
		}
		return s.once(sawUsage) && ok
	case "error":
		return s.once(sawError) && s.Null()
	}
	return s.foreign(key, "choices", "usage", "error")
}

func (s *skimmer) choice(key []byte) bool {
	switch string(key) {
	case "index":
		return s.once(sawIndex) && s.Literal("0")
	case "delta":
		return s.once(sawDelta) && s.object((*skimmer).message)
	case "message":
		return s.once(sawMessage) && s.Null()
	case "finish_reason":
		return s.once(sawFinish) && s.Null()
	}
	return s.foreign(key, "index", "delta", "message", "finish_reason")
}

func (s *skimmer) message(key []byte) bool {
	switch string(key) {
	case "content":
		return s.once(sawContent) && s.piece(&s.delta.Content.text)
	case "reasoning":
		return s.once(sawReasoning) && s.piece(&s.delta.Reasoning)
	case "reasoning_content":
		return s.once(sawReasoningContent) && s.piece(&s.delta.ReasoningContent)
	case "refusal":
		return s.once(sawRefusal) && s.Null()
	case "tool_calls":
		return s.once(sawToolCalls) && (s.Null() || s.oneCall())
	}
	return s.foreign(key, "content", "reasoning", "reasoning_content", "refusal", "tool_calls")
}

// piece reads a text, and notes where it is.
func (s *skimmer) piece(to *string) bool {
	if s.Null() {
		return true
	}
	s.texts++
	s.from = s.Offset() // Null has skipped the space in front of it
	ok := s.Text(to)
	s.to = s.Offset()
	return ok
}

// oneCall reads a list of one call, or of none.
func (s *skimmer) oneCall() bool {
	if !s.Take('[') {
		return false
	}
	if s.Take(']') {
		return true
	}
	s.delta.ToolCalls = s.calls[:]
	return s.object((*skimmer).call) && s.Take(']')
}

func (s *skimmer) call(key []byte) bool {
	switch string(key) {
	case "index":
		return s.once(sawCallIndex) && s.digit()
	case "id":
		return s.once(sawID) && s.Text(&s.calls[0].ID)
	case "function":
		return s.once(sawFunction) && s.object((*skimmer).function)
	case "extra_content":
		return s.once(sawExtra) && s.Null()
	}
	return s.foreign(key, "index", "id", "function", "extra_content")
}

func (s *skimmer) function(key []byte) bool {
	f := &s.calls[0].Function
	switch string(key) {
	case "name":
		return s.once(sawName) && s.Text(&f.Name)
	case "arguments":
		return s.once(sawArguments) && s.Peek() == '"' && s.Text((*string)(&f.Arguments))
	}
	return s.foreign(key, "name", "arguments")
}

// digit reads the index of a call, if it is a small one.
func (s *skimmer) digit() bool {
	b := s.Peek()
	if b < '0' || b > '9' || !s.Literal(string(rune(b))) {
		return false
	}
	s.index = int(b - '0')
	s.calls[0].Index = &s.index
	return true
}

// once reports whether a member occurs for the first time: of duplicates the last
// counts.
func (s *skimmer) once(what uint32) bool {
	first := s.seen&what == 0
	s.seen |= what
	return first
}

// foreign skips a member that has no meaning here. encoding/json ignores the case of
// names.
func (s *skimmer) foreign(key []byte, ours ...string) bool {
	for _, o := range ours {
		if len(o) == len(key) && bytes.EqualFold(key, []byte(o)) {
			return false
		}
	}
	return s.Skip()
}

func (s *skimmer) object(member func(*skimmer, []byte) bool) bool {
	if !s.Take('{') {
		return false
	}
	if s.Take('}') {
		return true
	}
	for {
		key, ok := s.Key()
		if !ok || !member(s, key) {
			return false
		}
		if !s.Take(',') {
			return s.Take('}')
		}
	}
}
