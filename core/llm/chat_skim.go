package llm

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// skimmer walks over JSON. Its methods report whether all was as it is expected, and
// stand behind it then.
type skimmer struct {
	data []byte
	at   int

	seen  uint32 // what must not come twice
	usage []byte
	delta wireMessage
	calls [1]wireToolCall
	index int // of the call
}

// read reads an event that says no more than a piece of text, of a thought or of one
// call, and perhaps what was used so far: most of an answer's are like that. ok is
// false for any other, and for whatever could be read in two ways: encoding/json reads
// it then. The results are valid until the next call.
func (s *skimmer) read(data []byte) (m *wireMessage, u *wireUsage, ok bool) {
	*s = skimmer{data: data}
	if !s.object((*skimmer).chunk) || s.peek() != 0 || s.at != len(data) || s.seen&sawChoice == 0 {
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

// maxSkimmed is how deep what is passed over may be nested.
const maxSkimmed = 20

func (s *skimmer) chunk(key []byte) bool {
	switch string(key) {
	case "choices":
		return s.once(sawChoice) && s.take('[') && s.object((*skimmer).choice) && s.take(']')
	case "usage":
		from := s.at
		if !s.once(sawUsage) || !s.skip(0) {
			return false
		}
		if raw := bytes.TrimSpace(s.data[from:s.at]); string(raw) != "null" {
			s.usage = raw
		}
		return true
	case "error":
		return s.once(sawError) && s.null()
	}
	return s.foreign(key, "choices", "usage", "error")
}

func (s *skimmer) choice(key []byte) bool {
	switch string(key) {
	case "index":
		return s.once(sawIndex) && s.literal("0")
	case "delta":
		return s.once(sawDelta) && s.object((*skimmer).message)
	case "message":
		return s.once(sawMessage) && s.null()
	case "finish_reason":
		return s.once(sawFinish) && s.null()
	}
	return s.foreign(key, "index", "delta", "message", "finish_reason")
}

func (s *skimmer) message(key []byte) bool {
	switch string(key) {
	case "content":
		return s.once(sawContent) && s.text(&s.delta.Content.text)
	case "reasoning":
		return s.once(sawReasoning) && s.text(&s.delta.Reasoning)
	case "reasoning_content":
		return s.once(sawReasoningContent) && s.text(&s.delta.ReasoningContent)
	case "refusal":
		return s.once(sawRefusal) && s.null()
	case "tool_calls":
		return s.once(sawToolCalls) && (s.null() || s.oneCall())
	}
	return s.foreign(key, "content", "reasoning", "reasoning_content", "refusal", "tool_calls")
}

// oneCall reads a list of one call, or of none.
func (s *skimmer) oneCall() bool {
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	s.delta.ToolCalls = s.calls[:]
	return s.object((*skimmer).call) && s.take(']')
}

func (s *skimmer) call(key []byte) bool {
	switch string(key) {
	case "index":
		return s.once(sawCallIndex) && s.digit()
	case "id":
		return s.once(sawID) && s.text(&s.calls[0].ID)
	case "function":
		return s.once(sawFunction) && s.object((*skimmer).function)
	case "extra_content":
		return s.once(sawExtra) && s.null()
	}
	return s.foreign(key, "index", "id", "function", "extra_content")
}

func (s *skimmer) function(key []byte) bool {
	f := &s.calls[0].Function
	switch string(key) {
	case "name":
		return s.once(sawName) && s.text(&f.Name)
	case "arguments":
		return s.once(sawArguments) && s.peek() == '"' && s.text((*string)(&f.Arguments))
	}
	return s.foreign(key, "name", "arguments")
}

// digit takes the index of a call, where it is a small one.
func (s *skimmer) digit() bool {
	b := s.peek()
	if b < '0' || b > '9' || !s.literal(string(rune(b))) {
		return false
	}
	s.index = int(b - '0')
	s.calls[0].Index = &s.index
	return true
}

// once reports whether something comes for the first time: of two the last counts.
func (s *skimmer) once(what uint32) bool {
	first := s.seen&what == 0
	s.seen |= what
	return first
}

// foreign passes over a member that means nothing here. Names that differ in their
// letters' case alone mean the same to encoding/json.
func (s *skimmer) foreign(key []byte, ours ...string) bool {
	for _, o := range ours {
		if len(o) == len(key) && bytes.EqualFold(key, []byte(o)) {
			return false
		}
	}
	return s.skip(0)
}

func (s *skimmer) object(member func(*skimmer, []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		key, plain, ok := s.str()
		if !ok || !plain || !s.take(':') || !member(s, key) {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// text reads a string, or null.
func (s *skimmer) text(to *string) bool {
	if s.null() {
		return true
	}
	s.peek()
	from := s.at
	inner, plain, ok := s.str()
	switch {
	case !ok:
		return false
	case plain && utf8.Valid(inner):
		*to = string(inner)
		return true
	}
	return json.Unmarshal(s.data[from:s.at], to) == nil
}

func (s *skimmer) null() bool { return s.literal("null") }

// peek is the next byte that is no space; 0: there is none.
func (s *skimmer) peek() byte {
	for s.at < len(s.data) {
		switch b := s.data[s.at]; b {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return b
		}
	}
	return 0
}

func (s *skimmer) take(b byte) bool {
	if s.peek() != b {
		return false
	}
	s.at++
	return true
}

// literal takes a word, which nothing may go on behind.
func (s *skimmer) literal(word string) bool {
	if s.peek() != word[0] {
		return false
	}
	end := s.at + len(word)
	if end > len(s.data) || string(s.data[s.at:end]) != word {
		return false
	}
	if end < len(s.data) {
		switch s.data[end] {
		case ' ', '\t', '\r', '\n', ',', '}', ']':
		default:
			return false
		}
	}
	s.at = end
	return true
}

// str takes a string. plain says that it is ASCII and nothing in it stands for something
// else.
func (s *skimmer) str() (inner []byte, plain, ok bool) {
	if !s.take('"') {
		return nil, false, false
	}
	rest := s.data[s.at:]
	plain = true
	for i := 0; i < len(rest); i++ {
		switch b := rest[i]; {
		case b == '"':
			s.at += i + 1
			return rest[:i], plain, true
		case b == '\\':
			plain = false
			n := escape(rest[i+1:])
			if n == 0 {
				return nil, false, false
			}
			i += n
		case b < ' ':
			return nil, false, false
		case b >= utf8.RuneSelf:
			plain = false
		}
	}
	return nil, false, false
}

// escape is how many bytes behind a backslash belong to it; 0: none may.
func escape(b []byte) int {
	switch {
	case len(b) == 0:
	case bytes.IndexByte([]byte(`"\/bfnrt`), b[0]) >= 0:
		return 1
	case b[0] == 'u' && len(b) > 4:
		for _, h := range b[1:5] {
			if (h < '0' || h > '9') && (h|0x20 < 'a' || h|0x20 > 'f') {
				return 0
			}
		}
		return 5
	}
	return 0
}

// skip passes over any value.
func (s *skimmer) skip(depth int) bool {
	if depth > maxSkimmed {
		return false
	}
	switch b := s.peek(); b {
	case '"':
		_, _, ok := s.str()
		return ok
	case '{', '[':
		return s.skipAll(b, depth)
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	}
	return s.number()
}

// skipAll passes over an object or a list.
func (s *skimmer) skipAll(open byte, depth int) bool {
	s.at++
	end := open + 2 // of both
	if s.take(end) {
		return true
	}
	for {
		if open == '{' {
			if _, _, ok := s.str(); !ok || !s.take(':') {
				return false
			}
		}
		if !s.skip(depth + 1) {
			return false
		}
		if !s.take(',') {
			return s.take(end)
		}
	}
}

func (s *skimmer) number() bool {
	digits := func() bool {
		from := s.at
		for s.at < len(s.data) && s.data[s.at] >= '0' && s.data[s.at] <= '9' {
			s.at++
		}
		return s.at > from
	}
	is := func(any string) bool {
		if s.at < len(s.data) && bytes.IndexByte([]byte(any), s.data[s.at]) >= 0 {
			s.at++
			return true
		}
		return false
	}
	is("-")
	if !is("0") && !digits() {
		return false
	}
	if is(".") && !digits() {
		return false
	}
	if is("eE") {
		is("+-")
		return digits()
	}
	return true
}
