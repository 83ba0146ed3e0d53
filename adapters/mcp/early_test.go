package mcp_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// seedAnswers are the answers in the early dialect's document, by the ids of the conversation
// early_all.
var seedAnswers = map[string]string{
	"1":  `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"capabilities":{"experimental":{},"logging":{},"prompts":{},"resources":{"subscribe":true},"tools":{}},"serverInfo":{"name":"ExampleServer","version":"1.0.0"}}}`,
	"2":  `{"jsonrpc":"2.0","id":2,"result":{"prompts":[{"name":"examplePrompt","arguments":[{"name":"arg1","description":"Description of arg1","required":true}]}]}}`,
	"3":  `{"jsonrpc":"2.0","id":3,"result":{"prompt":"Generated prompt text"}}`,
	"4":  `{"jsonrpc":"2.0","id":4,"result":{"resourceTemplates":[{"uriTemplate":"template://example/{param}","name":"Example Template","description":"Description of the template"}],"resources":[{"uri":"https://example.com/resource","mimeType":"text/plain"}]}}`,
	"5":  `{"jsonrpc":"2.0","id":5,"result":{"contents":[{"uri":"https://example.com/resource","mimeType":"text/plain","contentType":"text","text":"Resource content"}]}}`,
	"6":  `{"jsonrpc":"2.0","id":6,"result":null}`,
	"7":  `{"jsonrpc":"2.0","id":7,"result":null}`,
	"8":  `{"jsonrpc":"2.0","id":8,"result":{"output":"Tool execution result"}}`,
	"9":  `{"jsonrpc":"2.0","id":9,"result":null}`,
	"35": `{"jsonrpc":"2.0","id":35,"error":{"code":-32000,"message":"Error message"}}`,
	"36": `{"jsonrpc":"2.0","id":36,"error":{"code":-32000,"message":"Error message"}}`,
	"37": `{"jsonrpc":"2.0","id":37,"error":{"code":-32000,"message":"Error message"}}`,
	"38": `{"jsonrpc":"2.0","id":38,"error":{"code":-32000,"message":"Error message"}}`,
}

// exactly lists the answers that have no members besides those in the document.
var exactly = map[string]bool{"1": true, "6": true, "7": true, "9": true, "35": true, "36": true, "37": true, "38": true}

// Every field of the document's answers is in ours, with a value of the same kind; in the listed
// answers there is nothing else. Other tests check that the server holds the conversation, over a
// pipe and over HTTP.
func TestEarlyDialectHasTheDocumentsShapes(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/early_all.txtar")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(ar.Files[0].Data)) {
		msg, ok := strings.CutPrefix(line, "<- ")
		if !ok {
			continue
		}
		var got, want map[string]any
		if err := json.Unmarshal([]byte(msg), &got); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint(got["id"])
		shown, ok := seedAnswers[id]
		if !ok {
			continue
		}
		seen[id] = true
		if err := json.Unmarshal([]byte(shown), &want); err != nil {
			t.Fatal(err)
		}
		alike(t, id, got, want, exactly[id])
	}
	if len(seen) != len(seedAnswers) {
		t.Errorf("answers were given to %v", seen)
	}
}

// alike compares an answer with the document's.
func alike(t *testing.T, at string, got, want any, exact bool) {
	t.Helper()
	if reflect.TypeOf(got) != reflect.TypeOf(want) {
		t.Errorf("%s: %v, want something like %v", at, got, want)
		return
	}
	switch w := want.(type) {
	case map[string]any:
		g := got.(map[string]any)
		for key, v := range w {
			if _, ok := g[key]; !ok {
				t.Errorf("%s: no %s", at, key)
				continue
			}
			alike(t, at+"."+key, g[key], v, exact)
		}
		for key := range g {
			if _, ok := w[key]; !ok && exact {
				t.Errorf("%s: %s, which the document does not have", at, key)
			}
		}
	case []any:
		g := got.([]any)
		if len(g) == 0 && !strings.HasSuffix(at, ".arguments") {
			t.Errorf("%s: nothing", at)
		}
		for i, v := range g {
			alike(t, fmt.Sprintf("%s[%d]", at, i), v, w[0], exact)
		}
	case float64:
		if at == "1.result.protocolVersion" || strings.HasSuffix(at, ".code") {
			if got != want {
				t.Errorf("%s: %v, want %v", at, got, want)
			}
		}
	case bool:
		if got != want && !strings.HasSuffix(at, ".required") {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
}
