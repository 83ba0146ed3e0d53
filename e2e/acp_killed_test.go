package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Sessions, through fifty processes in all that are killed at some moment: what was
// answered is there for good, whatever else was under way, and nothing is left open.
func TestACPKilledFiftyTimes(t *testing.T) {
	t.Parallel()
	for i := range 5 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			killedAgain(t, 10)
		})
	}
}

// killedAgain takes one session through so many processes.
func killedAgain(t *testing.T, times int) {
	p := newPlace(t)
	var id string
	var answered, begun []string // the prompts that were, by their marks
	for i := range times {
		c := p.acpClientOf(t, quickly(t), object{}, true)
		if id == "" {
			id = c.session()
		} else {
			survived(t, c, id, answered, begun)
		}
		c.forget()
		marks := map[string]string{} // by request
		for n := range 3 {
			mark := fmt.Sprintf("mark-%d-%d-", i, n)
			text := fmt.Sprintf("think %s then run echo %s then write out.txt: %s then stream 20 of 30", mark, mark, mark)
			marks[c.begin("session/prompt", promptOf(id, text))] = mark
		}
		bomb := time.AfterFunc(rand.N(300*time.Millisecond), c.kill)
		for {
			if err := c.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			m, err := c.next()
			if err != nil {
				break
			}
			// A permission that comes now is allowed if there is still somebody to hear it.
			if m.Method != "session/request_permission" {
				c.take(m)
				continue
			}
			b := c.frames(object{"jsonrpc": "2.0", "id": m.ID, "result": object{"outcome": object{"outcome": "selected", "optionId": "allow_once"}}})
			_, _ = c.in.Write(b)
		}
		bomb.Stop()
		c.left(patience)
		told := c.told(id)
		for n, mark := range marks {
			if m, ok := c.answers[n]; ok && m.Error == nil {
				answered = append(answered, mark)
			} else if ok {
				t.Errorf("%s: %v", mark, m.Error)
			}
			if strings.Contains(told, mark) {
				begun = append(begun, mark)
			}
		}
	}
	t.Logf("%d prompts were answered, %d had begun", len(answered), len(begun))
	c := p.acpClientOf(t, quickly(t), object{}, true)
	survived(t, c, id, answered, begun)
	if end := c.prompt(id, "read notes.txt"); end != "end_turn" {
		t.Errorf("stop reason %q", end)
	}
}

// told is all that a session's turns have said, as one text. A title may be heard of
// before its prompt is stored.
func (c *acpClient) told(id string) string {
	var b strings.Builder
	for _, u := range c.updates {
		if u.session == id && u.SessionUpdate != "session_info_update" {
			b.WriteString(u.raw)
		}
	}
	return b.String()
}

// survived loads the session and looks for what must be there.
func survived(t *testing.T, c *acpClient, id string, answered, begun []string) {
	t.Helper()
	c.ok("session/load", c.of(id))
	var users strings.Builder
	calls := map[string]string{}
	for _, u := range c.updates {
		if u.SessionUpdate == "user_message_chunk" {
			users.WriteString(u.text())
		}
		if u.Status != "" {
			calls[u.ToolCallID] = u.Status
		}
	}
	said := c.said(id)
	for _, mark := range answered {
		if n := strings.Count(said, mark); n < 1 {
			t.Fatalf("the answer to %s is lost", mark)
		}
	}
	for _, mark := range begun {
		if !strings.Contains(users.String(), mark) {
			t.Fatalf("the prompt %s is lost", mark)
		}
	}
	for call, status := range calls {
		if status != "completed" && status != "failed" {
			t.Fatalf("call %s is still %s", call, status)
		}
	}
}
