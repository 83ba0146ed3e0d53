package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/workspace"
)

// If a file or a folder becomes a link during a search, the search does not follow it
// to a place that a rule forbids to read. The swap happens after the rules were asked.
func TestSearchesFollowNoNewLink(t *testing.T) {
	for _, swapped := range []string{"a.txt", "sub"} {
		for tool, args := range map[string]m{
			"grep": {"pattern": "."}, "glob": {"pattern": "**"}, "directory_tree": {},
		} {
			b := newBed(t)
			b.put("a.txt", "mine\n")
			b.put("sub/b.txt", "mine\n")
			b.put("private/canary.txt", "canary\n")
			target := map[string]string{"a.txt": "private/canary.txt", "sub": "private"}[swapped]
			b.set.opts.Forbids = func(core.ToolHost) (func(core.Access) bool, error) {
				return func(a core.Access) bool {
					if rel, err := filepath.Rel(b.dir, a.Path); err == nil && rel == swapped {
						if err := os.Rename(a.Path, filepath.Join(b.away, swapped)); err == nil {
							b.link(target, swapped)
						}
					}
					return strings.HasPrefix(a.Path, filepath.Join(b.dir, "private"))
				}, nil
			}
			if got := b.ok(tool, args); strings.Contains(got, "canary") {
				t.Errorf("%s followed the link that %s had become: %s", tool, swapped, got)
			}
		}
	}
}

// The same for a folder in a reference of a prompt.
func TestReferencesFollowNoNewLink(t *testing.T) {
	for _, swapped := range []string{"a.txt", "sub"} {
		b := newBed(t)
		target := map[string]string{"a.txt": "private/canary.txt", "sub": "private"}[swapped]
		put := func() {
			b.put("a.txt", "mine\n")
			b.put("sub/b.txt", "mine\n")
			b.put("private/canary.txt", "canary\n")
		}
		f := NewFiles(FilesOptions{Policy: policyFunc(func(c core.Check) core.Verdict {
			for _, a := range c.Access {
				if rel, err := filepath.Rel(b.dir, a.Path); err == nil && rel == swapped {
					if err := os.Rename(a.Path, filepath.Join(b.away, swapped)); err == nil {
						b.link(target, swapped)
					}
				}
				if strings.HasPrefix(a.Path, filepath.Join(b.dir, "private")) {
					return core.Verdict{Effect: core.Deny, Why: "it is private"}
				}
			}
			return core.Verdict{Effect: core.Allow}
		})})
		put()
		r := f.Read(t.Context(), []string{b.dir}, workspace.Reference{Path: b.dir}).(core.Resource)
		if strings.Contains(r.Text, "canary") {
			t.Errorf("a reference followed the link that %s had become: %s", swapped, r.Text)
		}
	}
}

// policyFunc is a function as a policy.
type policyFunc func(core.Check) core.Verdict

func (f policyFunc) Decide(c core.Check) core.Verdict { return f(c) }
