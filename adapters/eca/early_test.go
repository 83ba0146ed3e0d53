package eca

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"dragoman/adapters/eca/offer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
)

// earlyView returns a view for a client of a document, and a function that returns the client's
// messages for the view's output.
func earlyView(d Dialect) (*View, func(lines []byte) string) {
	if d == Now {
		return newView("c1", nil, "", offer.New(nil)), func(lines []byte) string { return string(lines) }
	}
	e := newEarlyEdge(d)
	return newView("c1", earlyDocuments[d].lacks, "", offer.New(nil)), func(lines []byte) string { return earlyLines(e, lines) }
}

func earlyLines(e *earlyEdge, lines []byte) string {
	var out []byte
	for line := range bytes.Lines(lines) {
		out = e.Send(out, bytes.TrimSuffix(line, []byte("\n")))
	}
	return string(out)
}

// RenderEarly is Render for a client of a document.
func RenderEarly(d Dialect, records []core.Record, o RenderOptions) []string {
	if d == Now {
		return Render(records, o)
	}
	v, sent := earlyView(d)
	v.chat, v.client, v.live = string(o.Chat), o.Client, !o.History
	v.heads()
	var lines []byte
	for _, r := range records {
		lines = encode(lines, v, r)
	}
	if text := sent(v.settle(lines)); text != "" {
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	return nil
}

// Names that both documents lack are also missing in 001, and every rewritten word is one of
// today's.
func TestEarlyDocuments(t *testing.T) {
	for name := range earlyDocuments[Doc000].lacks {
		if !earlyDocuments[Doc001].lacks[name] {
			t.Errorf("001 has %s", name)
		}
	}
	for word := range earlyDocuments[Doc001].words {
		if earlyDocuments[Doc000].words[word] == "" && word != "prompting" && word != "login" {
			t.Errorf("%s is 001's alone", word)
		}
	}
	if len(earlyDocuments[Now].lacks)+len(earlyDocuments[Now].words) != 0 {
		t.Error("today's document lacks something")
	}
}

// A call of document 001 is prepared once, with all of its arguments and with its approval, in
// whatever parts the arguments came.
func TestEarlyPreparesOnce(t *testing.T) {
	v, sent := earlyView(Doc001)
	v.live = true
	call := core.Call{ID: "c1", Server: "db", Tool: "query", State: core.Proposed}
	got := sent(encode(nil, v, core.Record{Event: core.CallChanged{Call: call}}))
	for _, part := range []string{`{"a":"`, strings.Repeat("x", frameText+1), `"}`} {
		got += sent(encode(nil, v, core.Record{Event: core.CallArgs{Call: "c1", Text: part}}))
	}
	if got != "" {
		t.Fatalf("said before the arguments were there: %s", got)
	}
	call.State, call.Args, call.Title = core.Awaiting, []byte(`{"a":"`+strings.Repeat("x", frameText+1)+`"}`), "Query"
	said := encode(nil, v, core.Record{Event: core.CallChanged{Call: call}})
	said = encode(said, v, core.Record{Event: core.Asked{Ask: core.Ask{Kind: core.AskApproval, Call: "c1"}}})
	lines := strings.Split(strings.TrimSuffix(sent(said), "\n"), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], `"toolCallRun"`) {
		t.Fatalf("got %q", lines)
	}
	var m struct {
		Params struct{ Content eca.ToolCallPrepare }
	}
	if err := json.Unmarshal([]byte(lines[0]), &m); err != nil {
		t.Fatal(err)
	}
	if p := m.Params.Content; p.Type != eca.TypeToolCallPrepare || p.ArgumentsText != string(call.Args) || !p.ManualApproval || p.Summary != "Query" {
		t.Errorf("prepared as %+v", p)
	}
}

// The memory of an edge is bounded, whatever a model proposes.
func TestEarlyEdgeIsBounded(t *testing.T) {
	e := newEarlyEdge(Doc001)
	v := newView("c1", e.doc.lacks, "", offer.New(nil))
	v.live = true
	for i := range 2 * earlyCalls {
		earlyLines(e, encode(nil, v, core.Record{Event: core.CallChanged{Call: core.Call{ID: core.CallID(wire.JSON(i)), Tool: "t", State: core.Proposed}}}))
	}
	if len(e.texts) > earlyCalls {
		t.Errorf("it keeps %d calls", len(e.texts))
	}
	earlyLines(e, v.finished(nil))
	if len(e.texts) != 0 {
		t.Errorf("it keeps %d calls behind the end of their turn", len(e.texts))
	}
}

