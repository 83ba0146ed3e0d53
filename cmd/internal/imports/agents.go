package imports

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"dragoman/cmd/internal/program"
	"dragoman/configs/jsonc"
	"dragoman/core/display"
)

// AgentSettings are the agents in the user's own settings of an editor. A project's settings are never
// read: they come from others.
type AgentSettings struct {
	Program string // zed or jetbrains
	Path    string
	Agents  []AgentServer
}

// AgentServer is an agent that an editor starts.
type AgentServer struct {
	Name     string
	Registry bool // it comes from the registry of agents, under its name
	Command  []string
	Env      map[string]string
	Options  map[string]string // of the agent, by id
	Notes    []string          // what is left out
	Err      error             // why it cannot be taken over
}

// AgentPrograms lists the programs whose agents can be imported.
func AgentPrograms() []string { return []string{"zed", "jetbrains"} }

// AgentsOf reads the agents in the settings of the programs, or of one of them. A program without
// settings is left out.
func AgentsOf(p *program.Environment, only string) (list []AgentSettings, err error) {
	home := p.Home()
	if home == "" {
		return nil, errors.New("HOME is not set, so no settings are found")
	}
	config, apps := settingsFolders(p, home)
	zed := filepath.Join(config, "zed", "settings.json")
	if runtime.GOOS == "windows" {
		zed = filepath.Join(apps, "Zed", "settings.json")
	}
	for _, s := range []AgentSettings{{Program: "zed", Path: zed}, {Program: "jetbrains", Path: filepath.Join(home, ".jetbrains", "acp.json")}} {
		if only != "" && only != s.Program || absent(s.Path) {
			continue
		}
		text, unread := ReadFile(s.Path)
		if unread == nil {
			s.Agents, unread = agentsIn(text, s.Program)
		}
		if unread != nil {
			err = errors.Join(err, fmt.Errorf("read %s: %s", s.Path, program.Reason(unread)))
			continue
		}
		list = append(list, s)
	}
	return list, err
}

// agentsIn reads the agents of settings.
func agentsIn(text []byte, of string) (list []AgentServer, err error) {
	plain, err := jsonc.Plain(text)
	if err != nil {
		return nil, err
	}
	_, top, err := members(plain)
	if err != nil || top["agent_servers"] == nil {
		return nil, err
	}
	names, servers, err := members(top["agent_servers"])
	if err != nil {
		return nil, fmt.Errorf("agent_servers: %w", err)
	}
	for _, name := range names {
		list = append(list, agentServer(name, servers[name], of))
	}
	return list, nil
}

func agentServer(name string, raw json.RawMessage, of string) (s AgentServer) {
	s.Name = name
	var is struct {
		Type    string
		Command json.RawMessage
		Args    []string
		Env     map[string]any
		Mode    string `json:"default_mode"`
		Model   string `json:"default_model"`
	}
	fields, _, err := members(raw)
	if err == nil {
		err = json.Unmarshal(raw, &is)
	}
	if err != nil {
		s.Err = fmt.Errorf("it is not understood: %w", err)
		return s
	}
	var older struct { // a form of Zed's before
		Path string
		Args []string
	}
	var command string
	switch {
	case is.Command == nil || json.Unmarshal(is.Command, &command) == nil:
	case json.Unmarshal(is.Command, &older) == nil:
		command, is.Args = older.Path, older.Args
	default:
		s.Err = errors.New("its command is not understood")
		return s
	}
	s.Env = map[string]string{}
	for name, value := range is.Env {
		s.Env[name] = spelled(value)
	}
	s.Options = map[string]string{}
	for id, value := range map[string]string{"mode": is.Mode, "model": is.Model} {
		if value != "" {
			s.Options[id] = value
		}
	}
	for _, f := range fields {
		if !slices.Contains([]string{"type", "command", "args", "env", "default_mode", "default_model"}, f) {
			s.Notes = append(s.Notes, display.Line(f, 60)+" is left out")
		}
	}
	switch {
	case of == "zed" && is.Type == "registry":
		s.Registry = true
	case command == "":
		s.Err = errors.New("it has no command")
	case Entry{Name: name, Command: command}.Ours():
		s.Err = errors.New("it is dragoman itself")
	default:
		s.Command = append([]string{command}, is.Args...)
	}
	return s
}

// Shown describes an agent in one line.
func (s AgentServer) Shown() string {
	if s.Registry {
		return "agent " + display.Word(s.Name) + " of the registry"
	}
	var words []string
	for _, w := range s.Command {
		words = append(words, display.Word(w))
	}
	return cmp.Or(strings.Join(words, " "), "-")
}
