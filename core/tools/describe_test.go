package tools

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"dragoman/core"
)

// What the arguments of a call say is what its preview says, and it is known before, also if the preview fails.
func TestDescribedByArguments(t *testing.T) {
	b := newBed(t)
	b.put("a.txt", "one\n")
	for _, c := range []struct {
		tool, title string
		args        m
		fails       bool
	}{
		{"read_file", "Read a.txt", m{"path": "a.txt"}, false},
		{"directory_tree", "List .", m{}, false},
		{"edit_file", "Edit a.txt", m{"path": "a.txt", "old": "none", "new": "two"}, true},
		{"edit_file", "Edit absent.txt", m{"path": "absent.txt", "old": "none", "new": "two"}, true},
		{"write_file", "Write new.txt", m{"path": "new.txt", "content": 7}, true},
		{"move_file", "Move absent.txt to b.txt", m{"from": "absent.txt", "to": "b.txt"}, true},
		{"shell_command", "Run `echo one`", m{"command": "echo one"}, false},
		{"shell_command", "Run `echo one` in sub", m{"command": "echo one", "cwd": "sub"}, true},
		{"shell_command", "Run in the background `echo one`", m{"command": "echo one", "background": true}, false},
		{"glob", "Find `*.txt`", m{"pattern": "*.txt"}, false},
		{"grep", "Search `one`", m{"pattern": "one"}, false},
		{"web_fetch", "Fetch `ftp://example.org`", m{"url": "ftp://example.org"}, true},
		{"update_plan", "", m{}, true},
		{"read_file", "", m{}, true},
		{"read_file", "", m{"path": 7}, true},
	} {
		raw, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		is, ok := b.tool(c.tool).(core.Describer)
		if !ok {
			t.Fatalf("%s cannot be described", c.tool)
		}
		pv := is.Describe(raw)
		if pv.Title != c.title || len(pv.Access) > 0 {
			t.Errorf("%s %s: %+v", c.tool, raw, pv)
		}
		_, shown, err := b.preview(c.tool, c.args)
		if (err != nil) != c.fails {
			t.Errorf("%s %s: the preview ends with %v", c.tool, raw, err)
		}
		if err == nil && shown.Title != pv.Title {
			t.Errorf("%s %s: %q becomes %q", c.tool, raw, pv.Title, shown.Title)
		}
	}
	pv := b.tool("edit_file").(core.Describer).Describe([]byte(`{"path":"a.txt"}`))
	if len(pv.Locations) != 1 || pv.Locations[0].Path != filepath.Join(b.dir, "a.txt") {
		t.Errorf("the place is %v", pv.Locations)
	}
}
