package tools

import (
	"context"
	"hash/maphash"

	"dragoman/core"
	"dragoman/core/ide"
)

// offer is a tool that is offered on a condition.
type offer struct {
	*tool
	when func(ide.Caps) bool
}

// Tools lists the tools: first those that are always there, then those that the
// editor makes possible, then delegation if there are agents to delegate to. Their
// order is always the same.
func (s *toolset) Tools(context.Context) ([]core.Tool, error) {
	list := s.offered()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = signature(list)
	return list, nil
}

// Changed implements core.Toolset. Editors connect and leave without notice, so the
// list is compared on each call, which sessions make at every turn.
func (s *toolset) Changed() <-chan struct{} {
	now := signature(s.offered())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listed != 0 && s.listed != now {
		select {
		case s.changed <- struct{}{}:
		default: // already announced
		}
	}
	return s.changed
}

func (s *toolset) offered() []core.Tool {
	list := append([]core.Tool(nil), s.tools...)
	if s.host == nil { // only for listing the tools
		return list
	}
	if e := ide.Of(s.host.Editor()); e != nil {
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

// seed is the seed of this process's signatures.
var seed = maphash.MakeSeed()

// signature returns a hash that identifies a list of tools; it is never 0.
func signature(list []core.Tool) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, t := range list {
		spec := t.Spec()
		for _, part := range []string{spec.Name, spec.Description, string(spec.Schema)} {
			h.WriteString(part) //nolint:errcheck // it never fails
			h.WriteByte(0)      //nolint:errcheck // as above
		}
	}
	return max(h.Sum64(), 1)
}

// Named reports whether a native tool has this name, offered or not.
func Named(name string) bool {
	switch name {
	case readSpec.Name, treeSpec.Name, globSpec.Name, grepSpec.Name, writeSpec.Name,
		editSpec.Name, moveSpec.Name, shellCommand, jobsSpec.Name,
		fetchSpec.Name, planSpec.Name, askSpec.Name, spawnAgent,
		diagnoseSpec.Name, definitionSpec.Name, referencesSpec.Name:
		return true
	}
	return false
}
