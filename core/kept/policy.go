package kept

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"dragoman/core"
	"dragoman/core/files"
)

// Deciding is a policy that answers can be kept for.
type Deciding interface {
	core.Policy
	// Lasting returns the name under which answers about an agent's calls may be kept. ok is false
	// for an agent that a workspace proposes: any repository could have one of that name.
	Lasting(agent string) (name string, ok bool)
}

// Policy is a policy together with the answers that are kept.
type Policy struct {
	Rules Deciding
	Store *Store
}

// Decide implements core.Policy. What was allowed for good counts as an answer for the session would.
// A verdict that asks has Keep set if the answer may be kept.
func (p Policy) Decide(c core.Check) core.Verdict {
	agent, ok := p.Rules.Lasting(c.Settings.Agent)
	if !ok || p.Store.Path() == "" || c.Meta.Cwd == "" || c.Origin.Principal == "" || slices.ContainsFunc(c.Access, wide) {
		return p.Rules.Decide(c)
	}
	list, err := p.Store.List()
	if err != nil { // the file is somebody's mistake: nothing is allowed by it, and it is not written to
		return p.Rules.Decide(c)
	}
	about := Rule{Workspace: folders(c.Meta), Agent: agent, Principal: c.Origin.Principal}
	remembered := maps.Clone(c.Remembered)
	if remembered == nil {
		remembered = map[string]core.Decision{}
	}
	for _, r := range list {
		about.Key = r.Key
		if _, answered := remembered[r.Key]; !answered && r.same(about) {
			remembered[r.Key] = core.AllowAlways
		}
	}
	c.Remembered = remembered
	v := p.Rules.Decide(c)
	if v.Effect == core.MustAsk && !v.Hard && v.Remember != "" {
		about.Key, about.Allows, about.Client = v.Remember, v.RememberText, c.Origin.Client
		v.Keep = func(ctx context.Context) error {
			about.Given = time.Now().UTC().Truncate(time.Second)
			return p.Store.Add(ctx, about)
		}
	}
	return v
}

// wide reports whether an access is in a workspace that is or contains the home folder: too much for
// an answer that lasts.
func wide(a core.Access) bool { return a.Wide }

// folders lists the folders of a session, links resolved, in an order of their own.
func folders(m core.Meta) []string {
	var list []string
	for _, root := range append([]string{m.Cwd}, m.Roots...) {
		root = filepath.Clean(root)
		if real, err := files.Real(root); err == nil {
			root = real
		}
		list = append(list, root)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
