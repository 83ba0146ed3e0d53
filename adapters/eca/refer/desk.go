package refer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

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
	// Agrees asks the user whether a page on this machine may be fetched; nil: nobody can be
	// asked.
	Agrees func(ctx context.Context, url string) bool

	files  workspace.Files
	served workspace.Resources // of MCP servers; nil: none
	policy core.Policy
	of     core.Principal
	roots  []string
	exists func(path string) bool // reports whether a possible path in a text exists

	shelf *Shelf // nil: everything is read
	size  int    // bytes read so far
}

// New returns the desk of a principal in a workspace. The profile may be nil.
func New(prof *core.Profile, p core.Principal, roots []string) *Desk {
	d := &Desk{of: p, roots: roots, exists: onDisk}
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

// read returns the content of a reference. link replaces it if nothing can be looked up.
func (d *Desk) read(ctx context.Context, r workspace.Reference, link core.Block) core.Block {
	if d.files == nil {
		return link
	}
	name := cmp.Or(r.URL, r.Path)
	if why := d.Forbidden(r); why != "" {
		d.tell(name + " was not given to the agent: " + why + ".")
		return core.Resource{
			URI:  "text:context",
			MIME: "text/plain",
			Text: "(The user attached " + name + ", which may not be read: " + why + ".)",
		}
	}
	if d.size >= maxAttached {
		d.tell(fmt.Sprintf(
			"%s was mentioned to the agent by name only: the prompt already has more than %d MiB.",
			name,
			maxAttached>>20,
		))
		return link
	}
	b := d.shelf.get(r, func() core.Block { return d.look(ctx, r) })
	d.size += sizeOf(b)
	return b
}

// look reads a reference. A page on this machine is fetched if the user agrees.
func (d *Desk) look(ctx context.Context, r workspace.Reference) core.Block {
	if r.Near && (d.Agrees == nil || !d.Agrees(ctx, r.URL)) {
		if err := context.Cause(ctx); err != nil {
			return workspace.Unread(r.URL, err)
		}
		const why = " is a page on this machine, and nobody has agreed to fetching it."
		d.tell(r.URL + why)
		return core.Resource{URI: r.URL, MIME: "text/plain", Text: "(" + r.URL + why + ")"}
	}
	return d.files.Read(ctx, d.roots, r)
}

// near reports whether a URL names this machine.
func near(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// tell adds a message for the user, unless the user has had it about the same contexts.
func (d *Desk) tell(text string) {
	if d.shelf.isNew(text) {
		d.Told = append(d.Told, text)
	}
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

// unread replaces an attachment that cannot be read.
func unread(what string) core.Block {
	return core.Resource{
		URI:  "text:context",
		MIME: "text/plain",
		Text: "(The editor attached " + what + " that could not be read.)",
	}
}
