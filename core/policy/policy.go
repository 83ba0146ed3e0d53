package policy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"dragoman/core"
	"dragoman/core/files"
)

// Options configure a Policy.
type Options struct {
	Rules []Rule
	// Default is the effect on what no rule and no answer covers, apart from
	// reading inside the workspace, which is allowed. Empty: core.MustAsk.
	Default core.Effect
	// Home is the user's home folder, for patterns that begin with "~/".
	Home string
	// Anywhere lets commands that nobody looks at run without a sandbox.
	Anywhere bool
	// Resolve follows the symbolic links of an absolute path, for the paths of command lines and
	// of the arguments of MCP servers' tools. nil: links are not followed there.
	Resolve func(path string) (string, error)
	// Links lists the names of the links in a folder, for words with wildcards; nil: such words are
	// not looked up.
	Links func(dir string) []string
}

// Policy implements core.Policy.
type Policy struct {
	deny, ask, allow []rule
	fallback         core.Effect
	anywhere         bool
	home             string
	resolve          func(path string) (string, error)
	links            func(dir string) []string
}

// A RuleError reports a faulty rule.
type RuleError struct {
	Rule int   // its index in Options.Rules
	Err  error // describes the fault
}

func (e *RuleError) Error() string { return fmt.Sprintf("policy rule %d: %v", e.Rule+1, e.Err) }

func (e *RuleError) Unwrap() error { return e.Err }

// New checks the rules and makes a Policy of them. The error about a faulty rule is a *RuleError.
func New(o Options) (*Policy, error) {
	p := &Policy{fallback: o.Default, anywhere: o.Anywhere, home: o.Home, resolve: o.Resolve, links: o.Links}
	switch o.Default {
	case "":
		p.fallback = core.MustAsk
	case core.Allow, core.MustAsk, core.Deny:
	default:
		return nil, fmt.Errorf("policy default %q: use allow, ask or deny", o.Default)
	}
	for i, r := range o.Rules {
		c, err := compile(r, i+1, o.Home)
		if err != nil {
			return nil, &RuleError{i, err}
		}
		switch r.Effect {
		case core.Deny:
			p.deny = append(p.deny, c)
		case core.MustAsk:
			p.ask = append(p.ask, c)
		case core.Allow:
			p.allow = append(p.allow, c)
		}
	}
	return p, nil
}

// Strict returns the policy without what allows anything: its rules of that kind, and its default if that allows.
func (p *Policy) Strict() *Policy {
	s := *p
	s.allow = nil
	if s.fallback == core.Allow {
		s.fallback = core.MustAsk
	}
	return &s
}

// Decide returns the verdict on a call. The verdict always gives its reason. Remember is
// set only if a person must be asked.
func (p *Policy) Decide(c core.Check) core.Verdict { return p.decide(p.look(c)) }

// decideLine is Decide for an agent that needs an approval for each command line which may do more than
// look: an answer for the session covers exactly the line that was shown. unasked says that lines which
// only look need none.
func (p *Policy) decideLine(c core.Check, unasked bool) core.Verdict {
	f := p.look(c)
	f.looks = unasked && f.onlyLooks()
	f.exact = true
	v := p.decide(f)
	if v.Effect == core.MustAsk && !f.looks {
		v.Why += "; it may write"
	}
	return v
}

func (p *Policy) decide(f facts) core.Verdict {
	if r, ok := p.denies(f); ok {
		return core.Verdict{Effect: core.Deny, Why: "denied by " + r.name()}
	}
	approvals := f.check.Origin.Approvals
	if approvals == core.ApprovalsReadOnly && f.changes() {
		return core.Verdict{Effect: core.Deny, Why: "this turn may only read: " + f.act() + " is not allowed in it"}
	}
	s := scopeOf(f)
	if s.key != "" && f.check.Remembered[s.key] == core.RejectAlways {
		return core.Verdict{Effect: core.Deny, Why: "rejected for this session: " + s.text}
	}
	return p.narrow(f, p.grant(f, s))
}

// Forbids reports whether a deny rule applies to a call, whatever else holds for
// it. It is quick enough to be asked about every file of a folder.
func (p *Policy) Forbids(c core.Check) bool {
	if len(p.deny) == 0 {
		return false
	}
	_, ok := p.denies(p.look(c))
	return ok
}

// denies finds a deny rule that applies.
func (p *Policy) denies(f facts) (rule, bool) {
	for _, r := range p.deny {
		if r.touches(f) {
			return r, true
		}
	}
	return rule{}, false
}

