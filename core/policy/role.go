package policy

import (
	"path"
	"slices"
	"strings"

	"dragoman/core"
)

// Role is what an agent may do, beside what the rules say. Its lists name tools; see Named.
type Role struct {
	Name           string
	Primary, Sub   bool     // people can choose it; agents can hand it tasks
	Only, Never    []string // the tools that it is offered, if not all; those that it is not
	Also           []string // tools of our own that it is offered, whatever Only holds
	Of             *Role    // that it inherits from: it is offered no more than that one; nil: none
	Asked, Unasked []string // tools that ask each time, and those of them that do not
	Looks          bool     // it may change and run nothing
	Foreign        bool     // the workspace proposes it: what it does is asked for, each time
	Spawners       []string // who may hand it tasks; empty: every agent
}

// Offers reports whether the agent has a tool.
func (r Role) Offers(s core.Spec) bool {
	if Named(r.Never, s) || r.Of != nil && !r.Of.Offers(s) {
		return false
	}
	if r.Looks && r.Sub && !r.Primary && !looking(s) {
		return false
	}
	return len(r.Only) == 0 || Named(r.Only, s) || s.Server == core.Native && slices.Contains(r.Also, s.Name)
}

// looking reports whether a tool can be of use to an agent that only looks.
func looking(s core.Spec) bool {
	if s.Server != core.Native {
		return s.ReadOnly
	}
	switch s.Kind {
	case core.KindRead, core.KindSearch, core.KindThink, core.KindFetch:
		return true
	case core.KindEdit, core.KindDelete, core.KindMove, core.KindExecute, core.KindOther, "":
	}
	return s.ReadOnly
}

// otherNames are what other programs' files call our tools.
var otherNames = map[string]string{
	"read": "read_file", "write": "write_file", "edit": "edit_file", "multiedit": "edit_file", "bash": "shell_command", "shell": "shell_command",
	"ls": "directory_tree", "list": "directory_tree", "webfetch": "web_fetch", "todowrite": "update_plan", "task": spawnTool, "agent": spawnTool,
	"askuserquestion": "ask_user", "question": "ask_user",
}

// Named reports whether a list of tools holds one. An entry is a tool's name, a
// server's, or SERVER/NAME, where * is any text; what other programs write
// (server__name, mcp__server__name, Bash(git *)) is understood. What stands in
// parentheses does not count: the whole tool is meant.
func Named(list []string, s core.Spec) bool {
	return slices.ContainsFunc(list, func(entry string) bool { return isNamed(entry, s) })
}

func isNamed(entry string, s core.Spec) bool {
	entry, _, _ = strings.Cut(strings.TrimSpace(entry), "(")
	entry = strings.TrimPrefix(entry, "mcp__")
	server, name, both := strings.Cut(strings.Replace(entry, "__", "/", 1), "/")
	if !both {
		server, name = "", entry
	}
	if server == "eca" || server == "dragoman" {
		server = core.Native
	}
	if ours := otherNames[strings.ToLower(name)]; ours != "" && (server == "" || server == core.Native) && s.Server == core.Native {
		name = ours
	}
	if !both {
		return toolMatches(name, s.Name) || s.Server != core.Native && toolMatches(name, s.Server)
	}
	return toolMatches(server, s.Server) && toolMatches(name, s.Name)
}

// toolMatches compares without regard to case; * is any text.
func toolMatches(pattern, s string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(s))
	return ok && err == nil
}
