package acp

import (
	"cmp"
	"encoding/json"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// Some clients cannot read a line of 64 KiB, so long content is split or cut. Sizes are in bytes,
// as encoded in the line.
const (
	// maxChunk limits the text of a message in one update; maxWhole that in a history.
	maxChunk = 32 << 10
	// maxTail limits the visible output of a running call.
	maxTail = 4 << 10
	// maxResult limits the visible text of a call.
	maxResult = 10 << 10
	// maxDiff limits the text of a change that is shown whole. Of a larger one only the differing
	// lines are shown, with contextLines around them.
	maxDiff      = 40 << 10
	contextLines = 3
	// maxLocations limits the locations of a call in an update, and maxPaths their bytes.
	maxLocations = 100
	maxPaths     = 16 << 10
)

// chunks appends a message's text in pieces that every client can read, or gives it to the history.
func chunks(dst []byte, v *View, kind, id, text string) []byte {
	if v.history != nil {
		return v.history.say(dst, v, kind, id, text)
	}
	for len(text) > 0 {
		n := jsonscan.Fit(text, maxChunk)
		dst = appendChunk(dst, v, kind, id, text[:n])
		text = text[n:]
	}
	return dst
}

func appendChunk(dst []byte, v *View, kind, id, text string) []byte {
	dst = head(dst, v)
	dst = append(dst, `{"sessionUpdate":"`...)
	dst = append(dst, kind...)
	dst = append(dst, `","content":{"type":"text","text":`...)
	dst = jsonscan.AppendString(dst, text)
	dst = append(dst, '}')
	if id != "" {
		dst = append(dst, `,"messageId":`...)
		dst = jsonscan.AppendString(dst, id)
	}
	return append(dst, "}}}\n"...)
}

// cut shortens a text that is too long, and names the place of the rest.
func cut(s string, room int, v *View) string {
	head, note := short(s, room, v)
	return head + note
}

// content returns a block in the protocol's form. A block that has a form only within a tool call
// becomes text.
func content(b core.Block) acp.ContentBlock {
	switch b := b.(type) {
	case core.Text:
		return text(b.Text)
	case core.Image:
		return acp.ContentBlock{
			Type:     "image",
			Data:     b.Data,
			MIMEType: b.MIME,
			URI:      b.URI,
		}
	case core.Audio:
		return acp.ContentBlock{
			Type:     "audio",
			Data:     b.Data,
			MIMEType: b.MIME,
		}
	case core.Link:
		c := acp.ContentBlock{
			Type:        "resource_link",
			URI:         b.URI,
			Name:        b.Name,
			Title:       b.Title,
			Description: b.Description,
			MIMEType:    b.MIME,
		}
		if c.Name == "" {
			c.Name = b.URI
		}
		if b.Size > 0 {
			c.Size = &b.Size
		}
		return c
	case core.Resource:
		res := &acp.Resource{URI: b.URI, MIMEType: b.MIME}
		if b.Blob != nil {
			data := acp.Data(b.Blob)
			res.Blob = &data
		} else {
			res.Text = &b.Text
		}
		return acp.ContentBlock{Type: "resource", Resource: res}
	case core.Diff:
		return text(b.Patch)
	case core.Terminal: // its output is a text of its own
	}
	return text("")
}

// linkTo returns a link or a resource as a text.
func linkTo(b core.Block) string {
	name, uri := "", ""
	switch b := b.(type) {
	case core.Link:
		name, uri = cmp.Or(b.Title, b.Name), b.URI
	case core.Resource:
		uri = b.URI
	case core.Text, core.Image, core.Audio, core.Diff, core.Terminal:
	}
	return "[" + display.Seen(cmp.Or(name, uri)) + "](" + uri + ")"
}

func text(s string) acp.ContentBlock { return acp.ContentBlock{Type: "text", Text: &s} }

// rawOf returns raw input or output if it fits.
func rawOf(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxResult {
		return nil
	}
	return raw
}