// A server that requires a login has failed for a client that does not know logins; a removed one
// is stopped.
func TestEarlyServers(t *testing.T) {
	wants := notification(nil, eca.MethodServerUpdated, new(Server).serverUpdated(board.Server{Name: "up", Status: statusLogin, Why: "it requires a login"}))
	gone := notification(nil, eca.MethodServerRemoved, eca.ServerParams{Name: "up"})
	for _, d := range []Dialect{Doc000, Doc001} {
		e := newEarlyEdge(d)
		for status, lines := range map[string][]byte{"failed": wants, "stopped": gone} {
			want := `{"jsonrpc":"2.0","method":"tool/serverUpdated","params":{"type":"mcp","name":"up","command":"","args":[],"status":"` + status + `","tools":[]}}` + "\n"
			if got := earlyLines(e, lines); got != want {
				t.Errorf("%v: got %s, want %s", d, got, want)
			}
		}
	}
}

// earlyAnswer returns an answer in the form of a document.
func earlyAnswer(d Dialect, method string, result any) string {
	e := newEarlyEdge(d)
	e.Read([]byte(`{"jsonrpc":"2.0","id":"q","method":"` + method + `"}`))
	msg := e.Answer(wire.AppendAnswer(nil, []byte(`"q"`), result, nil))
	m, _ := wire.Parse(msg)
	return string(m.Result)
}

// Answers use the words of the document.
func TestEarlyAnswers(t *testing.T) {
	commands := eca.QueryCommandsResult{Commands: []eca.Command{
		{Name: "costs", Type: "native", Arguments: []eca.Argument{}},
		{Name: "Review", Type: "customPrompt", Arguments: []eca.Argument{}},
		{Name: "tea", Type: "skill", Arguments: []eca.Argument{}},
		{Name: "up:ask", Type: "mcpPrompt", Arguments: []eca.Argument{}},
	}}
	contexts := json.RawMessage(`{"contexts":[{"type":"repoMap"},{"type":"cursor"},{"type":"directory","path":"/home/ada/app"}]}`)
	for _, d := range []Dialect{Doc000, Doc001} {
		var got eca.QueryCommandsResult
		if err := json.Unmarshal([]byte(earlyAnswer(d, eca.MethodQueryCommands, commands)), &got); err != nil {
			t.Fatal(err)
		}
		var types []string
		for _, c := range got.Commands {
			types = append(types, c.Type)
		}
		if want := []string{"native", "native", "native", "mcp-prompt"}; !slices.Equal(types, want) {
			t.Errorf("%v: commands are %q", d, types)
		}
		if got := earlyAnswer(d, eca.MethodQueryContext, contexts); strings.Contains(got, "cursor") != (d == Doc000) || !strings.Contains(got, "repoMap") {
			t.Errorf("%v: contexts are %s", d, got)
		}
		for st, want := range map[eca.PromptStatus]map[Dialect]eca.PromptStatus{
			eca.StatusPrompting: {Doc000: eca.StatusPrompting, Doc001: eca.StatusSuccess},
			eca.StatusFailed:    {Doc000: eca.StatusPrompting, Doc001: eca.StatusSuccess},
			eca.StatusLogin:     {Doc000: eca.StatusLogin, Doc001: eca.StatusSuccess},
		} {
			if got := earlyAnswer(d, eca.MethodPrompt, eca.PromptResult{ChatID: "c", Status: st}); !strings.Contains(got, `"status":"`+string(want[d])+`"`) {
				t.Errorf("%v: a prompt that is %s is %s", d, st, got)
			}
		}
	}
}

// Editors of document 000 count from 1, those of today from 0: after the edge all count alike.
func TestEarlyDiagnostics(t *testing.T) {
	e := newEarlyEdge(Doc000)
	e.Send(nil, []byte(`{"jsonrpc":"2.0","id":7,"method":"editor/getDiagnostics","params":{}}`))
	got := string(e.Read([]byte(`{"jsonrpc":"2.0","id":7,"result":{"diagnostics":[{"uri":"file:///a","x":[1],"range":{"start":{"line":3,"character":1},"end":{"line":3,"character":9}}},7]}}`)))
	want := `{"jsonrpc":"2.0","id":7,"result":{"diagnostics":[{"uri":"file:///a","x":[1],"range":{"start":{"line":2,"character":0},"end":{"line":2,"character":8}}},7]}}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
