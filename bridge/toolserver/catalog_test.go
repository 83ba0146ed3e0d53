package toolserver

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/ide"
	"dragoman/core/inference"
)

func listedNames(c *catalog) (names []string) {
	for _, text := range c.list {
		name, _, _ := strings.Cut(strings.TrimPrefix(text, `{"name":"`), `"`)
		names = append(names, name)
	}
	return names
}

// Agents get the tools of servers and those that need an editor, and nothing else of ours.
func TestWhatIsForAgents(t *testing.T) {
	var specs []core.Spec
	for _, name := range []string{"read_file", "shell_command", "spawn_agent", "agent_prompt", "agent_approve", ide.DiagnosticsTool, ide.DefinitionTool, ide.ReferencesTool, "web_fetch"} {
		specs = append(specs, core.Spec{Server: core.Native, Name: name})
	}
	specs = append(specs, echo, core.Spec{Server: "files", Name: "denied"})
	c := newCatalog(Name).with(specs, func(s core.Spec) bool { return s.Name != "denied" })
	if got, want := fmt.Sprint(listedNames(c)), "[editor_diagnostics editor_definition editor_references files__echo]"; got != want {
		t.Errorf("listed are %s, want %s", got, want)
	}
	for _, name := range []string{"read_file", "agent_prompt", "files__denied"} {
		if s, ok := c.by[name]; ok {
			t.Errorf("%s can be called, as %+v", name, s)
		}
	}
}

// Names are legal for every agent and its model, with the agent's prefix, and mean the same for ever.
func TestNames(t *testing.T) {
	long := strings.Repeat("long", 20)
	specs := []core.Spec{
		{Server: "files", Name: "a.b/c d"},
		{Server: "files", Name: long},
		{Server: "files", Name: long + "2"},
		{Server: "a__b", Name: "c"},
		{Server: "a", Name: "b__c"},
		{Server: "é", Name: "ü"},
	}
	c := newCatalog(Name).with(specs, nil)
	taken := listedNames(c)[0]
	server, tool, _ := strings.Cut(taken, "__")
	c = c.with([]core.Spec{{Server: server, Name: tool}, specs[0]}, nil) // in another order
	all := listedNames(c.with(specs, nil))
	seen := map[string]bool{}
	for i, name := range all {
		if whole := "mcp__dragoman__" + name; !inference.LegalToolName(whole) || seen[name] {
			t.Errorf("%q is not legal, or there twice", name)
		}
		seen[name] = true
		if s := c.by[name]; s.Name != specs[i].Name || s.Server != specs[i].Server {
			t.Errorf("%q has become %+v", name, s)
		}
	}
	if got := listedNames(c); got[1] != taken || got[0] == taken {
		t.Errorf("%q has changed its meaning: %q", taken, got)
	}
	if got := listedNames(newCatalog(long).with(specs, nil))[0]; len(got) > 16 {
		t.Errorf("below a long name of the server it is %q", got)
	}
}

// A tool of ours is found by what agents call it, and by nothing else.
func TestFind(t *testing.T) {
	s := open(t, newPool(t), echo, core.Spec{Server: core.Native, Name: ide.DiagnosticsTool})
	for _, title := range []string{
		"mcp__dragoman__files__echo", "dragoman__files__echo", "dragoman_files__echo", "mcp_dragoman_files__echo",
		"files__echo (dragoman MCP Server)", "Tool: dragoman/files__echo", "dragoman/files__echo", "dragoman.files__echo",
		"mcp.dragoman.files__echo", "mcp__dragoman__editor_diagnostics",
	} {
		if !s.Owns(title) {
			t.Errorf("%q is not found", title)
		}
	}
	for _, title := range []string{
		"", "files__echo", "echo", "editor_diagnostics", "mcp__other__files__echo", "mcp__dragoman__", "mcp__dragoman__rm",
		"files__echo (other MCP Server)", "mcp__dragoman__files__echo; rm -rf ~", "dragoman files__echo", "Bash: mcp__dragoman__files__echo",
		"MCP__dragoman__files__echo", "mcp__dragoman__files__echo ", " mcp__dragoman__files__echo",
	} {
		if s.Owns(title) {
			t.Errorf("%q is found", title)
		}
	}
	s.List(nil)
	if spec, ok := s.Find("mcp__dragoman__files__echo"); !ok || spec.Server != "files" || spec.Name != "echo" {
		t.Errorf("what was listed before is %+v, %v", spec, ok)
	}
}
