package acp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dragoman/adapters/clients"
	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// asks are approvals and consents, as agents and the gateway ask for them. lasting are the ids of options that
// allow more than what is asked about.
var asks = map[string]struct {
	ask     core.Ask
	lasting []string
}{
	"a call":              {ask: core.Ask{Kind: core.AskApproval}},
	"what always asks":    {ask: core.Ask{Kind: core.AskApproval, Hard: true}},
	"for the session":     {ask: core.Ask{Kind: core.AskApproval, Remember: "x"}},
	"for good":            {ask: core.Ask{Kind: core.AskApproval, Remember: "x", Always: true}, lasting: []string{"allow_always"}},
	"Claude":              {ask: theirs("x", always("allow_always", "Always Allow"), once("allow"), reject("reject"))},
	"Claude, with a rule": {ask: theirs("x", lasting("allow_always", "Always Allow Bash(git *)"), once("allow"), reject("reject")), lasting: []string{"allow_always"}},
	"Claude, with a rule, nothing to remember": {
		ask: theirs("", lasting("allow_always", "Always Allow Bash(git *)"), once("allow"), reject("reject")), lasting: []string{"allow_always"},
	},
	"Claude, the end of a plan": {
		ask:     theirs("", lasting("bypassPermissions", "Yes, and bypass permissions"), lasting("acceptEdits", "Yes, and auto-accept edits"), once("default"), reject("plan")),
		lasting: []string{"bypassPermissions", "acceptEdits"},
	},
	"Codex": {
		ask: theirs("x", once("allow_once"), always("allow_always", "Allow for Session"), lasting("accept_execpolicy_amendment", "Allow Commands Starting With `git`"),
			core.Option{ID: "network_0", Label: "Block example.com", Decision: core.RejectAlways}, reject("reject_once")),
		lasting: []string{"accept_execpolicy_amendment"},
	},
	"Gemini": {
		ask:     theirs("x", always("proceed_always", "Allow for this session"), lasting("proceed_always_and_save", "Allow for all future sessions"), once("proceed_once"), reject("cancel")),
		lasting: []string{"proceed_always_and_save"},
	},
	"two rejections": {ask: theirs("", once("y"), reject("n"), reject("stop"))},
	"never":          {ask: theirs("", once("y"), core.Option{ID: "never", Label: "Never", Decision: core.RejectAlways})},
	"a mode beside":  {ask: theirs("", core.Option{ID: "m", Label: "Yes", Decision: core.AllowOnce, Changes: true}, once("y"), reject("n")), lasting: []string{"m"}},
	"a server": {
		ask: core.Ask{Kind: core.AskConsent, Options: []core.Option{once("start"), lasting("always", "Start it, also in the future"), reject("no")}}, lasting: []string{"always"},
	},
	"a host": {ask: core.Ask{Kind: core.AskConsent, Options: []core.Option{always("session", "Allow go.dev for this session"), once("once"), reject("no")}}},
}

func theirs(remember string, options ...core.Option) core.Ask {
	return core.Ask{Kind: core.AskApproval, Remember: remember, Options: options}
}

func once(id string) core.Option { return core.Option{ID: id, Label: "Yes", Decision: core.AllowOnce} }

func reject(id string) core.Option {
	return core.Option{ID: id, Label: "No", Decision: core.RejectOnce}
}

func always(id, label string) core.Option {
	return core.Option{ID: id, Label: label, Decision: core.AllowSession}
}

func lasting(id, label string) core.Option {
	return core.Option{ID: id, Label: label, Decision: core.AllowSession, Changes: true}
}

func optionsFor(of clients.Row, a core.Ask) []acp.PermissionOption {
	if a.Kind == core.AskConsent {
		return Consent(&View{Known: of}, a).Options
	}
	return Permission(&View{Known: of}, a).Options
}

