package ecaserver

import (
	"cmp"
	"encoding/base64"
	"path"
	"path/filepath"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/fileuri"
)

// texts returns the texts of a message as one, and its other blocks. A file or page that is mentioned between
// texts is named there: the sentence would have a gap.
func texts(blocks []core.Block) (text string, others []core.Block) {
	var b strings.Builder
	names := "" // that belong before the next text
	for _, block := range blocks {
		t, ok := block.(core.Text)
		if !ok {
			others = append(others, block)
			names += nameOf(block)
			continue
		}
		if b.Len() > 0 {
			b.WriteString(names)
		}
		names = ""
		b.WriteString(t.Text)
	}
	return b.String(), others
}

// nameOf returns the name of a file or page that a message mentions; "": it is something else.
func nameOf(block core.Block) string {
	switch b := block.(type) {
	case core.Link:
		return cmp.Or(b.Name, baseOf(b.URI))
	case core.Resource:
		return baseOf(b.URI)
	case core.Text, core.Image, core.Audio, core.Diff, core.Terminal:
	}
	return ""
}

// baseOf returns the last part of an address, without its query and fragment.
func baseOf(uri string) string {
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		uri = uri[:i]
	}
	return path.Base(uri)
}

// contexts returns a message in the form that the server takes: its texts, and the contexts that it refers
// to. What has no form is named in the text.
func (c *conversation) contexts(blocks []core.Block) (text string, list []eca.Context) {
	text, others := texts(blocks)
	for _, block := range others {
		switch b := block.(type) {
		case core.Link:
			list = append(list, c.linked(b.URI, [2]int{}))
		case core.Resource:
			switch {
			case b.Blob != nil && strings.HasPrefix(b.MIME, "image/"):
				list = append(list, eca.Context{Type: eca.ContextImage, MediaType: b.MIME, Base64: base64.StdEncoding.EncodeToString(b.Blob)})
			case b.Blob != nil, b.Text == "":
				list = append(list, c.linked(b.URI, b.Lines))
			default:
				list = append(list, eca.Context{Type: eca.ContextText, Label: b.URI, Content: b.Text})
			}
		case core.Image:
			if len(b.Data) == 0 {
				list = append(list, c.linked(b.URI, [2]int{}))
				continue
			}
			list = append(list, eca.Context{Type: eca.ContextImage, MediaType: b.MIME, Base64: base64.StdEncoding.EncodeToString(b.Data)})
		case core.Text, core.Audio, core.Diff, core.Terminal: // refused before, or nobody's prompt
		}
	}
	if strings.TrimSpace(text) == "" && len(list) > 0 { // some servers take no message without words
		var names []string
		for _, is := range list {
			names = append(names, path.Base(is.Path+is.URL+is.Label))
		}
		text = strings.Join(names, " ")
	}
	return text, list
}

// steering returns a message to the turn that runs, which has no contexts: the addresses of what it mentions are
// behind its words, for the agent to read.
func (c *conversation) steering(blocks []core.Block) string {
	text, others := texts(blocks)
	list := []string{strings.TrimSpace(text)}
	for _, block := range others {
		switch b := block.(type) {
		case core.Link:
			is := c.linked(b.URI, [2]int{})
			list = append(list, is.Path+is.URL)
		case core.Resource:
			is := c.linked(b.URI, b.Lines)
			list = append(list, is.Path+is.URL)
			if is.Path == "" && b.Text != "" { // the agent cannot read it
				list = append(list, b.Text)
			}
		case core.Text, core.Image, core.Audio, core.Diff, core.Terminal:
		}
	}
	return strings.TrimSpace(strings.Join(list, "\n"))
}

// linked returns the context of an address.
func (c *conversation) linked(uri string, lines [2]int) eca.Context {
	at, err := fileuri.Path(uri)
	if err != nil {
		return eca.Context{Type: eca.ContextWeb, URL: uri}
	}
	is := eca.Context{Type: eca.ContextFile, Path: c.b.paths.There(filepath.Clean(at))}
	if strings.HasSuffix(uri, "/") {
		is.Type = eca.ContextDirectory
	} else if lines[0] > 0 {
		is.LinesRange = &eca.LinesRange{Start: lines[0], End: max(lines[1], lines[0])}
	}
	return is
}
