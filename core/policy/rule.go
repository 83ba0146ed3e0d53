package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/files"
	"dragoman/core/glob"
)

// Rule is one line of a policy. Empty patterns match everything; all that are
// set must match.
//
// Deny and ask rules apply when anything the call touches matches; paths and
// commands are compared without regard to case. An allow rule applies when it,
// or several together, cover all that the call touches. Without Path it covers
// no path outside of the workspace, and without Command every command line that
// can be read.
type Rule struct {
	Effect core.Effect
	Tool   string // "*" is any text
	Server string // "native" for our own tools; "*" is any text
	// Path is a pattern of core/glob for the resolved path. An absolute one (or
	// "~/…") is matched as it stands. A relative one of an allow rule is relative
	// to each root; of a deny or ask rule it matches anywhere. A pattern without
	// a slash matches a name at any depth. What matches a folder covers what is
	// in it.
	Path string
	// Command is matched against each simple command of a line, its words joined
	// by one space each; "*" is any text, and "git *" matches "git" as well.
	Command string
	// URL is [SCHEME://]HOST[:PORT][/PATH]. The host may be "*" or begin with
	// "*."; the path is a pattern of core/glob, and without one any path matches.
	URL string
	// Agent and Client name who makes the call and which client prompted it; "*" is any text.
	// Clients choose their names themselves.
	Agent, Client string
	// Workspace is a pattern like Path, absolute or a name at any depth, for the folder of the
	// session, or one above it. A deny or ask rule applies if it matches one of the session's
	// roots, an allow rule if it matches all of them.
	Workspace string
	// Own marks a rule of dragoman's, not of the user's: a command line that merely may hide a
	// path is not asked about because of it.
	Own bool
}

// rule is a Rule made ready.
type rule struct {
	Rule
	number int
	tool   glob.Text // Tool; of deny and ask rules folded
	server glob.Text
	cmd    commandPattern
	path   *glob.Pattern // Path; of deny and ask rules folded, and anywhere
	exact  *glob.Pattern // of a deny or ask rule: Path, without what is in the folders that it matches
	rooted bool          // it is absolute
	named  *glob.Pattern // of a deny or ask rule whose path ends in a plain name: that name, anywhere
	url    urlPattern

	agent, client glob.Text     // of deny and ask rules folded
	workspace     *glob.Pattern // nil: any
}

func compile(r Rule, number int, home string) (rule, error) {
	c := rule{Rule: r, number: number}
	switch r.Effect {
	case core.Allow, core.MustAsk, core.Deny:
	default:
		return rule{}, fmt.Errorf("effect %q: use allow, ask or deny", r.Effect)
	}
	if err := c.compileNames(); err != nil {
		return rule{}, err
	}
	if r.Path != "" {
		if err := c.compilePath(home); err != nil {
			return rule{}, err
		}
	}
	if r.Workspace != "" {
		_, text, err := pattern("workspace", r.Workspace, home)
		if err == nil {
			c.workspace, err = glob.Tree(folded(r.Effect, anywhere(text)))
		}
		if err != nil {
			return rule{}, fmt.Errorf("workspace %q is not a valid pattern: %w", r.Workspace, err)
		}
	}
	if r.URL != "" {
		u, err := parseURLPattern(r.URL)
		if err != nil {
			return rule{}, err
		}
		c.url = u
	}
	return c, nil
}

func (r *rule) compileNames() (err error) {
	for _, p := range []struct {
		field, pattern string
		to             *glob.Text
	}{{"tool", r.Tool, &r.tool}, {"server", r.Server, &r.server}, {"agent", r.Agent, &r.agent}, {"client", r.Client, &r.client}} {
		if *p.to, err = glob.ParseText(p.pattern); err != nil {
			return fmt.Errorf("%s %q: %w", p.field, p.pattern, err)
		}
		if r.Effect != core.Allow {
			*p.to = p.to.Fold()
		}
	}
	command := r.Command
	if r.Effect != core.Allow {
		command = fold(command)
	}
	if r.cmd, err = parseCommand(command); err != nil {
		return fmt.Errorf("command %q: %w", r.Command, err)
	}
	return nil
}

// pattern returns a pattern for paths with the home folder in place of "~", clean and with slashes;
// the field is that of the rule.
func pattern(field, p, home string) (rooted bool, text string, err error) {
	if p == "~" || strings.HasPrefix(p, "~/") {
		if home == "" {
			return false, "", fmt.Errorf("%s %q: the home folder is not known; write it out", field, p)
		}
		p = glob.Quote(filepath.ToSlash(home)) + p[1:]
	}
	p = filepath.ToSlash(p)
	if slices.Contains(strings.Split(p, "/"), "..") {
		return false, "", fmt.Errorf("%s: patterns must not contain \"..\"", field)
	}
	p = strings.TrimPrefix(path.Clean(p), "./")
	return strings.HasPrefix(p, "/") || filepath.IsAbs(p), p, nil
}

