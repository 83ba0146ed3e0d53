package configs

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Agent is a persona of the built-in loop or, with ACP or ECA, an external agent.
type Agent struct {
	Description  string       `yaml:"description" empty:"ok" workspace:"yes" doc:"The purpose of the agent in one line, shown where agents are chosen."`
	ACP          AgentProgram `yaml:"acp" doc:"The program of an external agent that speaks the Agent Client Protocol, such as claude-agent-acp, codex-acp or gemini --acp. Left out: the agent is one of dragoman's own, with a model and tools from here."`
	ECA          AgentProgram `yaml:"eca" without:"acp" doc:"The program of an external agent that serves the Editor Code Assistant protocol, such as eca server, in place of acp. Its tools run in its own process: your rules judge what it reports and asks about."`
	Model        string       `yaml:"model" without:"acp,eca" workspace:"yes" doc:"Model of this agent, as PROVIDER/MODEL. Left out: the model of the configuration."`
	Instructions Value        `yaml:"instructions" aka:"prompt,system_prompt,system" without:"acp,eca" workspace:"yes" doc:"The agent's system prompt. Text, or a file: ${file:reviewer.md}."`
	Mode         string       `yaml:"mode" enum:"primary,subagent,all" other:"; a mode that an external agent has itself is one of its options: {mode: …}" default:"primary" workspace:"yes" doc:"Who may start the agent: primary is offered to people, subagent to other agents, all to both. A mode of an external agent's own is one of its options."`

	Tools         []string `yaml:"tools" aka:"allowed_tools" pattern:"tool" without:"acp,eca" doc:"The only tools that the agent is offered, by name; * is any text, SERVER/NAME a tool of an MCP server. Left out: all. It allows no call; only the policy does."`
	DisabledTools []string `yaml:"disabled_tools" aka:"denied_tools,exclude_tools" pattern:"tool" without:"acp,eca" workspace:"yes" doc:"Tools that the agent is not offered and cannot call, written in the same way."`
	MaxSteps      int      `yaml:"max_steps" aka:"steps,max_turns" min:"0" max:"100000" without:"acp,eca" doc:"How many times a turn of this agent may call the model; 0: as often as limits.max_turn_requests says, which is never exceeded."`

	Options map[string]Option `yaml:"options" aka:"config_options,settings" names:"option" needs:"acp,eca" doc:"Options of an external agent by the ids that it has for them, such as mode, model and thought_level, set whenever a session with it begins. A value is a text, a number, or true or false."`
	Paths   map[string]string `yaml:"paths" aka:"path_mapping,path_map,mappings" names:"path" needs:"acp,eca" doc:"Folders of this machine, and where the external agent finds them, for one that runs in a container or on another machine. Absolute on both sides; of several that match, the longest counts."`
	MCP     string            `yaml:"mcp" aka:"mcp_servers" enum:"gateway,direct" default:"gateway" needs:"acp" doc:"How the external agent reaches MCP servers: gateway gives it one server of dragoman's with all of them, so that your rules hold for every call; direct gives it those that the editor brings along as they are, and none of yours."`
	Idle    time.Duration     `yaml:"idle" aka:"idle_timeout,timeout" default:"10m" min:"0s" needs:"acp,eca" doc:"How long the external agent's program may be idle before it is ended, if the agent can continue the session later; the next prompt starts it again. This is looked at once a minute, so it may last up to a minute longer. 0: never."`
	Shared  bool              `yaml:"shared" aka:"share" default:"false" needs:"acp" doc:"Whether sessions with the same working directory share one program of the external agent, instead of one for each."`
	Sandbox string            `yaml:"sandbox" enum:"off,workspace,network" default:"off" needs:"acp,eca" doc:"How far the external agent's program is confined: off lets it do all that you may; workspace confines it like commands, to the session's folders, to hosts that are allowed, and to its own files where these are known; network is the same with the network open. Where programs cannot be confined it is then not started."`
	Write   []Value           `yaml:"write" needs:"acp,eca" doc:"Further files and folders that the confined agent keeps for itself: it may change them, and read them if they hold keys. They must exist; ~/ is your home."`
}

