package acp

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// Some clients cannot read a line of 64 KiB, so what is long is sent in pieces or
// cut. Sizes are in bytes, as they stand in the line.
const (
	// maxChunk is how much of a message's text one update carries.
	maxChunk = 32 << 10
	// maxTail is how much of a running call's output is shown.
	maxTail = 4 << 10
	// maxResult is how much of a call's text is shown.
	maxResult = 10 << 10
	// maxDiff is how much text a change has before only what differs is shown, with
	// contextLines around it.
	maxDiff      = 40 << 10
	contextLines = 3
	// maxLocations is how many places of a call are told.
	maxLocations = 100
)

// chunks appends a message's text, in pieces that every client can read.
func chunks(dst []byte, v *View, kind, id, text string) []byte {
	for len(text) > 0 {
		n := wire.Fit(text, maxChunk)
		dst = head(dst, v)
		dst = append(dst, `{"sessionUpdate":"`...)
		dst = append(dst, kind...)
		dst = append(dst, `","content":{"type":"text","text":`...)
		dst = wire.AppendString(dst, text[:n])
		dst = append(dst, '}')
		if id != "" {
			dst = append(dst, `,"messageId":`...)
			dst = wire.AppendString(dst, id)
		}
		dst = append(dst, "}}}\n"...)
		text = text[n:]
	}
	return dst
}

// cut shortens a text that is too long, and says where the rest is.
func cut(s string, room int, v *View) string {
	n := wire.Fit(s, max(room, 1))
	if n == len(s) {
		return s
	}
	if room <= 0 {
		n = 0
	}
	return s[:n] + "\n[… " + strconv.Itoa(len(s)-n) + " bytes more; `dragoman sessions show " + string(v.Session) + "` has all of it]"
}

// content is a block as the protocol has it. What has no form outside of a tool
// call becomes text.
func content(b core.Block) acp.ContentBlock {
	switch b := b.(type) {
	case core.Text:
		return text(b.Text)
	case core.Image:
		return acp.ContentBlock{Type: "image", Data: base64.StdEncoding.EncodeToString(b.Data), MIMEType: b.MIME, URI: b.URI}
	case core.Audio:
		return acp.ContentBlock{Type: "audio", Data: base64.StdEncoding.EncodeToString(b.Data), MIMEType: b.MIME}
	case core.Link:
		c := acp.ContentBlock{Type: "resource_link", URI: b.URI, Name: b.Name, Title: b.Title, Description: b.Description, MIMEType: b.MIME}
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
			s := base64.StdEncoding.EncodeToString(b.Blob)
			res.Blob = &s
		} else {
			res.Text = &b.Text
		}
		return acp.ContentBlock{Type: "resource", Resource: res}
	case core.Diff:
		return text(b.Patch)
	case core.Terminal: // what it printed is text beside it
	}
	return text("")
}

func text(s string) acp.ContentBlock { return acp.ContentBlock{Type: "text", Text: &s} }

// rawOf is raw input or output as far as it fits.
func rawOf(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxResult {
		return nil
	}
	return raw
}