// anywhere returns a pattern for the text of a path without its leading slash.
func anywhere(p string) string {
	if strings.HasPrefix(p, "/") || filepath.IsAbs(p) {
		return strings.TrimPrefix(p, "/")
	}
	return "**/" + p
}

// folded folds a pattern of a rule that denies or asks.
func folded(e core.Effect, p string) string {
	if e == core.Allow {
		return p
	}
	return fold(p)
}

func (r *rule) compilePath(home string) error {
	rooted, p, err := pattern("path", r.Path, home)
	if err != nil {
		return err
	}
	if r.rooted = rooted; rooted || r.Effect != core.Allow || !strings.Contains(p, "/") {
		p = anywhere(p)
	}
	p = folded(r.Effect, p)
	tree, err := glob.Tree(p)
	if err != nil {
		return fmt.Errorf("path %q is not a valid pattern: %w", r.Path, err)
	}
	r.path = tree
	if r.exact, err = glob.Path(p); err != nil {
		return fmt.Errorf("path %q is not a valid pattern: %w", r.Path, err)
	}
	if name := path.Base(p); r.Effect != core.Allow && !glob.Wild(name) {
		if r.named, err = glob.Tree("**/" + name); err != nil {
			return fmt.Errorf("path %q: its last name is not a valid pattern: %w", r.Path, err)
		}
	}
	return nil
}

// name describes in words which rule it is.
func (r rule) name() string {
	var parts []string
	for _, field := range []struct{ name, value string }{
		{"tool", r.Tool},
		{"server", r.Server},
		{"path", r.Path},
		{"command", r.Command},
		{"url", r.URL},
		{"agent", r.Agent},
		{"client", r.Client},
		{"workspace", r.Workspace},
	} {
		if field.value != "" {
			parts = append(parts, field.name+" "+show(field.value))
		}
	}
	if parts == nil {
		parts = []string{"everything"}
	}
	return fmt.Sprintf("rule %d (%s %s)", r.number, r.Effect, strings.Join(parts, ", "))
}

// names reports whether the rule is about the call's tool at all, and about who calls it where.
func (r rule) names(f facts) bool {
	return (r.Tool == "" || r.tool.Matches(f.tool())) && (r.Server == "" || r.server.Matches(f.server())) &&
		(r.Agent == "" || r.agent.Matches(f.check.Settings.Agent)) && (r.Client == "" || r.client.Matches(f.check.Origin.Client)) &&
		(r.workspace == nil || r.works(f))
}

// works reports whether the rule is about the session's workspace.
func (r rule) works(f facts) bool {
	matches := func(root string) bool {
		if r.Effect == core.Allow {
			return r.workspace.Matches(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(root)), "/"))
		}
		return r.workspace.Matches(foldPath(root)) || r.workspace.Matches(foldPath(f.place.real(root)))
	}
	roots := append([]string{f.check.Meta.Cwd}, f.check.Meta.Roots...)
	if r.Effect == core.Allow {
		return !slices.ContainsFunc(roots, func(root string) bool { return !matches(root) })
	}
	return slices.ContainsFunc(roots, matches)
}

// bare reports whether the rule has no pattern for what a call touches.
func (r rule) bare() bool { return r.Path == "" && r.Command == "" && r.URL == "" }

// touches reports whether a deny or ask rule applies: each pattern that it has
// matches something.
func (r rule) touches(f facts) bool {
	if !r.names(f) {
		return false
	}
	path, command, url := r.Path == "", r.Command == "", r.URL == ""
	if f.args != nil {
		path = path || f.args.touchesPath(r)
		url = url || f.args.touchesURL(r)
	}
	for i, a := range f.check.Access {
		path = path || r.touchesPath(f, i)
		if l := f.lines[i]; l != nil && !command {
			command = l.mentions(r.cmd)
		}
		url = url || a.URL != "" && r.url.mentions(a.URL)
	}
	return path && command && url
}

func (r rule) touchesPath(f facts, i int) bool {
	if f.check.Access[i].Path != "" && r.path.Matches(f.folded[i]) {
		return true
	}
	return f.lines[i] != nil && f.lines[i].touches(r)
}

