package workspace

import (
	"context"
	"strings"

	"dragoman/core"
)

// Contents is everything that the prompts of a profile can refer to.
type Contents struct {
	Files     Files     // nil: prompts cannot refer to files
	Resources Resources // nil: there are none
}

// Workspace implements core.Workspace. It does nothing.
func (Contents) Workspace() {}

// Of returns the contents of the workspace of a profile, which may be nil; the zero value if it has
// none.
func Of(p *core.Profile) Contents {
	if p == nil {
		return Contents{}
	}
	c, _ := p.Workspace.(Contents)
	return c
}

// Files are the files of a workspace. Methods block on the disk, and Read on the network. Files
// that a rule forbids to read are neither found nor listed.
type Files interface {
	// Find lists at most most paths below the roots that match the query, the best first; an
	// empty query matches all. Ignored files are left out. A query that begins with ~, ./,
	// ../ or / lists that folder.
	Find(ctx context.Context, roots []string, query string, most int) []FileName
	// Keep returns a finder for whoever types, query by query.
	Keep(roots []string) Finder
	// List lists at most most names in an absolute folder that start with begin: folders
	// first. Names that start with a dot are left out unless begin does too. Nothing outside
	// of the roots is listed, not even through a link.
	List(ctx context.Context, roots []string, folder, begin string, most int) []FileName
	// Read returns the content of a reference, as a part of a prompt. It never fails: the
	// block of an unreadable file says so.
	Read(ctx context.Context, roots []string, r Reference) core.Block
	// Undo reverts changes, the last one first: a file that is as a change left it gets its
	// old content or its old name back. editor may be nil.
	Undo(ctx context.Context, m core.Meta, editor core.Editor, changes []core.Diff) []core.RevertedFile
}

// Finder is Files.Find for one workspace. It keeps names between queries, within bounds, and looks
// again at least once a second. They are dropped with it. What a rule forbids to read is not found,
// even if its name is kept.
type Finder interface {
	Find(ctx context.Context, query string, most int) []FileName
}

// Resources are the resources of MCP servers. Methods may block on the servers.
type Resources interface {
	// List lists at most most resources that match the query.
	List(ctx context.Context, roots []string, query string, most int) []core.Link
	// Read returns the content of one, as a part of a prompt. It never fails: an unreadable
	// resource becomes a block such as Unread returns.
	Read(ctx context.Context, roots []string, uri string) core.Block
}

const unread = "[It could not be read: "

// Unread returns the block of something that could not be read.
func Unread(uri string, why error) core.Block {
	return core.Resource{URI: uri, MIME: "text/plain", Text: unread + why.Error() + "]"}
}

// WasRead reports whether a block is not one of Unread.
func WasRead(b core.Block) bool {
	r, ok := b.(core.Resource)
	return !ok || !strings.HasPrefix(r.Text, unread)
}

// FileName is a file or a folder.
type FileName struct {
	Path   string // absolute
	Folder bool
}

// Reference is something that a user attached to a prompt. Exactly one of Path
// and URL is used. Lines, 1-based and inclusive, is a part of a file; zero: all.
type Reference struct {
	Path  string // absolute; a folder means the text of its files
	Lines [2]int
	URL   string
	Near  bool // the user has agreed that URL is fetched from this machine
}
