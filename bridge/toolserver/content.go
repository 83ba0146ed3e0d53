package toolserver

import (
	"encoding/json"

	"dragoman/adapters/wire"
	"dragoman/core"
)

// content is a block of a result.
type content struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitempty"`
	Data     []byte    `json:"data,omitempty"`
	MIME     string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Title    string    `json:"title,omitempty"`
	About    string    `json:"description,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

// resource is an embedded resource: a text, or bytes.
type resource struct {
	URI  string  `json:"uri"`
	MIME string  `json:"mimeType,omitempty"`
	Text *string `json:"text,omitempty"`
	Blob []byte  `json:"blob,omitempty"`
}

// resultOf returns a result in the form of tools/call: as its server wrote it, if one did.
func resultOf(r core.Result) json.RawMessage {
	if r.Raw != nil {
		return r.Raw
	}
	out := struct {
		Content    []content       `json:"content"`
		Structured json.RawMessage `json:"structuredContent,omitempty"`
		Failed     bool            `json:"isError,omitempty"`
		Meta       json.RawMessage `json:"_meta,omitempty"`
	}{Content: []content{}, Structured: r.Structured, Failed: r.Failed, Meta: r.Meta}
	for _, b := range r.Blocks {
		if c, ok := contentOf(b); ok {
			out.Content = append(out.Content, c)
		}
	}
	text, err := wire.AppendJSON(nil, out)
	if err != nil { // a tool's own JSON is broken
		return failed("the result of the tool cannot be encoded")
	}
	return text
}

// contentOf translates a block; false: it only shows something to people.
func contentOf(b core.Block) (content, bool) {
	switch b := b.(type) {
	case core.Text:
		return textContent(b.Text), true
	case core.Image:
		if len(b.Data) == 0 {
			return linkContent(core.Link{URI: b.URI, MIME: b.MIME}), true
		}
		return content{Type: "image", Data: b.Data, MIME: b.MIME}, true
	case core.Audio:
		return content{Type: "audio", Data: b.Data, MIME: b.MIME}, true
	case core.Link:
		return linkContent(b), true
	case core.Resource:
		r := &resource{URI: b.URI, MIME: b.MIME, Blob: b.Blob}
		if len(b.Blob) == 0 {
			r.Text = &b.Text
		}
		return content{Type: "resource", Resource: r}, true
	case core.Diff:
		return textContent(b.Patch), b.Patch != ""
	case core.Terminal:
	}
	return content{}, false
}

func textContent(text string) content { return content{Type: "text", Text: &text} }

func linkContent(l core.Link) content {
	c := content{Type: "resource_link", URI: l.URI, Name: l.Name, Title: l.Title, About: l.Description, MIME: l.MIME, Size: l.Size}
	if c.Name == "" {
		c.Name = l.URI
	}
	return c
}

// failed is the result of a call that did not take place.
func failed(why string) json.RawMessage {
	return resultOf(core.Result{Blocks: []core.Block{core.Text{Text: why}}, Failed: true})
}
