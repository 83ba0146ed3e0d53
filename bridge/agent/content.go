package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/bridge/agent/brief"
	"dragoman/bridge/agent/paths"
	"dragoman/core"
)

// mapping translates the content of an agent with its paths.
type mapping struct{ paths.Mapping }

// blockOf returns content of an agent.
func (m mapping) blockOf(b acp.ContentBlock) core.Block {
	switch b.Type {
	case "text":
		if b.Text != nil {
			return core.Text{Text: *b.Text}
		}
	case "image":
		return core.Image{MIME: b.MIMEType, Data: b.Data, URI: m.URIHere(b.URI)}
	case "audio":
		return core.Audio{MIME: b.MIMEType, Data: b.Data}
	case "resource_link":
		l := core.Link{URI: m.URIHere(b.URI), Name: b.Name, Title: b.Title, Description: b.Description, MIME: b.MIMEType}
		if b.Size != nil {
			l.Size = *b.Size
		}
		return l
	case "resource":
		if r := b.Resource; r != nil {
			is := core.Resource{URI: m.URIHere(r.URI), MIME: r.MIMEType}
			if r.Text != nil {
				is.Text = *r.Text
			} else if r.Blob != nil && !r.Blob.Bad() {
				is.Blob = r.Blob.Content()
			}
			return is
		}
	}
	return core.Text{Text: "[content of kind " + b.Type + "]"}
}

// contentHere returns content of an agent, b, as it was written but for its addresses.
func (m mapping) contentHere(content json.RawMessage, b acp.ContentBlock) json.RawMessage {
	if b.URI != "" {
		content = wire.Edit(content, wire.Set("uri", wire.JSON(m.URIHere(b.URI))))
	}
	if b.Resource != nil {
		is := wire.Object(content)["resource"]
		content = wire.Edit(content, wire.Set("resource", wire.Edit(is, wire.Set("uri", wire.JSON(m.URIHere(b.Resource.URI))))))
	}
	return content
}

// prompt returns the turn's message in the form that the agent takes. What it does not take is
// translated: an image becomes a file that the prompt names, a resource its text.
func (c *conversation) prompt(ctx context.Context, t *core.Turn, p *peer) ([]any, error) {
	var list []any
	c.mu.Lock()
	heard := c.heard
	c.mu.Unlock()
	if heard != (core.Pos{}) {
		text, err := brief.Give(ctx, t, c.b.o.Name, heard)
		if err != nil {
			return nil, err
		}
		if text != "" {
			c.mu.Lock()
			c.briefed = c.briefed || heard == brief.Nothing
			c.mu.Unlock()
			list = append(list, textBlock(text))
		}
	}
	takes, there := p.hello.Caps.PromptCapabilities, c.b.paths.URIThere
	for _, b := range t.Prompt() {
		switch b := b.(type) {
		case core.Text:
			list = append(list, textBlock(b.Text))
		case core.Link:
			block := acp.ContentBlock{Type: "resource_link", URI: there(b.URI), Name: b.Name, Title: b.Title, Description: b.Description, MIMEType: b.MIME}
			if b.Size > 0 {
				block.Size = &b.Size
			}
			if block.Name == "" {
				block.Name = block.URI
			}
			list = append(list, block)
		case core.Image:
			switch {
			case takes.Image && len(b.Data) > 0:
				list = append(list, acp.ContentBlock{Type: "image", MIMEType: b.MIME, Data: b.Data, URI: there(b.URI)})
			case len(b.Data) > 0:
				list = append(list, c.asFile(ctx, t, "image", b.MIME, b.Data))
			default:
				list = append(list, acp.ContentBlock{Type: "resource_link", URI: there(b.URI), Name: there(b.URI), MIMEType: b.MIME})
			}
		case core.Audio:
			if takes.Audio {
				list = append(list, acp.ContentBlock{Type: "audio", MIMEType: b.MIME, Data: b.Data})
			} else {
				list = append(list, c.asFile(ctx, t, "sound", b.MIME, b.Data))
			}
		case core.Resource:
			switch {
			case takes.EmbeddedContext:
				r := &acp.Resource{URI: there(b.URI), MIMEType: b.MIME}
				if b.Blob != nil {
					blob := acp.Data(b.Blob)
					r.Blob = &blob
				} else {
					r.Text = &b.Text
				}
				list = append(list, acp.ContentBlock{Type: "resource", Resource: r})
			case b.Blob != nil:
				list = append(list, c.asFile(ctx, t, "resource", b.MIME, b.Blob))
			default:
				c.told(ctx, t, fmt.Sprintf("agent %s takes no embedded resources, so it got %s as text", c.b.o.Name, b.URI))
				list = append(list, textBlock(there(b.URI)+":\n```\n"+b.Text+"\n```"))
			}
		case core.Diff, core.Terminal:
		}
	}
	return list, nil
}

func textBlock(text string) any {
	return acp.ContentBlock{Type: "text", Text: &text}
}

// told tells the user something about the prompt.
func (c *conversation) told(ctx context.Context, t *core.Turn, text string) {
	_ = t.Emit(ctx, core.Notice{Severity: core.Info, Text: strings.ToUpper(text[:1]) + text[1:] + "."}) // a stopped turn shows in ctx
}

// asFile writes content that the agent does not take into a file, and returns the text that names
// it. The file is removed with the conversation. An agent that runs elsewhere could not read it.
func (c *conversation) asFile(ctx context.Context, t *core.Turn, what, mimeType string, data []byte) any {
	left := textBlock("[" + what + ": it could not be passed on]")
	if len(c.b.o.Paths) > 0 {
		c.told(ctx, t, fmt.Sprintf("agent %s takes no %s and runs elsewhere (paths), so it did not get the one in this message", c.b.o.Name, what))
		return left
	}
	path, err := c.spool(mimeType, data)
	if err != nil {
		c.told(ctx, t, fmt.Sprintf("agent %s takes no %s, and it could not be kept in a file: %v", c.b.o.Name, what, err))
		return left
	}
	c.told(ctx, t, fmt.Sprintf("agent %s takes no %s, so it got the file %s", c.b.o.Name, what, path))
	return textBlock("[" + what + ": " + path + "]")
}

// spool writes data into a new file that only its owner can read.
func (c *conversation) spool(mimeType string, data []byte) (string, error) {
	c.mu.Lock()
	dir := c.spooled
	c.mu.Unlock()
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "dragoman-prompt-"); err != nil {
			return "", err
		}
		c.mu.Lock()
		c.spooled = dir
		c.mu.Unlock()
	}
	ext := ""
	if list, _ := mime.ExtensionsByType(mimeType); len(list) > 0 {
		ext = list[len(list)-1]
	}
	file, err := os.CreateTemp(dir, "content-*"+ext)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return filepath.Clean(file.Name()), err
}
