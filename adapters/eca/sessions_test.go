package eca_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
)

// An existing chat that cannot be opened is found, with the reason: clients show the reason only
// then. A missing chat is not found, without a reason.
func TestAChatThatCannotBeOpenedIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := begin(t, same(profile()), "/w")
		defer s.close()
		s.store.Before = func(_ context.Context, op string, id core.SessionID) error {
			if op == "open" && id == "broken" {
				return errors.New("the beginning of its log is damaged")
			}
			return nil
		}
		for _, c := range []struct{ params, want string }{
			{`{"chatId":"broken"}`, `"result":{"found":true,"chatId":"broken","error":{"code":"internal_error","message":"`},
			{`{"chatId":"broken","limit":50}`, `"result":{"found":true,"chatId":"broken","error":{"code":"internal_error","message":"`},
			{`{"chatId":"nowhere","limit":50}`, `"result":{"found":false}`},
		} {
			m := s.ask("chat/open", c.params)
			if !strings.Contains(m.raw, c.want) {
				t.Errorf("%s: got %s, want %s", c.params, m.raw, c.want)
			}
			if told := strings.Contains(m.raw, "the beginning of its log is damaged"); told != strings.Contains(c.want, "error") {
				t.Errorf("%s: the reason is told: %v: %s", c.params, told, m.raw)
			}
		}
	})
}

// Emacs sends a version of several lines, with how it was built. The name that others read is still a
// short one.
func TestAClientIsNamedOnOneLine(t *testing.T) {
	for version, want := range map[string]string{
		`GNU Emacs 28.2 (build 2, x86_64-pc-linux-gnu)\n of 2025-02-27`: "emacs GNU Emacs 28.2",
		`30.1`:      "emacs 30.1",
		`30.1\r\n`:  "emacs 30.1",
		`\n\nodd\n`: "emacs odd",
		`\n`:        "emacs",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := beginAs(t, fmt.Sprintf(`{"name":"emacs","version":"%s"}`, version), same(profile()), "/w")
			defer s.close()
			s.send(s.request("chat/prompt", promptOf("c", "write a.txt")))
			m := s.until(func(m message) bool { return m.is("toolCallRun", `"manualApproval":true`) })
			id, _ := m.Params.Content["id"].(string)
			s.tell("chat/toolCallReject", fmt.Sprintf(`{"chatId":"c","toolCallId":%q}`, id))
			s.until(finished("c"))
			if got := s.answerer("c"); got != want {
				t.Errorf("%s: %q answered, want %q", version, got, want)
			}
		})
	}
}

// answerer returns the client that gave the last answer in a stored session.
func (s *testServer) answerer(id core.SessionID) (name string) {
	s.t.Helper()
	j, err := s.store.Open(s.t.Context(), core.Local, id)
	if err != nil {
		s.t.Fatal(err)
	}
	defer j.Close()
	for r, err := range j.Read(s.t.Context(), core.Pos{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if e, ok := r.Event.(core.Answered); ok {
			name = e.Reply.By
		}
	}
	return name
}
