package acp

import (
	"strings"
	"testing"

	"dragoman/adapters/clients"
	"dragoman/core"
	"dragoman/core/coretest"
)

// told returns the updates that a client gets for events.
func told(client string, events ...core.Event) string {
	v := NewView("s", "", core.Pos{})
	v.Known = clients.Of(client)
	var out []byte
	for _, r := range coretest.Records(1, events...) {
		out = Encode(out, v, r)
	}
	return string(out)
}

// What was read is set as code, except for a client that does that itself.
func TestReadsForClientsWithFences(t *testing.T) {
	c := core.Call{
		ID: "c", Server: core.Native, Tool: "read_file", Kind: core.KindRead, State: core.Succeeded,
		Locations: []core.Location{{Path: "/w/a.go"}}, Content: []core.Block{core.Text{Text: "package a\n"}},
	}
	for client, want := range map[string]string{"": "\"```go\\npackage a\\n```\"", "zed": "\"```go\\npackage a\\n```\"", "agent-shell 0.74.3": `"package a\n"`} {
		if got := told(client, core.CallChanged{Call: c}); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", client, got, want)
		}
	}
	c.Kind, c.Tool = core.KindExecute, "shell_command"
	if got := told("agent-shell", core.CallChanged{Call: c}); !strings.Contains(got, "```console") {
		t.Errorf("a command's output: %s", got)
	}
}

// The title of an edit says how many lines it changes, except to a client that counts them itself.
func TestTitlesForClientsThatCount(t *testing.T) {
	for title, want := range map[string]string{"Edit a.txt (+1 −3)": "Edit a.txt", "Edit a (b).txt (+2)": "Edit a (b).txt", "Edit a (b)": "Edit a (b)"} {
		c := core.Call{ID: "c", Server: core.Native, Tool: "edit_file", Kind: core.KindEdit, State: core.Proposed, Title: title}
		for client, want := range map[string]string{"": title, "zed": want, "agent-shell": want} {
			if got := told(client, core.CallChanged{Call: c}); !strings.Contains(got, `"title":"`+want+`"`) {
				t.Errorf("%s: %s, want %s", client, got, want)
			}
		}
	}
}

// A link in a message is a text for a client that shows nothing but texts.
func TestLinksForClientsOfTexts(t *testing.T) {
	cited := core.Cited{Message: "m", Link: core.Link{URI: "https://go.dev/doc", Name: "Documentation"}}
	if got := told("toad 0.6", cited); !strings.Contains(got, `"text":"[Documentation](https://go.dev/doc)"`) || strings.Contains(got, "resource_link") {
		t.Errorf("toad: %s", got)
	}
	if got := told("", cited); !strings.Contains(got, "resource_link") {
		t.Errorf("another one: %s", got)
	}
}

// A question that is shown in the chat, for want of a form, is not shown as a call as well.
func TestQuestionWithoutAFormIsShownOnce(t *testing.T) {
	c := core.Call{ID: "c", Server: core.Native, Tool: "ask_user", State: core.Running, Title: "Ask: Which one?"}
	over := c
	over.State, over.Content = core.Succeeded, []core.Block{core.Text{Text: core.AskedLater}}
	later := []core.Event{core.CallChanged{Call: c}, core.CallChanged{Call: over}, core.TextDelta{Message: "m", Text: "Which one?"}}
	if got := told("", later...); strings.Count(got, "Which one?") != 1 || strings.Contains(got, core.AskedLater) {
		t.Errorf("it is shown once: %s", got)
	}
	over.Content = []core.Block{core.Text{Text: "The user answered: this one"}}
	if got := told("", core.CallChanged{Call: c}, core.CallChanged{Call: over}); !strings.Contains(got, "The user answered: this one") {
		t.Errorf("an answer from elsewhere: %s", got)
	}
	v := NewView("s", "", core.Pos{})
	v.Display.Forms = true
	if got := Encode(nil, v, coretest.Records(1, later...)[0]); !strings.Contains(string(got), `"tool_call"`) {
		t.Errorf("with forms: %s", got)
	}
}
