package tools

import (
	"context"
	"hash/maphash"
	"slices"

	"dragoman/core"
	"dragoman/core/ide"
)

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
	list := make([]core.Tool, 0, len(s.tools)+1)
	for i := range s.tools {
		list = append(list, &s.tools[i])
	}
	if s.host == nil { // only for listing the tools
		return list
	}
	if e := ide.Of(s.host.Editor("")); e != nil {
		caps := e.Caps()
		for i := range s.optional {
			if o := &s.optional[i]; caps.Serves(o.spec.Name) {
				list = append(list, o)
			}
		}
	}
	if t := s.spawnTool(); t != nil {
		list = append(list, t)
	}
	return list
}

// AnyEditor is an editor that makes every tool possible, for lists of tools. It cannot be asked.
type AnyEditor struct{ ide.Editor }

// Caps implements ide.Editor.
func (AnyEditor) Caps() ide.Caps {
	return ide.Caps{Diagnostics: true, Definition: true, References: true}
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

// Names lists the native tools, offered or not.
func Names() []string {
	return []string{
		readSpec.Name, treeSpec.Name, globSpec.Name, grepSpec.Name, writeSpec.Name,
		editSpec.Name, moveSpec.Name, shellCommand, jobsSpec.Name,
		fetchSpec.Name, planSpec.Name, askSpec.Name, spawnAgent,
		diagnoseSpec.Name, definitionSpec.Name, referencesSpec.Name,
	}
}

// Named reports whether a native tool has this name, offered or not.
func Named(name string) bool { return slices.Contains(Names(), name) }

// Touches returns the kind of access by which rules can distinguish the calls of a native tool;
// "": they cannot.
func Touches(name string) core.AccessOp {
	switch name {
	case shellCommand, jobsSpec.Name:
		return core.OpRun
	case fetchSpec.Name:
		return core.OpNet
	case writeSpec.Name, editSpec.Name, moveSpec.Name:
		return core.OpWrite
	case readSpec.Name, treeSpec.Name, globSpec.Name, grepSpec.Name, diagnoseSpec.Name, definitionSpec.Name, referencesSpec.Name:
		return core.OpRead
	}
	return ""
}