// grant returns the verdict before the turn's origin narrows it.
func (p *Policy) grant(f facts, s scope) core.Verdict {
	if why := p.hardAsk(f); why != "" {
		return core.Verdict{Effect: core.MustAsk, Hard: true, Why: why}
	}
	if r, ok := p.allowed(f); ok {
		return core.Verdict{Effect: core.Allow, Why: "allowed by " + r.name()}
	}
	if s.key != "" && s.offer && f.check.Remembered[s.key] == core.AllowSession {
		return core.Verdict{Effect: core.Allow, Why: "allowed for this session: " + s.text}
	}
	if s.key != "" && s.offer && f.check.Remembered[s.key] == core.AllowAlways {
		return core.Verdict{Effect: core.Allow, Why: "allowed for good in this folder: " + s.text}
	}
	v := p.byDefault(f)
	if v.Effect != core.MustAsk {
		return v
	}
	// A client that prompts with approvals of its own has not been given the session's
	// trust.
	if f.check.Settings.Trust && f.check.Origin.Personal() {
		return core.Verdict{Effect: core.Allow, Why: "the session is trusted"}
	}
	if s.offer {
		v.Remember, v.RememberText = s.key, s.text
	}
	return v
}

// allowed finds allow rules that together cover everything the call touches,
// and returns the first of them.
func (p *Policy) allowed(f facts) (first rule, ok bool) {
	if len(f.check.Access) == 0 {
		for _, r := range p.allow {
			if r.names(f) && r.bare() {
				return r, true
			}
		}
		return rule{}, false
	}
	for i := range f.check.Access {
		r, found := p.covering(f, i)
		if !found {
			return rule{}, false
		}
		if i == 0 {
			first = r
		}
	}
	return first, true
}

// covering finds an allow rule for one access. A command line may need several
// rules, one for each of its commands.
func (p *Policy) covering(f facts, i int) (rule, bool) {
	for _, r := range p.allow {
		if r.names(f) && r.covers(f, i) {
			return r, true
		}
	}
	l := f.lines[i]
	if l == nil || !l.plain {
		return rule{}, false
	}
	var first rule
	for n, cmd := range l.commands {
		at := -1
		for k, r := range p.allow {
			if r.names(f) && r.Command != "" && r.place(f, i) && r.command(cmd) {
				at = k
				break
			}
		}
		if at < 0 {
			return rule{}, false
		}
		if n == 0 {
			first = p.allow[at]
		}
	}
	return first, len(l.commands) > 0
}

// byDefault is the verdict where nothing else applies.
func (p *Policy) byDefault(f facts) core.Verdict {
	switch {
	case f.native() && f.readsInside():
		return core.Verdict{Effect: core.Allow, Why: "reading inside the workspace is allowed"}
	case f.native() && f.check.Spec.ReadOnly && len(f.check.Access) == 0:
		return core.Verdict{Effect: core.Allow, Why: "it touches nothing but the conversation"}
	}
	switch p.fallback {
	case core.Allow:
		if p.unwatched(f) {
			return core.Verdict{Effect: core.Allow, Why: "allowed by the policy's default"}
		}
	case core.Deny:
		return core.Verdict{Effect: core.Deny, Why: "denied by the policy's default"}
	case core.MustAsk:
		if f.looks {
			return core.Verdict{Effect: core.Allow, Why: "the command only looks at the workspace"}
		}
	}
	return core.Verdict{Effect: core.MustAsk, Why: f.act() + " needs an approval"}
}

// narrows reports whether a turn takes no approvals at all. A value that is not
// known narrows: what cannot be understood must not grant anything.
func narrows(a core.Approvals) bool {
	switch a {
	case "", core.ApprovalsAsk, core.ApprovalsAuto:
		return false
	case core.ApprovalsDeny, core.ApprovalsReadOnly:
		return true
	}
	return true
}

// narrow applies the limits that the turn's origin sets on questions.
func (p *Policy) narrow(f facts, v core.Verdict) core.Verdict {
	a := f.check.Origin.Approvals
	switch {
	case v.Effect != core.MustAsk:
		return v
	case narrows(a):
		return core.Verdict{Effect: core.Deny, Why: v.Why + ", and nothing can be approved in this turn"}
	case a == core.ApprovalsAuto && !v.Hard && p.unwatched(f):
		return core.Verdict{Effect: core.Allow, Why: "this turn's approvals are given automatically"}
	}
	return v
}

// confined reports whether a command runs in a sandbox.
func confined(a core.Access) bool { return a.Sandbox == "full" || a.Sandbox == "files" }

// unwatched reports whether a call may run although nobody has looked at it: its commands are
// confined, or the table names everything in them.
func (p *Policy) unwatched(f facts) bool {
	for i, a := range f.check.Access {
		if a.Op == core.OpRun && !p.anywhere && !confined(a) && wideScope(f, f.lines[i], a) == nil {
			return false
		}
	}
	return true
}

