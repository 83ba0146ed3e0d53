package tools

import (
	"context"
	"strings"

	"dragoman/core"
)

// optional is a tool that is offered while something holds.
type optional struct {
	*tool
	when func(core.EditorCaps) bool
}

// Tools lists the tools: those that are always there, then those that the editor
// makes possible, then handing over tasks where there is somebody to take them.
// Their order is always the same.
func (s *toolset) Tools(context.Context) ([]core.Tool, error) {
	list := s.offered()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = signature(list)
	return list, nil
}

// Changed implements core.Toolset. Editors come and go without telling us, so the
// list is looked at when somebody asks, as sessions do at every turn.
func (s *toolset) Changed() <-chan struct{} {
	now := signature(s.offered())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listed != "" && s.listed != now {
		select {
		case s.changed <- struct{}{}:
		default: // that is said already
		}
	}
	return s.changed
}

func (s *toolset) offered() []core.Tool {
	list := append([]core.Tool(nil), s.tools...)
	if s.host == nil { // somebody only wants to know what there is
		return list
	}
	if e := s.host.Editor(); e != nil {
		caps := e.Caps()
		for _, o := range s.optional {
			if o.when(caps) {
				list = append(list, o.tool)
			}
		}
	}
	if t := s.spawnTool(); t != nil {
		list = append(list, t)
	}
	return list
}

// signature tells lists of tools apart.
func signature(list []core.Tool) string {
	var b strings.Builder
	for _, t := range list {
		spec := t.Spec()
		b.WriteString(spec.Name + "\x00" + spec.Description + "\x00" + string(spec.Schema) + "\x00")
	}
	return b.String()
}

// Named reports whether a tool of ours has that name, offered or not.
func Named(name string) bool {
	switch name {
	case readSpec.Name, treeSpec.Name, globSpec.Name, grepSpec.Name, writeSpec.Name, editSpec.Name, moveSpec.Name, shellCommand, jobsSpec.Name,
		fetchSpec.Name, planSpec.Name, askSpec.Name, spawnAgent, diagnoseSpec.Name, definitionSpec.Name, referencesSpec.Name:
		return true
	}
	return false
}
