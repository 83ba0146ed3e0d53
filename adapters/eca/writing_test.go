package eca_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/coretest"
)

// Four texts are rewritten at a time, each for at most three minutes.
func TestRewritesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil)
		peer, stop := serve(t, g)
		answer := func(id int, message string) string {
			t.Helper()
			if err := peer.Send(message); err != nil {
				t.Fatal(err)
			}
			for {
				m, err := peer.Next()
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(m, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, id)) {
					return m
				}
			}
		}
		answer(0, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":4711,"capabilities":{"codeAssistant":{"chat":true,"rewrite":true}},"workspaceFolders":[{"uri":"file:///w","name":"w"}]}}`)
		if err := peer.Send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`, `{"jsonrpc":"2.0","method":"chat/selectedModelChanged","params":{"model":"acme/large"}}`); err != nil {
			t.Fatal(err)
		}
		id := 0
		rewrite := func() string {
			t.Helper()
			id++
			return answer(id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"rewrite/prompt","params":{"id":"r%d","text":"a","prompt":"hang","range":{"start":{"line":1,"character":1},"end":{"line":1,"character":2}}}}`, id, id))
		}
		for range 2 {
			for range 4 {
				if m := rewrite(); !strings.Contains(m, `"status":"prompting"`) {
					t.Error(m)
				}
			}
			if m := rewrite(); !strings.Contains(m, "4 texts are being rewritten already") {
				t.Error(m)
			}
			<-time.After(3*time.Minute + time.Second)
			synctest.Wait()
		}
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
