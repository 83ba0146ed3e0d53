package eca

import (
	"encoding/json"
	"testing"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/ide"
)

func TestReplyTo(t *testing.T) {
	ask := core.Ask{Kind: core.AskQuestion, Options: []core.Option{{ID: "1", Label: "Yes"}, {ID: "2", Label: "No"}, {ID: "Yes", Label: "Perhaps"}}}
	alone := core.Reply{Outcome: core.OutcomeAlone, Text: "the client could not show the question"}
	for answer, want := range map[string]core.Reply{
		`{"answer":"Yes","cancelled":false}`: {Outcome: core.OutcomeAnswered, Option: "1"}, // the label takes precedence
		`{"answer":"2"}`:                     {Outcome: core.OutcomeAnswered, Option: "2"},
		`{"answer":2}`:                       {Outcome: core.OutcomeAnswered, Option: "2"},
		`{"answer":" no\n"}`:                 {Outcome: core.OutcomeAnswered, Option: "2"},
		`{"answer":"neither"}`:               {Outcome: core.OutcomeAnswered, Text: "neither"},
		`{"answer":"Yes","cancelled":true}`:  {Outcome: core.OutcomeDeclined},
		`{"answer":null}`:                    {Outcome: core.OutcomeDeclined},
		`{"answer":"  "}`:                    {Outcome: core.OutcomeDeclined},
		`{}`:                                 {Outcome: core.OutcomeDeclined},
		`"Unknown server request"`:           alone,
		`null`:                               alone,
		`[]`:                                 alone,
		`{"answer":"x","cancelled":"yes"}`:   alone,
		``:                                   alone,
	} {
		if got := replyTo(ask, json.RawMessage(answer), nil); got != want {
			t.Errorf("%s: got %+v, want %+v", answer, got, want)
		}
	}
}

// An approval's answer is one of the labels, and anything else is no decision.
func TestReplyToAnApproval(t *testing.T) {
	ask := core.Ask{Kind: core.AskApproval, Options: []core.Option{{ID: "a", Label: "Always"}, {ID: "y", Label: "Once"}, {ID: "n", Label: "No"}}}
	for answer, want := range map[string]core.Reply{
		`{"answer":"Once","cancelled":false}`: {Outcome: core.OutcomeDecided, Option: "y"},
		`{"answer":"No"}`:                     {Outcome: core.OutcomeDecided, Option: "n"},
		`{"answer":"Once","cancelled":true}`:  {Outcome: core.OutcomeDeclined},
		`{"answer":null}`:                     {Outcome: core.OutcomeDeclined},
		`{"answer":"y"}`:                      {Outcome: core.OutcomeAlone, Text: "the client answered with something that was not offered"},
		`{"answer":true}`:                     {Outcome: core.OutcomeAlone, Text: "the client answered with something that was not offered"},
		`"Unknown server request"`:            {Outcome: core.OutcomeAlone, Text: "the client could not show the question"},
	} {
		if got := replyTo(ask, json.RawMessage(answer), nil); got != want {
			t.Errorf("%s: got %+v, want %+v", answer, got, want)
		}
	}
}

// countedFrom returns a diagnostic as the editor sees it, from a client that counts from base.
func countedFrom(t *testing.T, base int, d eca.Diagnostic) eca.Diagnostic {
	t.Helper()
	if base == 0 {
		return d
	}
	var r struct{ Diagnostics []eca.Diagnostic }
	if err := json.Unmarshal(earlyResults[eca.MethodGetDiagnostics](nil, wire.JSON(map[string]any{"diagnostics": []any{d}})), &r); err != nil || len(r.Diagnostics) != 1 {
		t.Fatalf("%v: %v", r, err)
	}
	return r.Diagnostics[0]
}

// Today's clients count diagnostics from 0, those of 000 from 1.
func TestDiagnostic(t *testing.T) {
	d := eca.Diagnostic{URI: "file:///w/a.go", Severity: "error", Message: "x", Range: &eca.Span{Start: eca.Place{Line: 2, Character: 3}, End: eca.Place{Line: 2, Character: 9}}}
	for base, want := range map[int]ide.Diagnostic{
		0: {Path: "/w/a.go", Severity: "error", Message: "x", Line: 3, Column: 4, EndLine: 3, EndCol: 10},
		1: {Path: "/w/a.go", Severity: "error", Message: "x", Line: 2, Column: 3, EndLine: 2, EndCol: 9},
	} {
		if got, ok := diagnostic(countedFrom(t, base, d)); !ok || got != want {
			t.Errorf("from %d: got %+v, want %+v", base, got, want)
		}
	}
}

// Whatever an editor answers, the accepted places are valid.
func FuzzEditorAnswers(f *testing.F) {
	f.Add(`{"uri":"file:///a","severity":"info","code":5,"message":"m","range":{"start":{"line":-1,"character":9},"end":{"line":0,"character":0}}}`, 0)
	f.Add(`{"uri":"file:///a","severity":5,"code":{},"message":"m"}`, 1)
	f.Add(`{"answer":{"a":1},"cancelled":false}`, 1)
	f.Fuzz(func(t *testing.T, text string, base int) {
		if len(text) > 1<<16 {
			return
		}
		_ = replyTo(core.Ask{Options: []core.Option{{ID: "1", Label: "x"}}}, json.RawMessage(text), nil)
		var d eca.Diagnostic
		if json.Unmarshal([]byte(text), &d) != nil {
			return
		}
		item, ok := diagnostic(countedFrom(t, base&1, d))
		if ok && (item.Path == "" || item.Message == "" || d.Range != nil && (item.Line < 1 || item.Column < 1 || item.EndLine < item.Line || item.EndCol < 1)) {
			t.Errorf("%s: %+v", text, item)
		}
	})
}
