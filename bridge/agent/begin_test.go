package agent_test

import (
	"context"
	"testing"
	"time"

	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
)

// between is a back end whose conversations call a function when a turn has begun that nobody prompted,
// before they know it.
type between struct {
	core.Backend
	begun func()
}

func (b between) Open(ctx context.Context, bind core.Binding) (core.Conversation, error) {
	bind.Host = betweenHost{bind.Host, b.begun}
	return b.Backend.Open(ctx, bind)
}

type betweenHost struct {
	core.Host
	begun func()
}

func (h betweenHost) Begin(ctx context.Context, o core.Origin) (*core.Turn, error) {
	t, err := h.Host.Begin(ctx, o)
	if err == nil {
		h.begun()
	}
	return t, err
}

// A prompt can end a turn that nobody prompted as soon as that has begun. What the agent says then is in
// the prompt's turn, which ends.
func TestPromptRightBehindTheBeginOfATurn(t *testing.T) {
	rec := newRecord(t)
	a := scripted(t, "scripted", agenttest.Options{Record: rec.path})
	begun, enough := make(chan struct{}), make(chan struct{})
	first := true
	a.Backend = between{a.Backend, func() {
		if first { // always on the goroutine that reads
			first = false
			close(begun)
			<-enough
		}
	}}
	c := newRoom(t, []core.Agent{a}).begin("")
	for said := "later\n"; said != ""; { // until it comes behind the end of its prompt's turn
		said, _ = c.say("late later")
	}
	select {
	case <-begun:
	case <-c.ctx.Done():
		t.Fatal("no turn has begun for what the agent said after its answer")
	}
	before := rec.count("session/prompt")
	id := c.prompt("say hello")
	for rec.count("session/prompt") == before {
		if c.ctx.Err() != nil {
			t.Fatal(rec.methods())
		}
		wait, cancel := context.WithTimeout(c.ctx, 5*time.Millisecond)
		<-wait.Done()
		cancel()
	}
	close(enough)
	if end := c.ended(id); end.Stop != core.StopEnd {
		t.Errorf("%+v", end)
	}
}
