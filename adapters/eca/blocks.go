package eca

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// blocksOf is a prompt as the core knows it: the message, then what it refers to.
// No context fails the prompt: one that cannot be read says so to the agent.
func blocksOf(p eca.PromptParams) []core.Block {
	var blocks []core.Block
	if p.Message != "" {
		blocks = append(blocks, core.Text{Text: p.Message})
	}
	var list []json.RawMessage
	if len(p.Contexts) > 0 && json.Unmarshal(p.Contexts, &list) != nil {
		return append(blocks, unread("the list of contexts"))
	}
	for _, raw := range list {
		var c eca.Context
		if err := wire.Unmarshal(raw, &c); err != nil {
			blocks = append(blocks, unread("a context"))
			continue
		}
		if b := blockOf(c); b != nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// blockOf is one context; nil: there is nothing in it.
func blockOf(c eca.Context) core.Block {
	switch c.Type {
	case eca.ContextFile:
		return fileLink(c)
	case eca.ContextDirectory:
		l := core.Link{URI: uriOf(c.Path, [2]int{}), Name: filepath.Base(c.Path), Description: "the folder " + c.Path}
		return l
	case eca.ContextCursor:
		return cursorLink(c)
	case eca.ContextWeb:
		return core.Link{URI: c.URL}
	case eca.ContextMCPResource:
		return core.Link{URI: c.URI, Name: c.Name, Description: c.Description, MIME: c.MIMEType}
	case eca.ContextImage:
		data, err := base64.StdEncoding.DecodeString(c.Base64)
		if err != nil {
			return unread("an image")
		}
		return core.Image{MIME: cmp.Or(c.MediaType, "image/png"), Data: data}
	case eca.ContextText:
		return core.Resource{URI: "text:" + cmp.Or(c.Label, "context"), MIME: "text/plain", Text: c.Content}
	case eca.ContextRepoMap: // the agent has a tool for it
		return nil
	}
	return unread(fmt.Sprintf("a context of the unknown type %.40q", c.Type))
}

func fileLink(c eca.Context) core.Block {
	l := core.Link{Name: filepath.Base(c.Path), Description: "the file " + c.Path}
	var lines [2]int
	if r := c.LinesRange; r != nil && r.Start > 0 {
		lines = [2]int{r.Start, max(r.Start, r.End)}
		l.Description = fmt.Sprintf("lines %d to %d of %s", lines[0], lines[1], c.Path)
	}
	l.URI = uriOf(c.Path, lines)
	return l
}

func cursorLink(c eca.Context) core.Block {
	l := core.Link{Name: filepath.Base(c.Path), Description: "the file that the user looks at: " + c.Path}
	var lines [2]int
	if p := c.Position; p != nil && p.Start.Line > 0 {
		lines = [2]int{p.Start.Line, max(p.Start.Line, p.End.Line)}
		if p.Start == p.End {
			l.Description = fmt.Sprintf("the user's cursor is in line %d, column %d of %s", p.Start.Line, p.Start.Character, c.Path)
		} else {
			l.Description = fmt.Sprintf("the user has selected lines %d to %d of %s", lines[0], lines[1], c.Path)
		}
	}
	l.URI = uriOf(c.Path, lines)
	return l
}

// unread stands for what the client attached and nobody can read.
func unread(what string) core.Block {
	return core.Resource{URI: "text:context", MIME: "text/plain", Text: "(The editor attached " + what + " that could not be read.)"}
}
