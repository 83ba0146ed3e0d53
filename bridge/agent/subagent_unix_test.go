//go:build unix

package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
	"dragoman/core/child/childtest"
)

// kid is an update about a sub-agent, and says what it says.
func kid(members string) string {
	return `update {"sessionUpdate":"subagent_update","sessionId":"kid",` + members + "}\n"
}

func says(update string) string {
	return `notify session/update {"sessionId":"kid","update":` + update + "}\n"
}

func saysText(text string) string {
	return says(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}}`)
}

// child returns the call of a sub-agent since the last prompt.
func (c *chat) child() (call core.Call) {
	c.t.Helper()
	for _, ev := range c.events {
		if e, ok := ev.(core.CallChanged); ok && e.Call.Child != "" {
			call = e.Call
		}
	}
	if call.Child == "" {
		c.t.Fatal(strings.Join(c.lines(), "\n"))
	}
	return call
}

// under joins the session of a call's sub-agent.
func (c *chat) under(call core.Call) *chat {
	c.t.Helper()
	s, err := c.gateway.Open(c.ctx, core.Local, call.Child)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.join(s)
}

// A sub-agent of the agent's has a session of its own, and what it says is not the agent's answer. Its
// call has what was announced, and its last message as the result.
func TestSubagent(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.says("say before\nsubagent I am the child.\nsay after", "before\nafter\n")
	sub := c.under(c.child())
	sub.until(func(core.Event) bool { return strings.Contains(sub.text(), "I am the child.") })

	c.says(kid(`"title":"Kid","description":"digs","state":{"state":"running"}`)+saysText("a first message")+
		says(`{"sessionUpdate":"tool_call","toolCallId":"k","title":"dig","status":"completed"}`)+saysText("a tre")+saysText("asure")+
		kid(`"state":{"state":"idle","stopReason":"end_turn"}`), "")
	call := c.child()
	if call.State != core.Succeeded || call.Title != "Kid" || string(call.Args) != `{"name":"Kid","description":"digs"}` {
		t.Errorf("%+v, arguments %s", call, call.Args)
	}
	if len(call.Content) != 1 || call.Content[0] != (core.Text{Text: "a treasure"}) {
		t.Errorf("its result: %v", call.Content)
	}
}

// A sub-agent that works can be stopped, also while it says nothing. Its agent is told so if it takes
// that.
func TestCancelOfASubagent(t *testing.T) {
	for _, test := range []struct {
		name, announces string
		takes           bool
	}{
		{"it can be cancelled", `"capabilities":{"cancel":{}},`, true},
		{"it cannot", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			rec := newRecord(t)
			c := one(t, agenttest.Options{Record: rec.path})
			id := c.prompt(kid(`"title":"Kid",`+test.announces+`"state":{"state":"running"}`) + `permission {"title":"gate"}` + "\n" +
				saysText("still here") + kid(`"state":{"state":"idle","stopReason":"cancelled"}`))
			c.answer = always(core.Reply{})
			c.until(func(ev core.Event) bool { _, asked := ev.(core.Asked); return asked })
			sub := c.under(c.child())
			sub.until(func(ev core.Event) bool { _, begins := ev.(core.TurnStarted); return begins })
			silence, cancel := context.WithTimeout(c.ctx, 1500*time.Millisecond)
			defer cancel()
			if recs, err := sub.reader.Next(silence); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while it works in silence: %+v, %v", recs, err)
			}
			if err := sub.at.Cancel(c.ctx, sub.at.State().Turn, nil); err != nil {
				t.Fatal(err)
			}
			canceled := func() bool {
				b, err := os.ReadFile(rec.path)
				return err == nil && strings.Contains(string(b), `"session/cancel"`) && strings.Contains(string(b), `{"sessionId":"kid"}`)
			}
			if test.takes {
				childtest.Soon(t, "the agent is told", canceled)
			} else {
				sub.until(func(ev core.Event) bool { _, begins := ev.(core.TurnStarted); return begins }) // it works on
			}
			if err := c.at.Answer(c.ctx, c.asked[0].ID, allow); err != nil {
				t.Fatal(err)
			}
			if end := c.ended(id); end.Stop != core.StopEnd {
				t.Errorf("%+v", end)
			}
			if call := c.child(); call.State != core.Canceled || (len(call.Content) > 0) == test.takes {
				t.Errorf("%+v", call)
			}
			if canceled() != test.takes {
				t.Errorf("the agent got %v", rec.methods())
			}
		})
	}
}

// A message between the agent and its sub-agent is handed on once, with our ids.
func TestMessagesToASubagent(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.say("say hello")
	c.says(kid(`"title":"Kid","state":{"state":"running"}`)+
		says(`{"sessionUpdate":"session_message","messageId":"theirs","senderSessionId":"nobody","recipientSessionId":"kid"}`)+
		says(`{"sessionUpdate":"session_message_chunk","messageId":"theirs","content":{"type":"text","text":"dig"}}`)+
		kid(`"state":{"state":"idle"}`), "")
	call := c.child()
	sub := c.under(call)
	var got []struct{ SessionUpdate, MessageID, SenderSessionID, RecipientSessionID string }
	for rec, err := range sub.at.Records(c.ctx, core.Pos{}, sub.at.Head()) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := rec.Event.(core.Foreign); ok {
			got = append(got, struct{ SessionUpdate, MessageID, SenderSessionID, RecipientSessionID string }{})
			if err := json.Unmarshal(e.Raw, &got[len(got)-1]); err != nil {
				t.Error(err)
			}
		}
	}
	if len(got) != 2 || got[0].MessageID == "theirs" || got[0].MessageID != got[1].MessageID || got[0].SenderSessionID != "" || got[0].RecipientSessionID != string(call.Child) {
		t.Errorf("%+v", got)
	}
}