// AgentProgram is the program of an external agent.
type AgentProgram struct {
	Command []Value           `yaml:"command" aka:"cmd,args" line:"yes" doc:"Program to start with its arguments, as a list or in one line (quotes keep words together); it speaks its protocol on its standard input and output. Arguments are shown in full by config show; give secrets through env."`
	Env     map[string]Secret `yaml:"env" aka:"environment" names:"variable" doc:"Environment variables of the program, by name, added to a small safe set and to those by which this agent finds its own login."`
}

// Option is the value of an option of an external agent: a text, or a number or a boolean as it is
// written.
type Option string

// IsZero reports whether nothing is set.
func (p AgentProgram) IsZero() bool { return len(p.Command) == 0 && len(p.Env) == 0 }

// External reports whether the agent is a program of its own.
func (a Agent) External() bool { return !a.ACP.IsZero() || !a.ECA.IsZero() }

// Program returns the program of an external agent, and the setting that has it: acp or eca.
func (a Agent) Program() (p AgentProgram, setting string) {
	if a.ACP.IsZero() && !a.ECA.IsZero() {
		return a.ECA, "eca"
	}
	return a.ACP, "acp"
}

// Confined reports whether an external agent's program runs in a sandbox.
func (a Agent) Confined() bool { return a.External() && a.Sandbox != "" && a.Sandbox != SandboxOff }

// BuiltinAgents lists the names of the agents that exist without any configuration, those that
// people can choose first.
func BuiltinAgents() []string { return []string{"code", "plan", "explorer", "general"} }

// builtinPrimary is the number of built-in agents that people can choose.
const builtinPrimary = 2

// agent checks an entry of agents.
func (ck *checker) agent(name string, a Agent) {
	key := join("agents", name)
	ck.model(join(key, "model"), a.Model)
	program, setting := a.Program()
	if !a.External() && !ck.written(join(key, setting)) {
		setting = "eca"
	}
	acp := join(key, setting)
	external := a.External() || ck.written(acp)
	v := reflect.ValueOf(a)
	for _, f := range fieldsOf(v.Type()) {
		sub := join(key, f.name)
		switch set := ck.written(sub) || !v.Field(f.index).IsZero(); {
		case set && f.name == "eca" && setting == "acp":
			ck.fail(sub, "an agent has one program: write either acp or eca")
		case f.name == "eca":
		case set && external && f.name == "model":
			ck.fail(sub, "means nothing for an external agent ("+setting+"); its own models are among its options, such as options: {model: …}")
		case set && external && f.without != "":
			ck.fail(sub, "means nothing for an external agent ("+setting+")")
		case set && !external && f.needs != "":
			ck.fail(sub, "belongs to an external agent, and this one has neither acp nor eca")
		case set && external && f.needs != "" && !slices.Contains(list(f.needs), setting):
			ck.fail(sub, "means nothing for an ECA server: it gets the session's tools from dragoman, and each session has a program of its own")
		}
	}
	if !external {
		return
	}
	command := join(acp, "command")
	switch {
	case slices.Contains(BuiltinAgents(), name):
		ck.fail(acp, quote(name)+" is a built-in agent; an external one needs another name than "+oneOf(BuiltinAgents()))
	case len(program.Command) == 0 && ck.failed(command), ck.failed(acp):
	case len(program.Command) == 0 && ck.written(command):
		ck.fail(command, "names no program")
	case len(program.Command) == 0:
		ck.fail(acp, "needs command")
	case program.Command[0].IsZero() && !ck.failed(index(command, 0)):
		ck.fail(index(command, 0), "names no program")
	case len(program.Command) == 1 && strings.ContainsAny(program.Command[0].raw(), " \t") &&
		!strings.ContainsAny(strings.Fields(program.Command[0].raw())[0], `/\$`):
		ck.warn(command, "looks like a whole command line; write each word as an element of the list, or the line without brackets")
	}
	if _, empty := a.Options[""]; empty {
		ck.fail(join(key, "options"), "the id of an option is empty")
	}
	ck.paths(join(key, "paths"), a.Paths)
}

