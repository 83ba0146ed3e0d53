package loop

import (
	"dragoman/core"
	"dragoman/core/inference"
)

// How a conversation's size is estimated if no provider has counted it.
const (
	bytesPerToken = 4
	pictureBytes  = 6000 // the size of a picture as text
	// unknownWindow is the assumed window of a model whose window is unknown.
	unknownWindow = 128_000
)

// load measures the messages of a history.
type load struct {
	bytes int // of the messages
	// tokens is the counted size of the last request and its answer, and at the value of
	// bytes at that time; tokens is 0 if there was no count.
	tokens, at int
}

// total estimates the tokens of a request that has base bytes without its messages.
func (l load) total(base int) int {
	if l.tokens == 0 {
		return (base + l.bytes) / bytesPerToken
	}
	return max(0, l.tokens+(l.bytes-l.at)/bytesPerToken)
}

// counted records the counted size of a request and its answer.
func (l *load) counted(tokens int) {
	if tokens > 0 {
		l.tokens, l.at = tokens, l.bytes
	}
}

// weigh returns the approximate size of blocks in bytes of text.
func weigh(blocks []core.Block) (n int) {
	for _, b := range blocks {
		switch b := b.(type) {
		case core.Text:
			n += len(b.Text)
		case core.Resource:
			n += len(b.URI) + len(b.Text) + len(b.Blob)
		case core.Link:
			n += len(b.URI) + len(b.Description)
		case core.Image:
			n += pictureBytes
		case core.Audio:
			n += len(b.Data)
		case core.Diff, core.Terminal: // the model gets a shorter text
		}
	}
	return n
}

// beside returns the number of bytes of a request without its messages.
func beside(req *inference.Request) int {
	n := len(req.System)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}
