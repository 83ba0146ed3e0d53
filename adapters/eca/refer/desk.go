package refer

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/workspace"
)

const (
	maxContexts = 100     // of one prompt
	maxAttached = 2 << 20 // bytes in total; references beyond that stay references
	maxMapped   = 1000    // paths in a map of the workspace
)

// Desk looks up the references of one prompt. Without files they stay references for the agent to
// follow.
type Desk struct {
	Told []string // texts for the user: forbidden references, and those over the limit

	files  workspace.Files
	served workspace.Resources // of MCP servers; nil: none
	policy core.Policy
	of     core.Principal
	roots  []string
	exists func(path string) bool // reports whether a possible path in a text exists

	seen map[workspace.Reference]bool
	size int // bytes read so far
}

// New returns the desk of a principal in a workspace. The profile may be nil.
func New(prof *core.Profile, p core.Principal, roots []string) *Desk {
	d := &Desk{of: p, roots: roots, exists: onDisk, seen: map[workspace.Reference]bool{}}
	if prof != nil {
		in := workspace.Of(prof)
		d.files, d.served, d.policy = in.Files, in.Resources, prof.Policy
	}
	return d
}

func onDisk(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Blocks returns a prompt in the core's form: the message as typed, and then its references, from
// its contexts and its text. No reference fails the prompt: an unreadable one is reported to the
// agent.
func (d *Desk) Blocks(ctx context.Context, p eca.PromptParams) []core.Block {
	var blocks []core.Block
	if p.Message != "" {
		blocks = append(blocks, core.Text{Text: p.Message})
	}
	var list []json.RawMessage
	if len(p.Contexts) > 0 && json.Unmarshal(p.Contexts, &list) != nil {
		blocks = append(blocks, unread("the list of contexts"))
	}
	for i, raw := range list {
		if i == maxContexts {
			blocks = append(blocks, unread(fmt.Sprintf("%d more contexts: %d are the most", len(list)-i, maxContexts)))
			break
		}
		var c eca.Context
		if err := wire.Unmarshal(raw, &c); err != nil {
			blocks = append(blocks, unread("a context"))
			continue
		}
		blocks = append(blocks, d.context(ctx, c)...)
	}
	for _, m := range mentions(p.Message) {
		if path, ok := d.mentioned(m.path); ok {
			blocks = append(blocks, d.read(ctx, workspace.Reference{Path: path, Lines: m.lines}, fileLink(path, m.lines))...)
		}
	}
	return blocks
}

// context returns the blocks of one context.
func (d *Desk) context(ctx context.Context, c eca.Context) []core.Block {
	switch c.Type {
	case eca.ContextFile:
		lines, path := clamped(c.LinesRange), d.Path(c.Path)
		return d.read(ctx, workspace.Reference{Path: path, Lines: lines}, fileLink(path, lines))
	case eca.ContextDirectory:
		path := d.Path(c.Path)
		link := core.Link{URI: URIOf(path, [2]int{}), Name: filepath.Base(path), Description: "the folder " + path}
		return d.read(ctx, workspace.Reference{Path: path}, link)
	case eca.ContextCursor:
		return d.cursor(ctx, c)
	case eca.ContextWeb:
		return d.read(ctx, workspace.Reference{URL: c.URL}, core.Link{URI: c.URL})
	case eca.ContextMCPResource:
		return d.resource(ctx, c)
	case eca.ContextImage:
		kind, text := c.MediaType, c.Base64
		if head, rest, ok := strings.Cut(text, ";base64,"); ok && strings.HasPrefix(head, "data:") {
			kind, text = cmp.Or(kind, strings.TrimPrefix(head, "data:")), rest
		}
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(data) == 0 {
			return []core.Block{unread("an image")}
		}
		return []core.Block{core.Image{MIME: cmp.Or(kind, "image/png"), Data: data}}
	case eca.ContextText:
		return []core.Block{
			core.Resource{URI: "text:" + cmp.Or(c.Label, "context"), MIME: "text/plain", Text: c.Content},
		}
	case eca.ContextRepoMap:
		return d.repoMap(ctx)
	}
	return []core.Block{unread(fmt.Sprintf("a context of the unknown type %.40q", c.Type))}
}

// resource returns the content of an MCP server's resource, once for each prompt; without servers
// it stays a link.
func (d *Desk) resource(ctx context.Context, c eca.Context) []core.Block {
	r := workspace.Reference{URL: "mcp " + c.URI} // no page has such a name
	if c.URI == "" || d.seen[r] {
		return nil
	}
	d.seen[r] = true
	if d.served == nil {
		return []core.Block{core.Link{URI: c.URI, Name: c.Name, Description: c.Description, MIME: c.MIMEType}}
	}
	return []core.Block{d.served.Read(ctx, d.roots, c.URI)}
}

// read looks up a reference, once for each prompt. link replaces it if nothing can be looked up.
func (d *Desk) read(ctx context.Context, r workspace.Reference, link core.Block) []core.Block {
	name := cmp.Or(r.URL, r.Path)
	if name == "" || d.seen[r] {
		return nil
	}
	d.seen[r] = true
	if d.files == nil {
		return []core.Block{link}
	}
	if why := d.Forbidden(r); why != "" {
		d.Told = append(d.Told, name+" was not given to the agent: "+why+".")
		return []core.Block{
			core.Resource{
				URI:  "text:context",
				MIME: "text/plain",
				Text: "(The user attached " + name + ", which may not be read: " + why + ".)",
			},
		}
	}
	if d.size >= maxAttached {
		d.Told = append(
			d.Told,
			fmt.Sprintf(
				"%s was mentioned to the agent by name only: the prompt already has more than %d MiB.",
				name,
				maxAttached>>20,
			),
		)
		return []core.Block{link}
	}
	b := d.files.Read(ctx, d.roots, r)
	d.size += sizeOf(b)
	return []core.Block{b}
}

// Text returns the content of a file, or the lines of a reference; "" if it cannot be read or a
// rule forbids it.
func (d *Desk) Text(ctx context.Context, r workspace.Reference) string {
	if d.files == nil || d.Forbidden(r) != "" {
		return ""
	}
	if res, ok := d.files.Read(ctx, d.roots, r).(core.Resource); ok {
		return res.Text
	}
	return ""
}

// sizeOf returns the size of a block's content, in bytes.
func sizeOf(b core.Block) int {
	switch b := b.(type) {
	case core.Text:
		return len(b.Text)
	case core.Image:
		return len(b.Data)
	case core.Audio:
		return len(b.Data)
	case core.Resource:
		return len(b.Text) + len(b.Blob)
	case core.Diff:
		return len(b.Old) + len(b.New) + len(b.Patch)
	case core.Link, core.Terminal:
	}
	return 0
}

// Forbidden returns the rule that forbids reading a reference; "": none. A rule that asks the
// user does not count, because the user makes the reference.
func (d *Desk) Forbidden(r workspace.Reference) string {
	if d.policy == nil {
		return ""
	}
	spec := core.Spec{Server: core.Native, Name: "read_file", Kind: core.KindRead, ReadOnly: true}
	access := []core.Access{{Op: core.OpRead, Path: r.Path, Outside: !below(d.roots, r.Path)}}
	if r.URL != "" {
		spec.Name, spec.Kind, access = "web_fetch", core.KindFetch, []core.Access{{Op: core.OpNet, URL: r.URL}}
	} else if real, err := filepath.EvalSymlinks(r.Path); err == nil && real != r.Path {
		access = append(access, core.Access{Op: core.OpRead, Path: real, Outside: !below(d.roots, real)})
	}
	args, err := json.Marshal(map[string]string{"path": r.Path, "url": r.URL})
	if err != nil {
		return err.Error()
	}
	check := core.Check{Spec: spec, Access: access, Meta: core.Meta{Principal: d.of, Roots: d.roots}}
	if len(d.roots) > 0 {
		check.Meta.Cwd = d.roots[0]
	}
	check.Call = core.Call{Server: spec.Server, Tool: spec.Name, Kind: spec.Kind, Args: args}
	if v := d.policy.Decide(check); v.Effect == core.Deny {
		return cmp.Or(v.Why, "a rule forbids it")
	}
	return ""
}

// below reports whether a path lies in one of the folders.
func below(folders []string, path string) bool {
	for _, dir := range folders {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// cursor describes the place where the user looks, and returns the selection there.
func (d *Desk) cursor(ctx context.Context, c eca.Context) []core.Block {
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
	blocks := []core.Block{l}
	if d.files != nil {
		blocks = append(blocks, d.read(ctx, workspace.Reference{Path: path, Lines: lines}, l)...)
	}
	return blocks
}

// repoMap returns the content of the workspace as a tree; without files there is a tool for it.
func (d *Desk) repoMap(ctx context.Context) []core.Block {
	if d.files == nil {
		return nil
	}
	var b strings.Builder
	for _, root := range d.roots {
		b.WriteString(treeOf(root, d.files.Find(ctx, []string{root}, "", maxMapped)))
	}
	return []core.Block{core.Resource{URI: "text:repoMap", MIME: "text/plain", Text: b.String()}}
}

// Path returns the absolute path that a client means; "": none.
func (d *Desk) Path(path string) string {
	if abs := PathOf(path); abs != "" {
		return abs
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, path[1:])
		}
	}
	if path == "" || len(d.roots) == 0 {
		return ""
	}
	return filepath.Join(d.roots[0], path)
}

// clamped returns a range of lines: 1-based, its end inclusive.
func clamped(r *eca.LinesRange) [2]int {
	if r == nil {
		return [2]int{}
	}
	from := max(r.Start, 1)
	return [2]int{from, max(from, r.End)}
}

func fileLink(path string, lines [2]int) core.Block {
	l := core.Link{URI: URIOf(path, lines), Name: filepath.Base(path), Description: "the file " + path}
	if lines[0] > 0 {
		l.Description = fmt.Sprintf("lines %d to %d of %s", lines[0], lines[1], path)
	}
	return l
}

// unread replaces an attachment that cannot be read.
func unread(what string) core.Block {
	return core.Resource{
		URI:  "text:context",
		MIME: "text/plain",
		Text: "(The editor attached " + what + " that could not be read.)",
	}
}
