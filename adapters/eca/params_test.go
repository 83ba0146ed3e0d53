package eca

import (
	"encoding/json"
	"testing"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/eca/refer"
	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
)

func TestCamel(t *testing.T) {
	for in, want := range map[string]string{
		`{"request-id":1,"doc-text":"a-b"}`:        `{"requestId":1,"docText":"a-b"}`,
		`{"chat-id":"a","chatId":"b"}`:             `{"chat-id":"a","chatId":"b"}`,
		`{"x":{"my-server":1}}`:                    `{"x":{"my-server":1}}`,
		`{"a-":1,"-b":2,"c--d":3,"e-é":4,"f-g":5}`: `{"a-":1,"B":2,"c--d":3,"e-é":4,"fG":5}`,
		`{"chat-id": "a", "chat-id": "b"}`:         `{"chatId":"a","chatId":"b"}`, // both stay, which is an error
		`["a-b"]`:                                  `["a-b"]`,
		`"a-b"`:                                    `"a-b"`,
		`null`:                                     `null`,
		``:                                         ``,
	} {
		if got := string(camel(json.RawMessage(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// Whatever JSON a client sends as the params of a prompt, reading it ends with a prompt or an
// error, and no member under its correct name is lost.
func FuzzPromptParams(f *testing.F) {
	f.Add(`{"chat-id":"a","message":"m","contexts":[{"type":"file","path":"/a","linesRange":{"start":3,"end":1}}],"trust":true}`)
	f.Add(`{"chatId":null,"message":"m","contexts":[{"type":"cursor","path":"x","position":{"start":{"line":-1}}},5,null]}`)
	f.Add(`{"message":"m","contexts":[{"type":"image","base64":"====","mediaType":""},{"type":"directory"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		raw := camel(json.RawMessage(text))
		if !json.Valid(raw) {
			t.Fatalf("%s became %s", text, raw)
		}
		var p eca.PromptParams
		if wire.Unmarshal(raw, &p) != nil {
			return
		}
		d := refer.New(nil, core.Local, []string{"/w"})
		blocks, _ := d.Prompt(t.Context(), p, &refer.Shelf{})
		if p.Message != "" && (len(blocks) == 0 || blocks[0] != core.Block(core.Text{Text: p.Message})) {
			t.Errorf("the message is lost: %v", blocks)
		}
		_ = checkID(said(p.ChatID))
		content.Prompt(blocks)
	})
}

func TestDialects(t *testing.T) {
	for text, want := range map[string]Dialect{
		`{}`: Now,
		`{"capabilities":{"codeAssistant":{"chat":true,"doc":true}},"initializationOptions":{"chatBehavior":"agent"}}`:        Doc001,
		`{"capabilities":{"codeAssistant":{"chat":true,"fix":false}}}`:                                                        Doc001,
		`{"capabilities":{"codeAssistant":{"chat":true,"editor":{}}},"initializationOptions":{"chatBehavior":"plan"}}`:        Doc000,
		`{"capabilities":{"codeAssistant":{"chatCapabilities":{}}},"initializationOptions":{"chatBehavior":"plan"}}`:          Now,
		`{"capabilities":{"codeAssistant":{"rewrite":{}}},"initializationOptions":{"chatBehavior":"plan"}}`:                   Now,
		`{"capabilities":{"codeAssistant":{"chat":true}},"initializationOptions":{"chatAgent":null,"chatBehavior":null}}`:     Now,
		`{"capabilities":{"codeAssistant":{"chat":true}},"initializationOptions":{"chatAgent":"code","chatBehavior":"plan"}}`: Now,
		`{"initializationOptions":["a","layer"],"clientInfo":null,"processId":null,"workspaceFolders":null}`:                  Now,
	} {
		var p eca.InitializeParams
		if err := wire.Unmarshal([]byte(text), &p); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := dialectOf(p.Capabilities.CodeAssistant, optionsOf(p.InitializationOptions)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