// A client that is not known has one key for each kind of option: it gets one option of each kind, whose scope is the
// session at most, whether its first or its last option of a kind has the key. Everything can be rejected.
func TestOneOptionOfEachKind(t *testing.T) {
	for _, name := range []string{"", "unheard of", "agent-shell", "CodeCompanion.nvim", "toad", "paseo"} {
		for what, test := range asks {
			list := optionsFor(clients.Of(name), test.ask)
			first, last := map[acp.PermissionKind]string{}, map[acp.PermissionKind]string{}
			for _, o := range list {
				if first[o.Kind] == "" {
					first[o.Kind] = o.OptionID
				}
				last[o.Kind] = o.OptionID
			}
			for kind := range first {
				if first[kind] != last[kind] {
					t.Errorf("%s, %s: two options of kind %s: %+v", name, what, kind, list)
				}
				if slices.Contains(test.lasting, first[kind]) {
					t.Errorf("%s, %s: kind %s allows more than what is asked about: %+v", name, what, kind, list)
				}
			}
			if first[acp.AllowOnce] == "" || first[acp.RejectOnce] == "" {
				t.Errorf("%s, %s: it cannot be allowed, or not be rejected: %+v", name, what, list)
			}
			for _, o := range test.ask.Options {
				if !o.Decision.Allows() && !offers(list, o.ID) {
					t.Errorf("%s, %s: the rejection %s is out of reach: %+v", name, what, o.ID, list)
				}
			}
			if test.ask.Remember != "" && first[acp.AllowAlways] == "" {
				t.Errorf("%s, %s: it cannot be allowed for the session: %+v", name, what, list)
			}
		}
	}
}

// A client that shows the names of options gets all of them as they are, and ours with the lasting one last.
func TestOptionsByName(t *testing.T) {
	for _, name := range []string{"zed", "acpx", "JetBrains.IDEA"} {
		for what, test := range asks {
			list := optionsFor(clients.Of(name), test.ask)
			if n := len(test.ask.Options); n > 0 && len(list) != n {
				t.Errorf("%s, %s: %d of %d options: %+v", name, what, len(list), n, list)
			}
		}
		var names []string
		for _, o := range optionsFor(clients.Of(name), asks["for good"].ask) {
			names = append(names, string(o.Kind)+" "+o.Name)
		}
		want := []string{"allow_once Allow", "allow_always Allow for this session", "allow_always Always allow", "reject_once Reject", "reject_always Reject for this session"}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q", name, names)
		}
	}
}

// What an answer covers is said in the call's content, with the way to one that lasts for a client that is not offered it.
func TestScopeIsInTheContent(t *testing.T) {
	for name, want := range map[string]string{
		"":    "“Allow for this session” covers `go test` commands. To allow it for good, in this folder, write /allow after that.",
		"zed": "“Allow for this session” and “Always allow”, which is for this folder, cover `go test` commands.",
	} {
		req := Permission(&View{Known: clients.Of(name)}, core.Ask{Kind: core.AskApproval, Call: "c", Remember: "`go test` commands", Always: true})
		if n := len(req.ToolCall.Content); n != 1 || *req.ToolCall.Content[0].Content.Text != want {
			t.Errorf("%s: %+v", name, req.ToolCall.Content)
		}
	}
	if req := Permission(&View{}, core.Ask{Kind: core.AskApproval, Call: "c"}); req.ToolCall.Content != nil {
		t.Errorf("nothing is remembered: %+v", req.ToolCall.Content)
	}
}

// In none of the recorded conversations has a request two options of one kind, unless its client shows their names.
func TestRecordedRequestsHaveOneOptionOfEachKind(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	more, err2 := filepath.Glob("testdata/*/*.txtar")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	requests := 0
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var of clients.Row
		for line := range bytes.Lines(data) {
			var m struct {
				Method string
				Params struct {
					ClientInfo struct{ Name string }
					Options    []acp.PermissionOption
				}
			}
			if len(line) < 3 || json.Unmarshal(line[3:], &m) != nil {
				continue
			}
			switch m.Method {
			case "initialize":
				of = clients.Of(m.Params.ClientInfo.Name)
			case "session/request_permission":
				requests++
				seen := map[acp.PermissionKind]bool{}
				for _, o := range m.Params.Options {
					if seen[o.Kind] && !of.Names {
						t.Errorf("%s: two options of kind %s: %s", file, o.Kind, line)
					}
					seen[o.Kind] = true
				}
			}
		}
	}
	if requests < 20 {
		t.Errorf("only %d requests are recorded", requests)
	}
}
