package refer

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/workspace"
)

// Message returns a message in the core's form: its text as typed, and then what the text
// mentions. No reference fails the message: an unreadable one is reported to the agent.
func (d *Desk) Message(ctx context.Context, text string) []core.Block {
	return d.message(ctx, text, nil, nil)
}

// Prompt returns a prompt in the core's form: its message, with the pictures among its contexts,
// and what the client keeps in view, which are the other contexts. Of a file that is in view the
// message has no copy; but a file that comes into view with a message that mentions it belongs to
// the message, because clients list what was typed with the contexts of that one prompt.
func (d *Desk) Prompt(ctx context.Context, p eca.PromptParams, shelf *Shelf) ([]core.Block, *core.Context) {
	d.shelf = shelf
	shelf.next()
	v := d.view(ctx, p.Contexts)
	typed := d.typed(p.Message)
	v.files = slices.DeleteFunc(v.files, func(s span) bool {
		comes := !slices.Contains(shelf.standing, s.path) &&
			slices.ContainsFunc(typed, func(t span) bool { return t.path == s.path })
		if comes {
			typed.join(s)
		}
		return comes
	})
	shelf.standing = nil
	for _, s := range v.files {
		shelf.standing = append(shelf.standing, s.path)
		v.add(d.file(ctx, s))
	}
	message := d.message(ctx, p.Message, typed, v.files)
	if v.cursor != nil {
		v.context.Passing = append(v.context.Passing, d.cursor(ctx, *v.cursor, slices.Concat(v.files, typed))...)
	}
	return append(message, v.pictures...), &v.context
}

// message returns a text and the typed references, without those that are in view.
func (d *Desk) message(ctx context.Context, text string, typed, seen spans) (blocks []core.Block) {
	if text != "" {
		blocks = append(blocks, core.Text{Text: text})
	}
	if typed == nil {
		typed = d.typed(text)
	}
	for _, s := range typed {
		if !seen.covered(s) {
			blocks = append(blocks, d.file(ctx, s))
		}
	}
	return blocks
}

// typed returns the files and folders that a text mentions.
func (d *Desk) typed(text string) (list spans) {
	for _, m := range mentions(text) {
		if path, ok := d.mentioned(m.path); ok {
			list.add(path, m.lines)
		}
	}
	return list
}

// view holds the contexts of a prompt.
type view struct {
	context  core.Context
	files    spans
	cursor   *eca.Context
	pictures []core.Block // that belong to the message
}

// add adds the content of something that stays in view. A system prompt has no room for pictures.
func (v *view) add(b core.Block) {
	if _, ok := b.(core.Image); ok {
		v.context.Passing = append(v.context.Passing, b)
		return
	}
	if !slices.ContainsFunc(v.context.Standing, func(have core.Block) bool { return same(have, b) }) {
		v.context.Standing = append(v.context.Standing, b)
	}
}

// same reports whether two blocks are equal resources.
func same(a, b core.Block) bool {
	x, ok := a.(core.Resource)
	y, also := b.(core.Resource)
	return ok && also && x.URI == y.URI && x.Text == y.Text && x.Lines == y.Lines
}

// view reads the contexts of a prompt, without the contents of files.
func (d *Desk) view(ctx context.Context, raw json.RawMessage) *view {
	v := &view{}
	var list []json.RawMessage
	if len(raw) > 0 && json.Unmarshal(raw, &list) != nil {
		v.add(unread("the list of contexts"))
	}
	for i, raw := range list {
		if i == maxContexts {
			v.add(unread(fmt.Sprintf("%d more contexts: %d are the most", len(list)-i, maxContexts)))
			break
		}
		var c eca.Context
		if err := wire.Unmarshal(raw, &c); err != nil {
			v.add(unread("a context"))
			continue
		}
		d.context(ctx, v, c)
	}
	return v
}

// context adds one context.
func (d *Desk) context(ctx context.Context, v *view, c eca.Context) {
	switch c.Type {
	case eca.ContextFile:
		v.files.add(d.Path(c.Path), clamped(c.LinesRange))
	case eca.ContextDirectory:
		v.files.add(d.Path(c.Path), [2]int{})
	case eca.ContextCursor:
		v.cursor = &c
	case eca.ContextWeb:
		if c.URL != "" {
			v.add(d.read(ctx, workspace.Reference{URL: c.URL, Near: near(c.URL)}, core.Link{URI: c.URL}))
		}
	case eca.ContextMCPResource:
		if c.URI != "" {
			v.add(d.resource(ctx, c))
		}
	case eca.ContextImage:
		v.pictures = append(v.pictures, picture(c))
	case eca.ContextText:
		label := cmp.Or(c.Label, "context")
		v.context.Passing = append(v.context.Passing, core.Resource{URI: "text:" + label, MIME: "text/plain", Text: c.Content})
	case eca.ContextRepoMap:
		for _, b := range d.repoMap(ctx) {
			v.add(b)
		}
	default:
		v.add(unread(fmt.Sprintf("a context of the unknown type %.40q", c.Type)))
	}
}

func picture(c eca.Context) core.Block {
	kind, text := c.MediaType, c.Base64
	if head, rest, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		kind, text = cmp.Or(kind, strings.TrimPrefix(head, "data:")), rest
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(data) == 0 {
		return unread("an image")
	}
	return core.Image{MIME: cmp.Or(kind, "image/png"), Data: data}
}

// resource returns the content of an MCP server's resource; without servers it stays a link.
func (d *Desk) resource(ctx context.Context, c eca.Context) core.Block {
	if d.served == nil {
		return core.Link{URI: c.URI, Name: c.Name, Description: c.Description, MIME: c.MIMEType}
	}
	r := workspace.Reference{URL: "mcp " + c.URI} // no page has such a name
	return d.shelf.get(r, func() core.Block { return d.served.Read(ctx, d.roots, c.URI) })
}

// cursor describes the place where the user looks, and returns the selection there unless the
// agent has it.
func (d *Desk) cursor(ctx context.Context, c eca.Context, have spans) []core.Block {
	path := d.Path(c.Path)
	if path == "" {
		return nil
	}
	l := core.Link{Name: filepath.Base(path), Description: "the file that the user looks at: " + path}
	p := c.Position
	if p == nil || p.Start.Line <= 0 {
		l.URI = URIOf(path, [2]int{})
		return []core.Block{l}
	}
	lines := [2]int{p.Start.Line, max(p.Start.Line, p.End.Line)}
	l.URI = URIOf(path, lines)
	if p.Start == p.End {
		l.Description = fmt.Sprintf(
			"the user's cursor is in line %d, column %d of %s",
			p.Start.Line,
			p.Start.Character,
			path,
		)
		return []core.Block{l}
	}
	l.Description = fmt.Sprintf("the user has selected lines %d to %d of %s", lines[0], lines[1], path)
	if d.files == nil || have.covers(path, lines) {
		return []core.Block{l}
	}
	return []core.Block{l, d.read(ctx, workspace.Reference{Path: path, Lines: lines}, l)}
}
