package ecaserver_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"dragoman/adapters/eca"
	"dragoman/adapters/wire"
	"dragoman/bridge/ecaserver/ecatest"
	"dragoman/core"
)

// An ECA client in front of an ECA server gets contents that nobody here knows as they are, the details of calls,
// and the buttons for what is asked; its answers reach the server.
func TestECAClientInFront(t *testing.T) {
	r := newRoom(t, scripted(t, ecatest.Options{}))
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- eca.New(eca.Options{Gateway: r.gateway, Principal: core.Local, Cwd: r.dir}).Serve(r.ctx, fromClient, toClient)
	}()
	conn := wire.NewConn(fromServer, toServer, wire.Options{Framing: wire.ContentLength})
	got := make(chan string, 1000) // more than the test's messages
	read := make(chan error, 1)
	go func() {
		read <- conn.Serve(r.ctx, func(call *wire.Call) { got <- call.Method + " " + string(call.Params) })
	}()
	until := func(texts ...string) string {
		t.Helper()
		for {
			select {
			case m := <-got:
				missing := false
				for _, text := range texts {
					missing = missing || !strings.Contains(m, text)
				}
				if !missing {
					return m
				}
			case <-r.ctx.Done():
				t.Fatalf("no %q", texts)
			}
		}
	}
	var raw json.RawMessage
	if err := conn.Ask(r.ctx, "initialize", map[string]any{"capabilities": map[string]any{"codeAssistant": map[string]any{"chat": true, "chatCapabilities": map[string]any{"askQuestion": true}}}, "workspaceFolders": []any{map[string]string{"uri": "file://" + r.dir, "name": "w"}}}, &raw); err != nil {
		t.Fatal(err)
	}
	if err := conn.Notify("initialized", struct{}{}); err != nil {
		t.Fatal(err)
	}
	const hologram = `{"type":"hologram","n":1.50}`
	prompt := strings.Join([]string{
		"content assistant " + hologram,
		`call {"id":"c","name":"shell_command","arguments":{"command":"ls"},"manual":true,"output":"a.txt","details":{"type":"shellCommand","commands":[{"command":"ls","args":["-l"],"approvalKey":"ls -l","remembered":false}]}}`,
		"sub say inside",
	}, "\n")
	if err := conn.Ask(r.ctx, "chat/prompt", map[string]any{"chatId": "chat-1", "message": prompt}, &raw); err != nil {
		t.Fatal(err)
	}
	until("chat/contentReceived", `"chatId":"chat-1"`, `"role":"assistant"`, `"content":`+hologram)
	run := until(`"type":"toolCallRun"`, `"manualApproval":true`)
	if !strings.Contains(run, `"approvalKey":"ls -l"`) || !strings.Contains(run, `"arguments":{"command":"ls"}`) {
		t.Error(run)
	}
	var is struct {
		Content struct {
			ID string `json:"id"`
		} `json:"content"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(run, "chat/contentReceived ")), &is); err != nil {
		t.Fatal(err)
	}
	if err := conn.Notify("chat/toolCallApprove", map[string]string{"chatId": "chat-1", "toolCallId": is.Content.ID}); err != nil {
		t.Fatal(err)
	}
	until(`"type":"toolCalled"`, `"text":"a.txt"`)
	until(`"parentChatId":"chat-1"`, `"text":"inside\n"`)
	until(`"type":"progress"`, `"state":"finished"`)
	if err := conn.Ask(r.ctx, "shutdown", nil, nil); err != nil {
		t.Error(err)
	}
	if err := conn.Notify("exit", nil); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	<-read
}
