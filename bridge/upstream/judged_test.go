package upstream

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The tools that differ from their pins are logged in one line for each change of the server, whoever
// lists them, however often, on however many pages, and whoever calls them.
func TestOneWarningForAChange(t *testing.T) {
	var warned []string
	o := Options{
		Servers: []Server{{Name: "up"}}, PinFile: filepath.Join(t.TempDir(), "pins.json"),
		Log: func(_, level, text string) {
			if level == "warn" {
				warned = append(warned, text)
			}
		},
	}
	view := func(box *Box) *View {
		e, _ := box.Export("up", nil)
		return e.View(nil)
	}
	view(New(o)).Agreed(manyTools(1000, ""), 0)
	box := New(o)
	for i, word := range []string{" Evil.", " Evil.", " More evil."} {
		v := view(box)
		list := manyTools(2000, word)
		for range 2 {
			first := strings.TrimSuffix(string(pageOfTools(list[:1500])), "}") + `,"nextCursor":"n"}`
			v.Shown("", json.RawMessage(first))
			v.Shown("n", pageOfTools(list[1500:]))
			if shown, held := v.Agreed(list, 0); len(shown) != 1000 || len(held) != 1000 {
				t.Errorf("%d are shown, %d held back", len(shown), len(held))
			}
			for n := 0; n < len(list); n += 50 {
				if _, err := v.Rule(Call{Tool: fmt.Sprintf("tool_%d", n)}); err == nil {
					t.Errorf("tool_%d may be called", n)
				}
			}
		}
		want := []int{1, 1, 2}[i]
		if len(warned) != want || !strings.HasPrefix(warned[want-1], "2000 tools of the MCP server up are new or have changed") || len(warned[want-1]) > 400 {
			t.Fatalf("%d warnings: %.1000q", len(warned), warned)
		}
	}
}

// A list is judged with few allocations, and again with nearly none.
func TestBudgetLists(t *testing.T) {
	const n = 1000
	list := manyTools(n, "")
	page := pageOfTools(list)
	box := New(Options{Servers: []Server{{Name: "up"}}, PinFile: filepath.Join(t.TempDir(), "pins.json")})
	e, _ := box.Export("up", nil)
	e.View(nil).Agreed(list, 0)
	again := e.View(nil)
	again.Agreed(list, 0)
	for _, c := range []struct {
		what string
		list func()
		most float64 // for each tool
	}{
		{"on a new connection", func() { e.View(nil).Agreed(list, 0) }, 12},
		{"again", func() { again.Agreed(list, 0) }, 1},
		{"a page", func() { again.Shown("", page) }, 12},
		{"in a session", func() {
			for _, item := range list {
				if _, err := parseTool("up", item); err != nil {
					t.Fatal(err)
				}
			}
		}, 8},
	} {
		if got := testing.AllocsPerRun(5, c.list) / n; got > c.most {
			t.Errorf("%s: %.1f allocations for a tool, more than %v", c.what, got, c.most)
		} else {
			t.Logf("%s: %.1f allocations for a tool", c.what, got)
		}
	}
}
