package configs

import (
	"reflect"

	"github.com/goccy/go-yaml/ast"
	"github.com/tailscale/hujson"

	"dragoman/configs/jsonc"
)

// agentFile describes agents.json. An entry has the form of agents.NAME in the YAML. One that was
// copied from the settings of an editor ({"command": …, "args": […], "env": {…}}) is read as well.
func agentFile() *listing[Agent] {
	return &listing[Agent]{
		file: "agents.json", section: "agents", member: "agents", also: []string{"agent_servers"}, what: "agent",
		of:       func(c *Config) *map[string]Agent { return &c.Agents },
		unusable: func(c *Config) map[string]UnusableAgent { return c.UnusableAgents },
		source:   func(c *Config) *string { return &c.AgentsFile },
		name:     func(name string) string { return name },
		reserved: func(string) string { return "" },
		read:     agentEntry,
		spell: func(a Agent, text func(readable) string) jsonc.Tree {
			return structOf(reflect.ValueOf(a), text)
		},
		means:   Agent.Means,
		shown:   func(setting string) string { return setting },
		strange: strangeAgents,
	}
}

// UnusableAgent is an invalid agent of agents.json.
type UnusableAgent = Unusable[Agent]

// agentEntry reads one agent.
func agentEntry(l *entryList[Agent], m hujson.ObjectMember) listed[Agent] {
	fill := func(d *decoder, key string, a *Agent) {
		d.value(l.agentNode(d, key, m.Value), reflect.ValueOf(a).Elem(), key, field{})
	}
	check := func(ck *checker, key string, a Agent) {
		name := l.name(jsonc.Name(m))
		if message := badName("name", name); message != "" {
			ck.fail(key, message)
		}
		ck.agent(name, a)
	}
	return l.decode(m, false, fill, check)
}

// agentNode returns an agent in the form of the decoder. In the form of editors the program's settings
// are those of the agent itself.
func (l *entryList[Agent]) agentNode(d *decoder, key string, v hujson.Value) ast.Node {
	t := l.text
	command := jsonc.Member(v, "command")
	if jsonc.Member(v, "type").Value.Value == nil && command.Value.Value == nil {
		return t.node(v)
	}
	kind, _ := jsonc.Member(v, "type").Value.Value.(hujson.Literal)
	if kind != nil && kind.Kind() == '"' && kind.String() == "registry" {
		d.problems = append(d.problems, *t.wrong(v, key, "an agent of the registry is added by dragoman agents add"))
		return ast.Mapping(t.token(v, "{"), true)
	}
	program := ast.Mapping(t.token(v, "{"), true)
	agent := ast.Mapping(t.token(v, "{"), true)
	words := ast.Sequence(t.token(v, "["), true)
	for _, m := range jsonc.Object(v).Members {
		switch name := jsonc.Name(m); name {
		case "type":
		case "command", "args":
			if list, ok := m.Value.Value.(*hujson.Array); ok {
				for _, word := range list.Elements {
					words.Values = append(words.Values, t.node(word))
				}
			} else {
				words.Values = append(words.Values, t.node(m.Value))
			}
		case "env":
			program.Values = append(program.Values, t.pair(name, m.Name, t.node(m.Value)))
		default:
			agent.Values = append(agent.Values, t.pair(name, m.Name, t.node(m.Value)))
		}
	}
	program.Values = append(program.Values, t.pair("command", command.Name, words))
	agent.Values = append(agent.Values, t.pair("acp", command.Name, program))
	return agent
}

// strangeAgents explains a top-level member that may have agents.
func strangeAgents(name string, o *hujson.Object) string {
	isAgent := jsonc.MemberAt(hujson.Value{Value: o}, func(m string) bool { return m == "acp" || m == "command" }) >= 0
	if isAgent {
		return "is not read: an agent belongs into agents"
	}
	return ""
}

// agentKey returns the key of an agent in the YAML.
func agentKey(name string) string { return join("agents", name) }

// AgentListed reports whether an agent is one of agents.json, even an unusable one, and not of the YAML.
func (c *Config) AgentListed(name string) bool {
	if _, unusable := c.UnusableAgents[name]; unusable {
		return true
	}
	return c.AgentsFile != "" && c.where[agentKey(name)].File == c.AgentsFile
}

// Means is Same with the defaults filled in.
func (a Agent) Means(o Agent) bool { return filled(a).Same(filled(o)) }

// AddAgent writes an agent. It is an error if the name exists.
func AddAgent(name string, a Agent) AgentEdit { return add(name, a) }

// PutAgent is AddAgent, but turns an existing agent into a. Unchanged settings keep their text and
// their comments.
func PutAgent(name string, a Agent) AgentEdit { return put(name, a) }

// DropAgent removes an agent. An unknown name is an error.
func DropAgent(name string) AgentEdit { return drop[Agent](name) }
