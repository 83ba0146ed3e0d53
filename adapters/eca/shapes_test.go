package eca_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// wireMessage is a line of a conversation.
type wireMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params any             `json:"params"`
	Result any             `json:"result"`
	Error  any             `json:"error"`
}

// documents returns the documents of the recorded conversations' clients, with the deviating
// shapes that are served: the comments of document_*.txtar list them.
func documents(t *testing.T) map[string]*document {
	docs := map[string]*document{}
	for _, name := range []string{"001", "000", "now"} {
		d := readDocument(t, name)
		ar, err := txtar.ParseFile("testdata/document_" + name + ".txtar")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(ar.Comment)) {
			if text, ok := strings.CutPrefix(line, "deviation: "); ok {
				what, _, _ := strings.Cut(text, " - ")
				d.deviate(t, strings.TrimSpace(what))
			}
		}
		docs[name] = d
	}
	return docs
}

// documentOf returns the name of a client's document, recognized by members that only it has.
func documentOf(talk string) string {
	hello, _, _ := strings.Cut(talk[strings.Index(talk, `"method":"initialize"`)+1:], "\n")
	switch {
	case strings.Contains(hello, `"doc":`), strings.Contains(hello, `"edit":`):
		return "001"
	case strings.Contains(hello, `"chatBehavior":"`) && !strings.Contains(hello, `"chatCapabilities"`):
		return "000"
	}
	return "now"
}

// conversations yields the recorded conversations.
func conversations(t *testing.T, yield func(file, name, talk string)) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range ar.Files {
			if talk := string(f.Data); strings.Contains(talk, `"method":"initialize"`) {
				yield(strings.TrimSuffix(filepath.Base(file), ".txtar"), f.Name, talk)
			}
		}
	}
}

// walk checks a conversation against a document. The client's messages are checked if the
// conversation is a test of its document; in others, clients also send invalid messages.
func walk(d *document, talk string, strict bool) (wrong []string) {
	asked := map[string]string{}
	note := func(s *shape, v any, where string, counts bool) {
		seen := d.seen
		d.seen = map[string]bool{}
		list := d.check(s, v, where)
		now := d.seen
		d.seen = seen
		if len(list) == 0 {
			for row := range now {
				d.seen[row] = true
			}
		}
		if counts {
			wrong = append(wrong, list...)
		}
	}
	for line := range strings.Lines(talk) {
		text, ours := strings.CutPrefix(line, "<- ")
		text, theirs := strings.CutPrefix(text, "-> ")
		var m wireMessage
		if !ours && !theirs || json.Unmarshal([]byte(text), &m) != nil {
			continue
		}
		side := "<"
		if theirs {
			side = ">"
		}
		id, called := side+string(m.ID), m.Method
		if called == "" { // a response to the other side
			id = map[string]string{"<": ">", ">": "<"}[side] + string(m.ID)
			called = asked[id]
		} else if m.ID != nil {
			asked[id] = called
		}
		meth := d.method(called)
		switch {
		case meth == nil:
			if ours && m.Method != "" || strict {
				wrong = append(wrong, called+": the document has no such method")
			}
		case m.Method == "":
			if m.Error == nil && meth.result != nil {
				note(meth.result, m.Result, called, ours || strict)
			}
		case meth.ours != ours:
			wrong = append(wrong, called+": this is the other side's method")
		default:
			d.seen[called] = true
			if meth.params.name == "any" && m.Params == nil {
				continue
			}
			note(meth.params, m.Params, called, ours || strict)
		}
	}
	return wrong
}

// Every message of every recorded conversation has the shape in the client's document: each field
// is present, of its type; additional fields are allowed.
func TestShapes(t *testing.T) {
	docs := documents(t)
	conversations(t, func(file, name, talk string) {
		d := docs[documentOf(talk)]
		for _, w := range walk(d, talk, strings.HasPrefix(file, "document_")) {
			t.Errorf("%s, %s (%s): %s", file, name, d.name, w)
		}
	})
}