// facts are a check with its command lines read.
type facts struct {
	check  core.Check
	folded []string   // the paths, by access; see foldPath
	lines  []*line    // by access; nil where it runs nothing
	exact  bool       // an answer for the session covers one exact command line
	looks  bool       // its command lines only look, and need no approval for that
	place  place      // the session's
	args   *arguments // of a tool that is not ours and whose accesses are not known; nil: of none
}

func (p *Policy) look(c core.Check) facts {
	f := facts{check: c, folded: make([]string, len(c.Access)), lines: make([]*line, len(c.Access))}
	f.place = place{dir: c.Meta.Cwd, roots: c.Meta.Roots, home: p.home, resolve: p.resolve, links: p.links}
	if !f.native() && len(c.Access) == 0 {
		at := f.place
		at.links = nil // a pattern there is not one of the shell
		f.args = readArguments(c.Call.Args, at)
	}
	for i, a := range c.Access {
		if a.Path != "" {
			f.folded[i] = foldPath(a.Path)
		}
		if a.Op == core.OpRun {
			at := f.place
			at.dir = f.dir(a)
			f.lines[i] = readLine(a.Command, map[string]string{"HOME": p.home, "PWD": at.dir})
			f.lines[i].locate(at)
		}
	}
	return f
}

func (f facts) server() string { return cmp.Or(f.check.Call.Server, f.check.Spec.Server) }

func (f facts) tool() string { return cmp.Or(f.check.Call.Tool, f.check.Spec.Name) }

// native reports whether the tool is our own. Both facts must agree: the call's server is
// reported by a back end, the spec's server is known to us.
func (f facts) native() bool {
	return f.server() == core.Native && (f.check.Spec.Server == "" || f.check.Spec.Server == core.Native)
}

// changes reports whether the call writes or runs something, or may.
func (f facts) changes() bool {
	for _, a := range f.check.Access {
		if a.Op == core.OpWrite || a.Op == core.OpRun {
			return true
		}
	}
	for _, k := range []core.CallKind{f.check.Call.Kind, f.check.Spec.Kind} {
		switch k {
		case core.KindEdit, core.KindDelete, core.KindMove, core.KindExecute:
			return true
		case core.KindRead, core.KindSearch, core.KindThink, core.KindFetch, core.KindOther, "":
		}
	}
	return !f.native() && len(f.check.Access) == 0 && !f.check.Spec.ReadOnly
}

// act describes the effect of the call in words.
func (f facts) act() string {
	var read string
	for _, a := range f.check.Access {
		switch a.Op {
		case core.OpRun:
			if confined(a) {
				return "running a command in the sandbox (" + a.Sandbox + ")"
			}
			return "running a command without a sandbox"
		case core.OpWrite:
			if a.Outside {
				return "changing " + show(a.Path) + ", outside the workspace,"
			}
			return "changing files"
		case core.OpNet:
			return "a request to the network"
		case core.OpRead:
			switch {
			case a.Spilled:
			case files.KeepsKeys(a.Path):
				read = "reading " + show(a.Path) + ", where programs keep keys,"
			case a.Outside:
				read = "reading " + show(a.Path) + ", outside the workspace,"
			case a.Linked:
				read = "reading " + show(a.Path) + ", a file that has other names (hard links), which may be outside,"
			case a.Wide && read == "":
				read = "reading in a workspace that is or contains your home folder"
			}
		}
	}
	switch {
	case read != "":
		return read
	case !f.native() && f.tool() == "":
		return "a tool of " + show(f.server()) + " without a name"
	case !f.native():
		return "the tool " + show(f.tool()) + " of " + show(f.server())
	}
	return "the tool " + show(f.tool())
}

// readsInside reports whether all that the call does is to read inside the
// roots, or tool output that was put aside. A root that is the user's home folder,
// or holds it, does not count, nor do places where programs keep keys.
func (f facts) readsInside() bool {
	for _, a := range f.check.Access {
		if a.Op != core.OpRead || a.Path == "" ||
			!a.Spilled && (a.Outside || a.Wide || a.Linked || files.KeepsKeys(a.Path)) {
			return false
		}
	}
	return len(f.check.Access) > 0
}

// dir returns the folder in which a command would run.
func (f facts) dir(a core.Access) string {
	if a.Path != "" {
		return a.Path
	}
	return f.check.Meta.Cwd
}

// inside reports whether path is dir or below it. Both must be absolute and
// clean already; nothing is resolved.
func inside(dir, path string) bool {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return false
	}
	dir = filepath.Clean(dir)
	return path == dir ||
		strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
