package eca_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
)

const helloAsks = `-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{"codeAssistant":{"chat":true,"chatCapabilities":{"askQuestion":true}}},"workspaceFolders":[{"uri":"file:///w","name":"w"}]}}

-> {"jsonrpc":"2.0","method":"initialized","params":{}}

`

// A question that another client answers is withdrawn: a later answer of this client is ignored,
// and the question is not asked again.
func TestAnsweredElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil)
		peer, stop := serve(t, g)
		out, err := play(peer, g.board, helloAsks+`-> {"jsonrpc":"2.0","id":1,"method":"chat/prompt","params":{"chatId":"c1","message":"ask Where?"}}`+"\n")
		if err != nil || strings.Count(out, "chat/askQuestion") != 1 {
			t.Fatalf("%v: got\n%s", err, out)
		}
		sess, err := g.Open(t.Context(), core.Local, "c1")
		if err != nil {
			t.Fatal(err)
		}
		other := sess.Attach(core.Client{Name: "another client", Questions: true})
		if err := other.Answer(t.Context(), other.Pending()[0].ID, core.Reply{Outcome: core.OutcomeAnswered, Text: "elsewhere"}); err != nil {
			t.Fatal(err)
		}
		other.Close()
		out, err = play(peer, g.board, "\n"+`-> {"jsonrpc":"2.0","id":1,"result":{"answer":"here","cancelled":false}}`+"\n")
		if err != nil || !strings.Contains(out, "answered option= text=elsewhere") || strings.Contains(out, "chat/askQuestion") {
			t.Errorf("%v: got\n%s", err, out)
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Delegated tasks leave nothing behind on the connection: each child is released when its call
// ends, and its names are no chats any more.
func TestManySubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil)
		peer, stop := serve(t, g)
		if _, err := play(peer, g.board, helloAsks); err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			out, err := play(peer, g.board, fmt.Sprintf(`-> {"jsonrpc":"2.0","id":%d,"method":"chat/prompt","params":{"chatId":"c1","message":"spawn say Found"}}`+"\n@ 1s\n", i+1))
			found := fmt.Sprintf(`"chatId":"subagent-made-%d","parentChatId":"c1","role":"assistant","content":{"type":"text","text":"Found"}`, i+1)
			at, end := strings.Index(out, found), strings.Index(out, `"type":"toolCalled"`)
			if err != nil || at < 0 || end < at {
				t.Fatalf("%v: task %d: got\n%s", err, i+1, out)
			}
			out, err = play(peer, g.board, fmt.Sprintf(`-> {"jsonrpc":"2.0","method":"chat/promptStop","params":{"chatId":"subagent-made-%d"}}`+"\n", i+1))
			if err != nil || strings.Contains(out, "<-") {
				t.Fatalf("%v: task %d is still known: got\n%s", err, i+1, out)
			}
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
