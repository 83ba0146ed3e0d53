package eca

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"dragoman/adapters/proto/eca"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/ide"
)

// serverUpdated describes a server in the protocol's form, with the tools as the selected agent may
// use them.
func (s *Server) serverUpdated(item board.Server) eca.ServerUpdatedParams {
	s.mu.Lock()
	agent := s.selectedAgent
	s.mu.Unlock()
	return s.describe(item, agent)
}

func (s *Server) describe(item board.Server, agent string) eca.ServerUpdatedParams {
	p := eca.ServerUpdatedParams{Type: eca.ServerMCP, Name: item.Name, Status: item.Status, Tools: []eca.ServerTool{}}
	if item.Command != "" {
		p.Command, p.Args = &item.Command, append([]string{}, item.Args...)
	}
	if item.Name == core.Native {
		p.Type, p.Name = eca.ServerNative, eca.NativeServerTitle
	} else {
		disabled := item.Disabled || item.Status == statusDisabled
		p.Disabled, p.HasAuth, p.URL = &disabled, &item.LoggedIn, item.URL
		p.Prompts, p.Resources = promptsOf(item.Prompts), servedOf(item.Resources)
	}
	for _, t := range item.Tools {
		if item.Name == core.Native && !s.editorServes(t.Name) {
			continue
		}
		schema := t.Schema
		if !json.Valid(schema) {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		name := t.Name
		if item.Name == core.Native && name == planTool {
			name = eca.ToolTask
		}
		p.Tools = append(p.Tools, eca.ServerTool{Name: name, Description: t.Description, Parameters: schema, Disabled: s.offered().Refuses(agent, t)})
	}
	return p
}

// editorServes reports whether the client's editor makes one of our tools possible.
func (s *Server) editorServes(tool string) bool {
	var caps ide.Caps
	if e := ide.Of(s.editor()); e != nil {
		caps = e.Caps()
	}
	return caps.Serves(tool)
}

// selectAgent announces the servers again whose tools another selected agent may not use, or may
// use again.
func (s *Server) selectAgent(agent string) {
	s.mu.Lock()
	was := s.selectedAgent
	s.selectedAgent = agent
	s.mu.Unlock()
	s.pump.Do(func() {
		byName := func(a, b board.Topic) int { return cmp.Compare(a.Name, b.Name) }
		for _, t := range slices.SortedFunc(maps.Keys(s.told), byName) {
			if now := s.describe(s.told[t], agent); !reflect.DeepEqual(now, s.describe(s.told[t], was)) {
				s.notify(eca.MethodServerUpdated, now)
			}
		}
	})
}
