package loop

import (
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// index finds a tool by the model's name for it.
type index struct {
	byName map[string]core.Spec
	hidden []inference.ToolSpec // found by the model's search only
}

// offer lists tools for a model, in their order, and indexes them.
func offer(specs []core.Spec) ([]inference.ToolSpec, *index) {
	byName := make(map[string]core.Spec, len(specs))
	list := make([]inference.ToolSpec, 0, len(specs))
	for _, s := range specs {
		name := inference.ToolName(s.Server, s.Name)
		for n := 2; ; n++ { // another tool's name contains the same checksum: rename this one
			if _, taken := byName[name]; !taken {
				break
			}
			end := fmt.Sprintf("_%d", n)
			name = name[:min(len(name), inference.MaxToolName-len(end))] + end
		}
		byName[name] = s
		schema := s.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		list = append(list, inference.ToolSpec{
			Name: name, Description: s.Description, Schema: schema, Plain: s.Server == core.Native && len(s.Schema) > 0,
		})
	}
	return list, &index{byName: byName}
}

// find returns the tool with this name. For a name that was not offered it returns a
// tool that does not exist, to show to people.
func (x *index) find(name string) (s core.Spec, ok bool) {
	if x != nil {
		if s, ok := x.byName[name]; ok {
			return s, true
		}
	}
	const most = 200
	if len(name) > most {
		name = display.Cut(strings.ToValidUTF8(name, ""), most)
	}
	return core.Spec{Server: core.Native, Name: name, Kind: core.KindOther}, false
}