// The checks detect faults.
func TestShapesAreChecked(t *testing.T) {
	for line, want := range map[string]string{
		`<- {"method":"chat/deleted","params":{"chatId":"c"}}`:                                                                                                      "no such method",
		`<- {"method":"chat/prompt","params":{"message":"x"}}`:                                                                                                      "the other side's",
		`<- {"method":"$/showMessage","params":{"type":"fatal","message":"x"}}`:                                                                                     "none of the 3",
		`<- {"method":"$/showMessage","params":{"type":"error"}}`:                                                                                                   "there is no message",
		`<- {"method":"chat/contentReceived","params":{"chatId":"c","role":"user","content":{"type":"progress","state":"finished"}}}`:                               "there is no text",
		`<- {"method":"chat/contentReceived","params":{"chatId":"c","role":"user","content":{"type":"usage","sessionTokens":"5"}}}`:                                 "want number",
		`<- {"method":"chat/contentReceived","params":{"chatId":"c","role":"user","content":{"type":"flag","text":"x","contentId":"y"}}}`:                           "alternatives",
		`<- {"method":"config/updated","params":{"chat":{"models":"x"}}}`:                                                                                           "want a list",
		"-> {\"id\":1,\"method\":\"chat/queryCommands\",\"params\":{\"query\":\"\"}}\n<- {\"id\":1,\"result\":{\"commands\":[{\"name\":\"x\",\"description\":1}]}}": "want string",
		`<- {"method":"tool/serverUpdated","params":{"type":"mcp","name":"x","status":"requires-auth","command":"","args":[]}}`:                                     "alternatives",
		`<- {"method":"$/showMessage","params":{"type":"error","message":"x","more":1}}`:                                                                            "",
	} {
		got := strings.Join(walk(documents(t)["000"], line+"\n", false), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

// unsaid lists the rows of the documents that are in no recorded conversation, with the reasons.
var unsaid = map[string]map[string]string{
	"001": {
		"MessageType=info":               "messages are said where something went wrong",
		"ServerTool.disabled":            "a tool that is not to be used is not listed",
		"ToolCallPrepareContent.details": "what a call is about is known when it runs",
	},
	"000": {
		"MessageType=info":                   "messages are said where something went wrong",
		"ServerTool.disabled":                "a tool that is not to be used is not listed",
		"ChatToolCallPrepareContent.details": "what a call is about is known when it runs",
	},
	"now": {
		"MCP*.error.data":     "what went wrong is a text",
		"ServerTool.disabled": "a tool that is not to be used is not listed",
		"ChatHookAction*":     "no hooks run",
		"ChatToolCallRejectedContent.reason=hookRejected": "no hooks run",
		"ChatToolCallRejectedContent.reason=user":         "who rejects a call is known: a person, a rule, a stop",
		"ChatToolCallRejectedContent.reason=userStop":     "it is userPromptStop",
		"ChatToolCallPrepareContent.details":              "what a call is about is known when it runs",
		"ChatStatusChangedParams.status=stopping":         "a stop is one step: idle follows",
		"ChatSummary.status=stopping":                     "a stop is one step",
		"ChatSummary.status=login":                        "no chat waits for a login",
		"DeviceCodeAction.*":                              "no provider is logged in to like that",
		"EditorGetReferencesParams.includeDeclaration":    "the client's default is wanted",
		"JobsReadOutputResult.status=*":                   "the words are those of JobSummary",
		"JobSummary.status=failed":                        "the words are the core's",
		"ProviderAuth.expiresAt":                          "keys do not expire by themselves",
		"ProviderAuth.mode":                               "there is one way for each",
		"ProviderAuth.source=*":                           "the words are the core's",
		"ProviderAuth.status=expired":                     "keys do not expire by themselves",
		"ProviderAuth.status=expiring":                    "keys do not expire by themselves",
		"ProviderAuth.status=not-running":                 "whether a service runs shows when it is asked",
		"ProviderAuth.type=oauth":                         "no provider is logged in to like that",
		"ProviderModel.cost*":                             "prices are shown by what was spent",
		"ProviderModel.settings":                          "settings are the configuration's",
		"ProviderStatus.settings":                         "settings are the configuration's",
		"SubagentDetails.variant":                         "a subagent has the variant of its parent",
		"TaskItem.blockedBy":                              "the steps of a plan come one after the other",
		"TaskItem.priority=*":                             "the plan tool knows no priorities",
		"ToolCallOrigin=server":                           "whose tool it is is known",
		"ToolCallOrigin=unknown":                          "whose tool it is is known",
	},
}

// Each method, field and word of the documents is in a recorded conversation of a client of that
// document, or on the list of missing ones.
func TestEveryRowIsRecorded(t *testing.T) {
	docs := documents(t)
	conversations(t, func(_, _, talk string) { walk(docs[documentOf(talk)], talk, false) })
	for name, d := range docs {
		rows := d.rows()
		for _, row := range rows {
			listed := false
			for l := range unsaid[name] {
				front, back, open := strings.Cut(l, "*")
				listed = listed || row == l || open && strings.HasPrefix(row, front) && strings.HasSuffix(row, back)
			}
			switch {
			case !d.seen[row] && !listed:
				t.Errorf("%s: %s is in no conversation", name, row)
			case d.seen[row] && unsaid[name][row] != "":
				t.Errorf("%s: %s is in a conversation, and on the list of what is not", name, row)
			}
		}
		t.Logf("%s: %d rows", name, len(rows))
	}
}
