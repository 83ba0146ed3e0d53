package guide

import (
	"context"
	"path"
	"slices"
	"strings"
)

// Agent is an agent that a file defines. An agent of the workspace is a proposal: its
// user must not give it more rights than the user's policy.
type Agent struct {
	Source
	Name         string // lower case
	Description  string
	Primary      bool // the user can choose it
	Subagent     bool // other agents can delegate tasks to it
	SpawnableBy  []string
	Inherit      string // the agent whose settings it starts from
	Model        string // PROVIDER/MODEL; empty: the default
	Effort       string
	Tools        AgentTools
	Disabled     []string // tools, or servers, that are not offered to it
	MaxSteps     int      // 0: no limit of its own
	Instructions string
}

// AgentTools are the rules for tools in an agent's file, by their names, which may end
// in a pattern in parentheses. It is zero if the file has none.
type AgentTools struct {
	Default          string // allow, ask, deny, or empty
	Allow, Ask, Deny []string
}

// Agents lists the agents of files: the workspace's, then the user's.
func (g *Guide) Agents() []Agent { return slices.Clone(g.agents) }

func (l *loader) agents(ctx context.Context) {
	left := maxTexts
	for _, dir := range l.folders([]string{".dragoman/agents", ".eca/agents"}, "agents") {
		for _, name := range l.names(ctx, dir) {
			p := place{dir.in, path.Join(dir.rel, name)}
			if !hasExt(name, markdown) {
				continue
			}
			doc, ok := l.document(ctx, p)
			if !ok || !l.fresh("agent", doc) || !l.room(p, len(l.g.agents), "agents") {
				continue
			}
			a, ok := l.agent(doc, name)
			if !ok {
				continue
			}
			if left -= len(a.Instructions); left < 0 {
				l.warn(p, "was left out: the instructions of all agents are more than %d KiB", maxTexts>>10)
				left += len(a.Instructions)
				continue
			}
			l.g.agents = append(l.g.agents, a)
		}
	}
}

// agent reads an agent's file in the formats of ECA, Claude Code and OpenCode.
func (l *loader) agent(doc document, file string) (Agent, bool) {
	f := doc.front
	name := f.first("name").string()
	if name == "" {
		name, _, _ = strings.Cut(file, ".")
	}
	a := Agent{
		Source:      doc.at.source(),
		Name:        strings.ToLower(nameOf(name)),
		Description: oneLine(f.first("description").string(), maxDescription),
		SpawnableBy: f.first("spawnableBy").
			words(),
		Inherit: f.first("inherit").string(),
		Model:   f.first("model", "defaultModel").string(),
		Effort: f.first("effort", "variant").
			string(),
		Tools:    toolsOf(f.first("tools")),
		Disabled: f.first("disabledTools").words(),
		MaxSteps: f.first("maxSteps", "steps").int(),
	}
	if wrong := badName(name); wrong != "" {
		l.warn(doc.at, "was left out: %s", wrong)
		return a, false
	}
	if a.Model == "inherit" { // of the agent that delegates the task
		a.Model = ""
	}
	for i, s := range a.SpawnableBy {
		a.SpawnableBy[i] = strings.ToLower(s)
	}
	modes := f.first("mode").words()
	a.Primary, a.Subagent = slices.Contains(modes, "primary"), slices.Contains(modes, "subagent")
	if !a.Primary && !a.Subagent {
		if len(modes) > 0 && !slices.Contains(modes, "all") {
			l.warn(
				doc.at,
				"mode %q is neither primary nor subagent; the agent is both",
				oneLine(strings.Join(modes, ", "), 100),
			)
		}
		a.Primary, a.Subagent = true, true
	}
	a.Instructions, _ = legible(strings.TrimSpace(doc.body))
	if i := slices.IndexFunc(l.g.agents, func(b Agent) bool { return b.Name == a.Name }); i >= 0 {
		l.taken(doc.at, "agent", a.Name, l.g.agents[i].Source)
		return a, false
	}
	return a, true
}

// toolsOf reads the tools of an agent: a list, or a text with commas, of the tools
// that it may use without asking; a mapping of byDefault, allow, ask and deny; or a
// mapping from tools to booleans.
func toolsOf(n node) AgentTools {
	if n.empty() {
		return AgentTools{}
	}
	if n.kind != mapNode {
		return AgentTools{Default: "ask", Allow: n.words()}
	}
	var t AgentTools
	for _, f := range n.fields {
		switch f.key {
		case "byDefault":
			t.Default = f.value.string()
		case "allow":
			t.Allow = append(t.Allow, f.value.words()...)
		case "ask":
			t.Ask = append(t.Ask, f.value.words()...)
		case "deny":
			t.Deny = append(t.Deny, f.value.words()...)
		default:
			if f.value.bool(true) {
				t.Allow = append(t.Allow, f.key)
			} else {
				t.Deny = append(t.Deny, f.key)
			}
		}
	}
	return t
}
