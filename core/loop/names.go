package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"dragoman/core"
)

// maxName is how long a tool's name may be for every provider.
const maxName = 64

// toolName is a tool's name as a model sees it: our own tools by their name,
// others as SERVER__TOOL. A name that would not be legal, or could be read as
// that of another tool, gets a part of a checksum. It depends on nothing else, so
// that a name means the same tool in all of a history.
func toolName(server, tool string) string {
	name, unclear := tool, strings.Contains(tool, "__")
	if server != core.Native {
		name, unclear = server+"__"+tool, strings.Contains(server, "__") || strings.HasSuffix(server, "_") || server == ""
	}
	legal := strings.Map(legalRune, name)
	if legal == name && !unclear && len(name) <= maxName && tool != "" {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return legal[:min(len(legal), maxName-9)] + "_" + hex.EncodeToString(sum[:4])
}

func legalRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
		return r
	}
	return '_'
}

// index finds the tool that a model means.
type index struct {
	byName map[string]core.Spec
	hidden []core.ToolSpec // that the model is shown only when it looks for them
}

// offer lists tools for a model, in their order, and indexes them.
func offer(specs []core.Spec) ([]core.ToolSpec, *index) {
	byName := make(map[string]core.Spec, len(specs))
	list := make([]core.ToolSpec, 0, len(specs))
	for _, s := range specs {
		name := toolName(s.Server, s.Name)
		for n := 2; ; n++ { // another tool's name holds the very checksum: rename this one
			if _, taken := byName[name]; !taken {
				break
			}
			end := fmt.Sprintf("_%d", n)
			name = name[:min(len(name), maxName-len(end))] + end
		}
		byName[name] = s
		schema := s.Schema
		if len(schema) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		list = append(list, core.ToolSpec{Name: name, Description: s.Description, Schema: schema})
	}
	return list, &index{byName: byName}
}

// find is the tool of that name. Of a name that was not offered it makes a tool
// that does not exist, for people to see.
func (x *index) find(name string) (s core.Spec, ok bool) {
	if x != nil {
		if s, ok := x.byName[name]; ok {
			return s, true
		}
	}
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return core.Spec{Server: core.Native, Name: name, Kind: core.KindOther}, false
}
