package eca_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
)

// A chat that is there and cannot be opened is found, with the reason: clients show
// the reason only then. A chat that is not there is not found, without one.
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
