package llm

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// likeness is an event whose only news is a piece of text, without that text. Most
// events of an answer differ in nothing else, and are read by comparing.
type likeness struct {
	head, tail []byte // the text stood between them, in quotes; nil: none is known
	misses     int    // in a row
}

// maxMisses is how often an event may differ otherwise before nothing is compared any
// more: some services put something new into each.
const maxMisses = 8

// text returns the text of an event that is like the one before. Between the quotes
// of a string, characters that stand for themselves change nothing else.
func (l *likeness) text(data []byte) (string, bool) {
	if !l.fits(data) {
		return "", false
	}
	piece := data[len(l.head) : len(data)-len(l.tail)]
	for _, b := range piece {
		if b < ' ' || b == '"' || b == '\\' {
			return "", false
		}
	}
	if !utf8.Valid(piece) {
		return "", false
	}
	l.misses = 0
	return string(piece), true
}

func (l *likeness) fits(data []byte) bool {
	return l.head != nil && len(data) >= len(l.head)+len(l.tail) && bytes.HasPrefix(data, l.head) && bytes.HasSuffix(data, l.tail)
}

// learn takes an event that was read as c for what the next ones may be like.
func (l *likeness) learn(data []byte, c *wireChunk) {
	if l.misses > maxMisses || !c.onlyText() || l.fits(data) {
		return
	}
	l.misses++
	l.head, l.tail = nil, nil
	const key = `"content":"`
	at := bytes.Index(data, []byte(key))
	if at < 0 {
		return
	}
	at += len(key)
	end := at + len(c.Choices[0].Delta.Content.text)
	if end >= len(data) || data[end] != '"' || string(data[at:end]) != c.Choices[0].Delta.Content.text {
		return
	}
	// The same words may stand elsewhere: whether this is the place shows when others
	// are put there.
	const other = "\u2042 another text"
	probe := append(append(bytes.Clone(data[:at]), other...), data[end:]...)
	var p wireChunk
	if json.Unmarshal(probe, &p) != nil || !p.onlyText() || p.Choices[0].Delta.Content.text != other {
		return
	}
	l.head, l.tail = bytes.Clone(data[:at]), bytes.Clone(data[end:])
}

// onlyText reports whether a chunk holds a piece of text and nothing else that counts.
func (c *wireChunk) onlyText() bool {
	if len(c.Choices) != 1 || c.Usage != nil || reported(c.Error) {
		return false
	}
	one := &c.Choices[0]
	d := &one.Delta
	return one.Index == 0 && one.Message == nil && one.FinishReason == "" && d.Content.text != "" && d.Content.thought == "" &&
		d.Reasoning == "" && d.ReasoningContent == "" && d.Refusal == "" && len(d.ToolCalls) == 0
}
