package eca_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
)

// hostile lists params that are invalid for every method, or that name things that do not exist.
// Those that name an existing chat are only for calls.
var hostile = []string{
	``, `null`, `[]`, `[1]`, `"x"`, `5`, `true`, `{}`,
	`{"chatId":null}`, `{"chatId":5}`, `{"chatId":{}}`, `{"chatId":[]}`, `{"chatId":""}`, `{"chatId":" \t"}`, `{"chatId":"nobody"}`, `{"chatId":"\u0000"}`,
	`{"chatId":"subagent-1"}`, `{"chatId":"../../etc/passwd"}`, `{"chatId":"` + strings.Repeat("x", 300) + `"}`, `{"chatId":"` + strings.Repeat("\u00e4", 5_000) + `"}`,
	`{"chat-id":null,"tool-call-id":5}`, `{"chatId":"nobody","chat-id":"nobody"}`, `{"chatId":"nobody","chatId":"c"}`,
	`{"chatId":"nobody","toolCallId":null}`, `{"chatId":"nobody","toolCallId":"CALL","save":"session"}`, `{"chatId":"c","toolCallId":null}`,
	`{"chatId":"c","toolCallId":5}`, `{"chatId":"c","toolCallId":""}`, `{"chatId":"c","toolCallId":"call-x","save":5}`, `{"chatId":"c","toolCallId":["CALL"]}`,
	`{"chatId":"c","toolCallId":"call ","save":"session"}`, `{"toolCallId":"CALL","save":"session"}`, `{"chatId":"C","toolCallId":"CALL"}`,
	`{"message":{}}`, `{"message":null,"chatId":"nobody"}`, `{"message":"x","contexts":"x","chatId":7}`, `{"chatId":"nobody","contexts":[[[]]],"message":5}`,
	`{"name":null}`, `{"name":5}`, `{"name":{}}`, `{"name":"` + strings.Repeat("n", 5000) + `"}`, `{"query":5}`, `{"query":null,"contexts":{}}`, `{"limit":"x"}`,
	`{"limit":-1,"sortBy":"nothing"}`, `{"limit":1e300}`, `{"sortBy":5}`, `{"event":null}`, `{"event":{"added":null,"removed":[{"uri":5}]}}`,
	`{"event":{"added":[{"uri":"http://x"},{"uri":""}],"removed":[]}}`, `{"before":{},"chatId":"nobody"}`, `{"jobId":5}`, `{"job-id":null}`, `{"provider":5}`, `{"provider":"nobody","data":null}`,
	`{"id":5,"text":null,"prompt":{},"range":[]}`, `{"docText":5}`, `{"doc-text":"x","doc-version":"y","position":null}`, `{"model":5}`, `{"model":null,"agent":{}}`, `{"agent":5}`,
	strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 500), `{"x":` + strings.Repeat(`[`, 500) + strings.Repeat(`]`, 500) + `}`,
}

// Whatever a client sends with whatever method, each request is answered once, each notification
// with silence or a message, and the connection continues. None of it approves a waiting call,
// and no chat is created except those that were begun.
func TestHostileMessages(t *testing.T) {
	methods := []string{"workspace/didChangeWorkspaceFolders", "chat/selectedBehaviorChanged", "no/such", "", "$/cancelRequest", "$/progress"}
	for _, m := range readDocument(t, "now").methods {
		if !slices.Contains([]string{"exit", "shutdown"}, m.name) {
			methods = append(methods, m.name) // also the server's own
		}
	}
	slices.Sort(methods)
	for _, method := range slices.Compact(methods) {
		synctest.Test(t, func(t *testing.T) {
			s := begin(t, same(everything()), "/w")
			s.send(s.request("chat/prompt", promptOf("c", "write a.txt")))
			waits := s.until(func(m message) bool { return m.is("toolCallRun", `"manualApproval":true`) })
			call := waits.Params.Content["id"].(string)
			list := slices.DeleteFunc(slices.Clone(hostile), func(p string) bool {
				return strings.Contains(p, `"chatId":"c"`) && !strings.Contains(method, "toolCall")
			})
			for i, params := range list {
				list[i] = strings.ReplaceAll(params, "CALL", call)
			}
			for _, params := range list {
				member := `,"params":` + params
				if params == "" {
					member = ""
				}
				id := fmt.Sprintf("%s %.80s", method, params)
				quoted, err := json.Marshal(id)
				if err != nil {
					t.Fatal(err)
				}
				s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s}`, method, member), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q%s}`, quoted, method, member))
			}
			<-time.After(10 * time.Second) // nothing waits that long
			from := len(s.seen)
			if m := s.ask("chat/list", "{}"); m.Error != nil {
				t.Errorf("%s: %s", method, m.raw)
			}
			answers := map[string]int{}
			for _, m := range s.seen[from:] {
				if m.Method == "" {
					answers[string(m.ID)]++
				}
				if (m.is("toolCallRunning", call) || m.is("toolCalled", call)) && m.Params.ChatID == "c" {
					t.Errorf("%s: the call was approved: %s", method, m.raw)
				}
			}
			for _, params := range list {
				quoted, _ := json.Marshal(fmt.Sprintf("%s %.80s", method, params))
				if n := answers[string(quoted)]; n != 1 {
					t.Errorf("%s %.80s: answered %d times", method, params, n)
				}
			}
			s.still(method, call)
			s.close()
		})
	}
}

// still checks that a call of chat c still waits, that it can be decided, and that no other chat
// was created.
func (s *testServer) still(method, call string) {
	s.t.Helper()
	s.tell("chat/toolCallReject", fmt.Sprintf(`{"chatId":"c","toolCallId":%q}`, call))
	s.until(func(m message) bool { return m.is("toolCallRejected", call) })
	s.until(finished("c"))
	for sum, err := range s.g.List(s.t.Context(), core.Local) {
		if err != nil {
			s.t.Error(err)
		}
		if sum.ID != "c" && method != "chat/prompt" {
			s.t.Errorf("%s: there is a chat %.50q", method, sum.ID)
		}
	}
}
