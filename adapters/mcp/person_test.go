package mcp

import (
	"testing"

	"dragoman/core"
	"dragoman/core/access"
)

// What only a person may agree to is neither put to an MCP client's user nor answered by its model.
func TestAskForAPerson(t *testing.T) {
	c := &client{host: &host{of: access.Holder{Rights: access.All}}}
	h := &heldSession{made: true}
	a := core.Ask{ID: "q1", Kind: core.AskConsent, Person: true, Options: []core.Option{{ID: "go_on", Decision: core.AllowOnce}, {ID: "stop", Decision: core.RejectOnce}}}
	for _, by := range []asker{asksNobody, asksNow, asksAgain} {
		if is := c.answererOf(h, by, a); is != ofPerson {
			t.Errorf("asker %d: it is %d's to answer", by, is)
		}
		f := &follower{c: c, h: h, asker: by}
		if list := f.askable([]core.Ask{a}); len(list) != 0 {
			t.Errorf("asker %d: put to the client: %+v", by, list)
		}
	}
}
