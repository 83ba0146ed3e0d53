package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/jsonscan"
)

// tool returns the name of the native tool for a step.
func (s step) tool() string {
	switch s.verb {
	case verbRead:
		return "read_file"
	case verbList:
		return "directory_tree"
	case verbSearch:
		return "grep"
	case verbWrite:
		return "write_file"
	case verbReplace:
		return "edit_file"
	case verbRun:
		return "shell_command"
	case verbPlan:
		return "update_plan"
	case verbAsk:
		return "ask_user"
	case verbThink, verbStream:
	}
	return ""
}

// findTool finds a tool by its native name, with or without a prefix. A name without a
// prefix wins, then the first tool.
func findTool(tools []inference.ToolSpec, name string) (inference.ToolSpec, bool) {
	i := slices.IndexFunc(tools, func(t inference.ToolSpec) bool { return t.Name == name })
	if i < 0 {
		i = slices.IndexFunc(tools, func(t inference.ToolSpec) bool { return strings.HasSuffix(t.Name, "_"+name) })
	}
	if i < 0 {
		return inference.ToolSpec{}, false
	}
	return tools[i], true
}

// schema is the part of a JSON Schema that the demo reads.
type schema struct {
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Required   []string          `json:"required"`
	Type       any               `json:"type"`
}

// pick returns the first of the names that the schema has, else the first.
func (s schema) pick(names ...string) string {
	for _, n := range names {
		if _, ok := s.Properties[n]; ok {
			return n
		}
	}
	return names[0]
}

type (
	object = jsonscan.Object
	member = jsonscan.Member
)

// toolArgs writes a step's arguments with the names in the tool's schema.
func toolArgs(s step, raw json.RawMessage) json.RawMessage {
	var sc schema
	_ = json.Unmarshal(raw, &sc) // without a schema the usual names are used
	path := sc.pick("path", "file_path", "file")
	var o object
	switch s.verb {
	case verbRead, verbList:
		o = object{{path, s.args[0]}}
	case verbSearch:
		o = searchArgs(s.args[0], sc)
	case verbWrite:
		o = object{{path, s.args[0]}, {sc.pick("content", "text", "contents"), s.args[1]}}
	case verbReplace:
		o = object{
			{path, s.args[2]},
			{sc.pick("old", "old_text", "old_string", "original_content"), s.args[0]},
			{sc.pick("new", "new_text", "new_string", "new_content"), s.args[1]},
		}
	case verbRun:
		o = object{{sc.pick("command", "cmd"), s.args[0]}}
	case verbPlan:
		o = planArgs(s.args, sc)
	case verbAsk:
		o = object{{sc.pick("question", "text", "prompt"), s.args[0]}}
	case verbThink, verbStream:
	}
	b, err := o.MarshalJSON()
	if err != nil {
		return json.RawMessage("{}") // impossible: members are texts
	}
	return b
}

// searchArgs searches for the text literally, even if the tool takes a regular
// expression.
func searchArgs(text string, sc schema) object {
	name := sc.pick("pattern", "regex", "query", "text")
	literal := ""
	for _, n := range []string{"literal", "fixed", "fixed_strings"} {
		if _, ok := sc.Properties[n]; ok {
			literal = n
		}
	}
	o := object{{name, text}}
	switch {
	case literal != "":
		o = append(o, member{literal, true})
	case name == "pattern" || name == "regex":
		o[0].Value = regexp.QuoteMeta(text)
	}
	if slices.Contains(sc.Required, "path") {
		o = append(o, member{"path", "."})
	}
	return o
}

func planArgs(entries []string, sc schema) object {
	name := sc.pick("entries", "plan", "steps", "items", "tasks", "todos")
	item := schema{}
	if p, ok := sc.Properties[name]; ok && p.Items != nil {
		item = *p.Items
	}
	plan := []any{}
	for _, e := range entries {
		if item.Type == "string" {
			plan = append(plan, e)
			continue
		}
		plan = append(plan, object{
			{item.pick("text", "content", "step", "title", "subject", "description"), e},
			{"status", string(core.PlanPending)},
		})
	}
	return object{{name, plan}}
}