// paths checks a mapping of folders: absolute on both sides, none twice.
func (ck *checker) paths(key string, paths map[string]string) {
	local, remote := map[string]string{}, map[string]string{} // by the cleaned form
	for _, from := range slices.Sorted(maps.Keys(paths)) {
		sub, to := join(key, from), paths[from]
		switch {
		case strings.Contains(from, "${"):
			ck.fail(sub, "references are not expanded in this setting")
		case !filepath.IsAbs(from):
			ck.fail(sub, "must be an absolute path of this machine, got "+quote(from))
		case to == "" || strings.Contains(to, "${"): // reported by stringValue
			if to == "" && !ck.failed(sub) {
				ck.fail(sub, "must be the absolute path that the agent has for the folder")
			}
		case !isRemoteAbs(to):
			ck.fail(sub, "must be an absolute path on the agent's side, got "+quote(to))
		default:
			here, there := filepath.Clean(from), cleanRemote(to)
			if first, twice := local[here]; twice {
				ck.fail(sub, "is the same folder as "+quote(first))
			} else if first, twice := remote[there]; twice {
				ck.fail(sub, fmt.Sprintf("%s is already where the agent finds %s", quote(to), quote(first)))
			}
			local[here], remote[there] = from, from
		}
	}
}

// isRemoteAbs reports whether a path is absolute on some system: the agent's may not be ours.
func isRemoteAbs(path string) bool {
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || drive
}

// cleanRemote removes the separators at the end of a path.
func cleanRemote(path string) string {
	short := strings.TrimRight(path, `/\`)
	if short == "" || strings.HasSuffix(short, ":") {
		return path
	}
	return short
}

// defaultAgent checks the setting default_agent. Agents that files propose cannot be the default,
// because they differ from one workspace to the next.
func (ck *checker) defaultAgent() {
	name := ck.c.DefaultAgent
	if name == "" {
		return
	}
	choose := slices.Clone(BuiltinAgents()[:builtinPrimary])
	for _, n := range slices.Sorted(maps.Keys(ck.c.Agents)) {
		mode := ck.c.Agents[n].Mode
		builtin := slices.Contains(BuiltinAgents(), n)
		if (mode == "all" || !builtin && mode != "subagent") && !slices.Contains(choose, n) {
			choose = append(choose, n)
		}
	}
	if slices.Contains(choose, name) {
		return
	}
	message := "there is no agent " + quote(name)
	if _, ok := ck.c.Agents[name]; ok || slices.Contains(BuiltinAgents(), name) {
		message = "the agent " + quote(name) + " is for tasks of other agents (mode)"
	}
	ck.fail("default_agent", message+"; choose among "+oneOf(choose)+DidYouMean(name, choose))
}

// agentsBeyondEditor lists the settings of external agents that an editor may not set: the program
// and what is sent to it.
func (c *Config) agentsBeyondEditor(own string) (problems []Problem) {
	wrong := func(key, message string) {
		problems = append(problems, Problem{Position: Position{File: EditorSource}, Key: key, Message: message + own})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		v := reflect.ValueOf(c.Agents[name])
		for _, f := range fieldsOf(v.Type()) {
			key := join(join("agents", name), f.name)
			_, written := c.where[key]
			if (f.name == "acp" || f.name == "eca" || f.needs != "") && (written || !v.Field(f.index).IsZero()) {
				wrong(key, "an editor's options set up no external agents")
			}
		}
	}
	if _, written := c.where["limits.agents"]; written || c.Limits.Agents != 0 {
		wrong("limits.agents", "an editor's options do not limit the agents of other clients")
	}
	if _, written := c.where["sessions"]; written || c.Sessions != (Sessions{}) {
		wrong("sessions", "an editor's options do not decide about the sessions of other clients")
	}
	return problems
}

// leaveLoopKeys leaves out settings of the built-in loop that the editor or a workspace gives to
// an external agent: only a mistake of the user's own is an error.
func (c *Config) leaveLoopKeys(editor, workspace *Config) {
	foreign := func(at Position) bool {
		return editor != nil && at.File == editor.Source || workspace != nil && at.File == workspace.Source
	}
	for name, a := range c.Agents {
		if !a.External() {
			continue
		}
		_, setting := a.Program()
		v := reflect.ValueOf(&a).Elem()
		for _, f := range fieldsOf(v.Type()) {
			key := join(join("agents", name), f.name)
			at, written := c.where[key]
			if f.name == "eca" || f.without == "" || !written || !foreign(at) {
				continue
			}
			v.Field(f.index).SetZero()
			maps.DeleteFunc(c.where, func(k string, _ Position) bool { return within(k, key) })
			c.noted = append(c.noted, Problem{Position: at, Key: key, Message: "is left out: it means nothing for an external agent (" + setting + ")"})
		}
		c.Agents[name] = a
	}
}