// touches reports whether a path that the line mentions is one of a deny or ask rule. For a rule of
// our own it is enough that wildcards may match the path, which is in one known folder.
func (l *line) touches(r rule) bool {
	return slices.ContainsFunc(l.paths, func(m mention) bool {
		return r.path.Matches(m.folded) || r.Own && l.may(m.any, r.path)
	})
}

// mayTouch reports whether the shell may expand a word with wildcards to one of the rule's
// paths, or a tool a pattern in its arguments.
func (r rule) mayTouch(f facts) bool {
	if r.path == nil || !r.names(f) {
		return false
	}
	if f.args != nil {
		return slices.ContainsFunc(f.args.paths, func(m mention) bool { return f.args.may(m.some, r.exact) })
	}
	for _, l := range f.lines {
		if l != nil && slices.ContainsFunc(l.paths, func(m mention) bool { return l.mayTouch(m, r) }) {
			return true
		}
	}
	return false
}

// mayTouch reports whether wildcards may match a rule's path. Programs that read quoted ones as
// patterns are found by the name in the rule; the name alone, as in find -name '*', says nothing.
func (l *line) mayTouch(m mention, r rule) bool {
	if m.some != nil || r.named == nil {
		return l.may(m.some, r.path)
	}
	return !r.Own && strings.Trim(path.Base(m.folded), "*?") != "" && l.may(m.any, r.named)
}

// covers reports whether an allow rule alone covers one access.
func (r rule) covers(f facts, i int) bool {
	switch a := f.check.Access[i]; a.Op {
	case core.OpRead, core.OpWrite:
		return r.Command == "" && r.URL == "" && a.Path != "" && r.place(f, i)
	case core.OpNet:
		if r.URL != "" {
			return r.Path == "" && r.Command == "" && r.url.covers(a.URL)
		}
		return r.bare()
	case core.OpRun:
		if r.URL != "" || !r.place(f, i) {
			return false
		}
		if r.Command == "" {
			return r.Path == "" && f.lines[i].parsed && f.lines[i].count <= maxCommands
		}
		return f.lines[i].plain && len(f.lines[i].commands) > 0 && !exceptCommand(f.lines[i].commands, r)
	}
	return false
}

// exceptCommand reports whether a command of the line does not match the rule.
func exceptCommand(commands []command, r rule) bool {
	return slices.ContainsFunc(commands, func(c command) bool { return !r.command(c) })
}

// command reports whether an allow rule matches one simple command.
func (r rule) command(c command) bool { return r.cmd.matches(c.exact()) }

// place reports whether an allow rule covers where an access lies.
func (r rule) place(f facts, i int) bool {
	a := f.check.Access[i]
	if r.Path == "" {
		return !a.Outside && !files.KeepsKeys(a.Path) || a.Op == core.OpRead && a.Spilled
	}
	if a.Path == "" || !filepath.IsAbs(a.Path) || filepath.Clean(a.Path) != a.Path {
		return false
	}
	if r.rooted {
		return r.path.Matches(strings.TrimPrefix(filepath.ToSlash(a.Path), "/"))
	}
	for _, root := range append([]string{f.check.Meta.Cwd}, f.check.Meta.Roots...) {
		if root == "" || !inside(root, a.Path) {
			continue
		}
		rel, err := filepath.Rel(root, a.Path)
		if err == nil && r.path.Matches(filepath.ToSlash(rel)) {
			return true
		}
	}
	return false
}

// commandPattern matches a simple command, its words joined by one space each. A pattern that
// ends in " *" also matches without arguments.
type commandPattern struct {
	whole, behind, below []glob.Text // match the command itself, its rest after a word, or after a folder
}

func parseCommand(pattern string) (c commandPattern, err error) {
	if c.whole, err = textsOf(pattern); err != nil {
		return c, err
	}
	if c.behind, err = textsOf("* " + pattern); err == nil {
		c.below, err = textsOf("*/" + pattern)
	}
	return c, err
}

func textsOf(pattern string) ([]glob.Text, error) {
	p, err := glob.ParseText(pattern)
	if err != nil {
		return nil, err
	}
	short, ok := strings.CutSuffix(pattern, " *")
	if !ok {
		return []glob.Text{p}, nil
	}
	bare, err := glob.ParseText(short)
	return []glob.Text{p, bare}, err
}

func anyMatches(list []glob.Text, text string) bool {
	return slices.ContainsFunc(list, func(p glob.Text) bool { return p.Matches(text) })
}

func (c commandPattern) matches(text string) bool { return anyMatches(c.whole, text) }

// begins reports whether a command that begins with a text may match.
func (c commandPattern) begins(text string) bool {
	return slices.ContainsFunc(c.whole, func(p glob.Text) bool { return p.Begins(text) })
}
