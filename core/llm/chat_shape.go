package llm

import (
	"bytes"

	"dragoman/core/jsonscan"
)

// chatShape is the form of an event that was skimmed and contains one piece of text and nothing
// else. Most services send many events of one form. The zero value is no form.
type chatShape struct {
	known         bool
	before, after []byte // around the text, with its quotes
	field         string // of the message, if it holds a thought
}

// learn keeps the form of an event that s has read.
func (f *chatShape) learn(s *skimmer, data []byte) {
	m := &s.delta
	if f.known = s.texts == 1 && s.usage == nil && m.ToolCalls == nil; !f.known {
		return
	}
	switch {
	case m.Content.text != "":
		f.field = ""
	case m.Reasoning != "":
		f.field = "reasoning"
	case m.ReasoningContent != "":
		f.field = "reasoning_content"
	default: // the text is empty
		f.known = false
		return
	}
	f.before = append(f.before[:0], data[:s.from+1]...)
	f.after = append(f.after[:0], data[s.to-1:]...)
}

// text returns the text of an event of this form. It has no escapes.
func (f *chatShape) text(data []byte) (text []byte, ok bool) {
	end := len(data) - len(f.after)
	if !f.known || end < len(f.before) || !bytes.Equal(data[end:], f.after) || !bytes.HasPrefix(data, f.before) {
		return nil, false
	}
	text = data[len(f.before):end]
	return text, jsonscan.Plain(text)
}
