package policy

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/glob"
)

// Role describes what an agent may do, in addition to the rules. Its lists name tools; see
// named.
type Role struct {
	Name           string
	Primary, Sub   bool     // people can choose it; agents can hand it tasks
	Only, Never    []string // the tools that it is offered, if not all; those that it is not
	Also           []string // tools of our own that it is offered, whatever Only holds
	Of             *Role    // that it inherits from: it is offered no more than that one; nil: none
	Asked, Unasked []string // tools that ask each time, and those of them that do not
	Looks          bool     // it may change nothing; a person is asked for each command line that may do more than look
	Foreign        bool     // the workspace proposes it: each of its effects is asked for, every time
	Spawners       []string // who may hand it tasks; empty: every agent
}

// Offers reports whether the agent has a tool.
func (r Role) Offers(s core.Spec) bool {
	if named(r.Never, s, true) || r.Of != nil && !r.Of.Offers(s) {
		return false
	}
	if r.Looks && !looking(s) && !r.asksToRun(s) {
		return false
	}
	return len(r.Only) == 0 || named(r.Only, s, false) ||
		s.Server == core.Native && slices.Contains(r.Also, s.Name)
}

// asksToRun reports whether a tool runs commands for an agent that only looks. A person who has
// chosen the agent is asked for each command line that may do more than look. A task has nobody who has chosen its agent.
func (r Role) asksToRun(s core.Spec) bool {
	return r.Looks && r.Primary && s.Server == core.Native && s.Kind == core.KindExecute
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

// otherNames maps the names that other programs' files use to those of our tools.
var otherNames = map[string]string{
	"read":            "read_file",
	"write":           "write_file",
	"edit":            "edit_file",
	"multiedit":       "edit_file",
	"bash":            "shell_command",
	"shell":           "shell_command",
	"ls":              "directory_tree",
	"list":            "directory_tree",
	"webfetch":        "web_fetch",
	"todowrite":       "update_plan",
	"task":            spawnTool,
	"agent":           spawnTool,
	"askuserquestion": "ask_user",
	"question":        "ask_user",
}

// CheckTools returns an error that names the first invalid entry of a list of tools, or nil
// if all are valid.
func CheckTools(list []string) error {
	for _, entry := range list {
		if _, _, err := parseEntry(entry); err != nil {
			return fmt.Errorf("tool %.100q: %w", entry, err)
		}
	}
	return nil
}

// named reports whether a list of tools contains a tool. An entry is a tool's name, a
// server's, or SERVER/NAME, where * is any text and case does not count. The forms of other
// programs (server__name, mcp__server__name, Bash(git *)) are understood. Text in
// parentheses does not count: the entry means the whole tool. wrong is the result for an
// invalid entry: in a list that takes tools away, such an entry takes away all of them.
func named(list []string, s core.Spec, wrong bool) bool {
	return slices.ContainsFunc(list, func(text string) bool {
		e, ours, err := parseEntry(text)
		if err != nil {
			return wrong
		}
		return e.matches(s, ours)
	})
}

// entry is one of a list of tools.
type entry struct {
	server, name glob.Text
	both         bool // it names a server and a tool; else name is either's
}

// parseEntry reads an entry. If it has the name that another program gives to one of our tools, and
// no other server, ours is our name of that tool.
func parseEntry(text string) (e entry, ours string, err error) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "(")
	text = strings.TrimPrefix(text, "mcp__")
	server, name, both := strings.Cut(strings.Replace(text, "__", "/", 1), "/")
	if !both {
		server, name = "", text
	}
	if server == "eca" || server == "dragoman" {
		server = core.Native
	}
	if server == "" || server == core.Native {
		ours = otherNames[strings.ToLower(name)]
	}
	e.both = both
	if e.server, err = glob.ParseText(server); err == nil {
		e.name, err = glob.ParseText(name)
	}
	e.server, e.name = e.server.Fold(), e.name.Fold()
	return e, ours, err
}

func (e entry) matches(s core.Spec, ours string) bool {
	name := e.name.Matches(s.Name)
	if ours != "" && s.Server == core.Native {
		name = strings.EqualFold(ours, s.Name)
	}
	if !e.both {
		return name || s.Server != core.Native && e.name.Matches(s.Server)
	}
	return e.server.Matches(s.Server) && name
}
