package loop

import (
	"dragoman/core"
	"dragoman/core/inference"
)

// How a conversation's size is estimated where no provider has counted it.
const (
	bytesPerToken = 4
	pictureBytes  = 6000 // what a picture fills, as text would
	// unknownWindow is taken for the window of a model that does not tell its own.
	unknownWindow = 128_000
)

// load is how much the messages of a history fill.
type load struct {
	bytes int // of the messages
	// tokens is what the last request and its answer filled, as it was counted, and
	// at is what bytes was then; tokens is 0 where nobody has counted.
	tokens, at int
}

// total is about how many tokens a request takes that has base bytes beside the
// messages.
func (l load) total(base int) int {
	if l.tokens == 0 {
		return (base + l.bytes) / bytesPerToken
	}
	return max(0, l.tokens+(l.bytes-l.at)/bytesPerToken)
}

// counted notes what a request and its answer filled.
func (l *load) counted(tokens int) {
	if tokens > 0 {
		l.tokens, l.at = tokens, l.bytes
	}
}

// weigh is about how many bytes of text blocks are worth.
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
		case core.Diff, core.Terminal: // a model is told something shorter
		}
	}
	return n
}

// beside is how many bytes a request has beside its messages.
func beside(req *inference.Request) int {
	n := len(req.System)
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}
