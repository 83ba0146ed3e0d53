package toolserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/ide"
	"dragoman/core/inference"
)

// catalog is a list of tools as an agent gets it, and the meaning of all names that it was ever
// given. It never changes.
type catalog struct {
	server string
	limit  int                  // of a name, in bytes
	list   []string             // the tools as JSON
	by     map[string]core.Spec // by name
	given  map[tool]string      // the names
}

// tool identifies a tool of a session.
type tool struct{ server, name string }

// maxNames limits the names that are remembered; with more, those that are not listed are forgotten.
const maxNames = 10_000

func newCatalog(server string) *catalog {
	limit := inference.MaxToolName - len("mcp__"+server+"__") // the longest prefix of agents
	return &catalog{server: server, limit: max(limit, 16), by: map[string]core.Spec{}, given: map[tool]string{}}
}

// ForAgents reports whether a tool is for agents behind us: they have their own for what ours do in
// the workspace, and no agent of ours is handed tasks by one.
func ForAgents(s core.Spec) bool {
	switch s.Name {
	case ide.DiagnosticsTool, ide.DefinitionTool, ide.ReferencesTool:
		return true
	}
	return s.Server != core.Native
}

// with returns the catalog of other tools, in which names keep their meaning. offer selects tools;
// nil: all.
func (c *catalog) with(specs []core.Spec, offer func(core.Spec) bool) *catalog {
	next := newCatalog(c.server)
	if len(c.by) < maxNames {
		maps.Copy(next.by, c.by)
		maps.Copy(next.given, c.given)
	}
	for _, s := range specs {
		if !ForAgents(s) || offer != nil && !offer(s) {
			continue
		}
		name := next.name(tool{s.Server, s.Name})
		next.by[name] = s
		next.list = append(next.list, string(described(name, s)))
	}
	return next
}

// name returns the name of a tool, and gives it one if it has none.
func (c *catalog) name(t tool) string {
	if name, ok := c.given[t]; ok {
		return name
	}
	base := inference.ToolNameWithin(c.limit, t.server, t.name)
	name := base
	for n := 2; ; n++ { // another tool's name contains the same checksum
		if _, taken := c.by[name]; !taken {
			break
		}
		end := fmt.Sprintf("_%d", n)
		name = base[:min(len(base), c.limit-len(end))] + end
	}
	c.given[t] = name
	return name
}

// described returns a tool in the form of tools/list.
func described(name string, s core.Spec) json.RawMessage {
	schema := s.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	hints := map[string]any{"readOnlyHint": s.ReadOnly, "idempotentHint": s.Idempotent}
	members := []wire.Member{wire.Set("name", wire.JSON(name))}
	if s.Title != "" {
		members = append(members, wire.Set("title", wire.JSON(s.Title)))
		hints["title"] = s.Title
	}
	return wire.Edit(nil, append(members,
		wire.Set("description", wire.JSON(s.Description)),
		wire.Set("inputSchema", schema),
		wire.Set("annotations", wire.JSON(hints)),
	)...)
}

// find returns the tool that an agent means. Claude writes mcp__SERVER__NAME, OpenCode SERVER_NAME,
// Codex SERVER/NAME or SERVER.NAME, behind "Tool: " in a title, and Gemini SERVER__NAME,
// mcp_SERVER_NAME or "NAME (SERVER MCP Server)". The name alone is not enough: an agent could have a
// tool of its own of that name.
func (c *catalog) find(title string) (core.Spec, bool) {
	name, ok := strings.CutSuffix(title, " ("+c.server+" MCP Server)")
	if ok {
		s, ok := c.by[name]
		return s, ok
	}
	title = strings.TrimPrefix(title, "Tool: ")
	for _, prefix := range []string{"mcp__" + c.server + "__", "mcp_" + c.server + "_", c.server + "__", c.server + "_", c.server + "/", c.server + ".", "mcp." + c.server + "."} {
		if name, ok := strings.CutPrefix(title, prefix); ok {
			if s, ok := c.by[name]; ok {
				return s, true
			}
		}
	}
	return core.Spec{}, false
}
