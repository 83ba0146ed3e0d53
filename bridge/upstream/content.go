package upstream

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
)

// maxText limits the text of a result's blocks, in bytes: its beginning and its end. The whole text
// is then in a file.
const maxText = 64 << 10

// parseResult reads the result of a call. Unknown content is passed on as JSON, so that nothing
// is lost.
func parseResult(res json.RawMessage, spills core.Spills) (core.Result, error) {
	var r struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		Failed     bool              `json:"isError"`
		Meta       json.RawMessage   `json:"_meta"`
	}
	if err := wire.Unmarshal(res, &r); err != nil {
		return core.Result{}, fmt.Errorf("the answer to tools/call: %v", err)
	}
	out := core.Result{
		Failed:     r.Failed,
		Structured: present(r.Structured),
		Raw:        res,
		Meta:       present(r.Meta),
	}
	for _, item := range r.Content {
		out.Blocks = append(out.Blocks, parseContent(item))
	}
	if rest := unsaid(out.Structured, out.Blocks); rest != nil {
		out.Blocks = append(out.Blocks, core.Text{Text: string(rest)})
	}
	out.Blocks, out.Spill = shorten(out.Blocks, spills)
	if len(out.Structured) > maxText {
		out.Structured = nil
	}
	return out, nil
}

// present returns nil for null.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// parseContent reads one content block.
func parseContent(item json.RawMessage) core.Block {
	var c struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Data        []byte `json:"data"`
		MIME        string `json:"mimeType"`
		URI         string `json:"uri"`
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Size        int64  `json:"size"`
		Resource    struct {
			URI  string `json:"uri"`
			MIME string `json:"mimeType"`
			Text string `json:"text"`
			Blob []byte `json:"blob"`
		} `json:"resource"`
	}
	if err := wire.Unmarshal(item, &c); err == nil {
		switch c.Type {
		case "text":
			return core.Text{Text: c.Text}
		case "image":
			return core.Image{MIME: c.MIME, Data: c.Data}
		case "audio":
			return core.Audio{MIME: c.MIME, Data: c.Data}
		case "resource_link":
			return core.Link{
				URI:         c.URI,
				Name:        c.Name,
				Title:       c.Title,
				Description: c.Description,
				MIME:        c.MIME,
				Size:        c.Size,
			}
		case "resource":
			return core.Resource{
				URI:  c.Resource.URI,
				MIME: c.Resource.MIME,
				Text: c.Resource.Text,
				Blob: c.Resource.Blob,
			}
		}
	}
	return core.Text{Text: string(item)}
}

// shorten cuts the text of blocks to maxText in total. A cut text is marked, with a reference to
// the whole, which is also returned.
func shorten(blocks []core.Block, spills core.Spills) (_ []core.Block, spill string) {
	total := 0
	for _, b := range blocks {
		total += len(textOf(b))
	}
	if total <= maxText {
		return blocks, ""
	}
	where := "the rest is lost"
	ref, err := keep(blocks, spills)
	if err == nil {
		where = "all of it is in " + ref + ", for read_file and grep"
	}
	left := maxText
	out := make([]core.Block, 0, len(blocks))
	for _, b := range blocks {
		text := textOf(b)
		if len(text) <= left {
			left -= len(text)
			out = append(out, b)
			continue
		}
		if left == 0 {
			continue
		}
		out = append(out, withText(b, ends(text, left, where)))
		left = 0
	}
	return out, ref
}

func textOf(b core.Block) string {
	switch b := b.(type) {
	case core.Text:
		return b.Text
	case core.Resource:
		return b.Text
	case core.Image, core.Audio, core.Link, core.Diff, core.Terminal:
	}
	return ""
}

func withText(b core.Block, text string) core.Block {
	if r, ok := b.(core.Resource); ok {
		r.Text = text
		return r
	}
	return core.Text{Text: text}
}

// ends returns the beginning and the end of a text, n bytes in total.
func ends(text string, n int, where string) string {
	head, tail, left := display.Ends(text, n*2/3, n/3)
	return fmt.Sprintf("%s\n… %d bytes are left out; %s …\n%s", head, left, where, tail)
}

// keep writes the text of blocks to a file, and returns a reference to it.
func keep(blocks []core.Block, spills core.Spills) (ref string, err error) {
	if spills == nil {
		return "", errors.New("there is no place for it")
	}
	f, ref, err := spills.Spill("mcp-" + rand.Text() + ".txt")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, b := range blocks {
		if text := textOf(b); text != "" {
			if _, err := io.WriteString(f, strings.TrimSuffix(text, "\n")+"\n"); err != nil {
				return "", err
			}
		}
	}
	return ref, nil
}
