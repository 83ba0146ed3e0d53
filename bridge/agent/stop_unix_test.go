//go:build unix

package agent_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
	"dragoman/core/child/childtest"
)

// begun reads up to the beginning of a turn that nobody prompted.
func (c *chat) begun() (turn core.TurnID) {
	c.t.Helper()
	c.until(func(ev core.Event) bool {
		e, ok := ev.(core.TurnStarted)
		if ok && len(e.Prompt) == 0 {
			turn = e.Turn
		}
		return turn != ""
	})
	return turn
}

// A person can stop what an agent does without a prompt: the agent is told. What it still says begins no
// turn, and one that does not stop is ended.
func TestStopOfATurnThatNobodyPrompted(t *testing.T) {
	for name, prompt := range map[string]string{"it stops": "background more", "it goes on": "ignore-cancel\nbackground more"} {
		t.Run(name, func(t *testing.T) {
			rec := newRecord(t)
			c := one(t, agenttest.Options{Record: rec.path})
			c.prompt(prompt)
			turn := c.begun()
			hurry(c)
			if err := c.at.Cancel(c.ctx, turn, nil); err != nil {
				t.Fatal(err)
			}
			if end := c.ended(turn); end.Stop != core.StopCanceled {
				t.Errorf("%+v", end)
			}
			childtest.Soon(t, "the agent is told", func() bool { return rec.count("session/cancel") == 1 })
			if name == "it goes on" {
				childtest.Soon(t, "the program ends", func() bool { return !childtest.Running(rec.pids()[0]) })
			}
			c.says("say hello", "hello\n")
			begun := 0
			for rec, err := range c.at.Records(c.ctx, core.Pos{}, c.at.Head()) {
				if err != nil {
					t.Fatal(err)
				}
				if e, ok := rec.Event.(core.TurnStarted); ok && len(e.Prompt) == 0 {
					begun++
				}
			}
			if begun != 1 {
				t.Errorf("%d turns have begun without a prompt", begun)
			}
		})
	}
}

// An agent that asks after a stop gets the answer that it was cancelled, and nobody is asked.
func TestQuestionAfterAStop(t *testing.T) {
	rec := newRecord(t)
	c := one(t, agenttest.Options{Record: rec.path})
	c.prompt("background more\n" + `background-permission {"title":"t","kind":"execute","rawInput":{"command":"make"}}`)
	turn := c.begun()
	if err := c.at.Cancel(c.ctx, turn, nil); err != nil {
		t.Fatal(err)
	}
	c.ended(turn)
	childtest.Soon(t, "the agent is answered", func() bool {
		got, err := os.ReadFile(rec.path)
		return err == nil && strings.Contains(string(got), `"outcome":{"outcome":"cancelled"}`)
	})
	c.says("say hello", "hello\n")
}

// What an agent says by itself long after it was stopped is shown again.
func TestTextLongAfterAStop(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.prompt("background more\nrest 1500\nlate new")
	turn := c.begun()
	hurry(c)
	if err := c.at.Cancel(c.ctx, turn, nil); err != nil {
		t.Fatal(err)
	}
	c.ended(turn)
	c.until(func(core.Event) bool { return strings.HasSuffix(c.text(), "new\n") })
}

// stopsAtOnce is an agent whose turns without a prompt are stopped as they begin.
type stopsAtOnce struct {
	core.Backend
	stop func(*core.Turn)
}

func (b stopsAtOnce) Open(ctx context.Context, bind core.Binding) (core.Conversation, error) {
	bind.Host = stoppingHost{bind.Host, b.stop}
	return b.Backend.Open(ctx, bind)
}

type stoppingHost struct {
	core.Host
	stop func(*core.Turn)
}

func (h stoppingHost) Begin(ctx context.Context, o core.Origin) (*core.Turn, error) {
	t, err := h.Host.Begin(ctx, o)
	if err == nil {
		h.stop(t)
	}
	return t, err
}

// A stop may come before the agent's updates belong to the turn: the agent is told nevertheless.
func TestStopAsATurnBegins(t *testing.T) {
	rec := newRecord(t)
	a := scripted(t, "scripted", agenttest.Options{Record: rec.path})
	var c *chat
	a.Backend = stopsAtOnce{a.Backend, func(turn *core.Turn) {
		if err := c.at.Cancel(c.ctx, turn.ID(), nil); err != nil {
			t.Error(err)
		}
		<-turn.Context().Done()
	}}
	c = newRoom(t, []core.Agent{a}).begin("")
	prompted := c.prompt("background more")
	c.until(func(ev core.Event) bool {
		end, ok := ev.(core.TurnEnded)
		if ok && end.Turn != prompted && end.Stop != core.StopCanceled {
			t.Errorf("%+v", end)
		}
		return ok && end.Turn != prompted
	})
	childtest.Soon(t, "the agent is told", func() bool { return rec.count("session/cancel") == 1 })
	c.says("say hello", "hello\n")
}
