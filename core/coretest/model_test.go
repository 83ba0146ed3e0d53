package coretest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/inference"
)

func TestScript(t *testing.T) {
	boom := errors.New("boom")
	first := Answer{}.Think("hm").Say("Hello, ", "world.").Call("c1", "read_file", `{"path":"a"}`).Use(core.Usage{In: 5, Out: 2})
	m := NewScript(first, Answer{Err: boom}.Say("ab"), Answer{Stop: core.StopTokens})
	h := hear(t, m)
	wantEnd(t, h, core.StopEnd)
	wantEqual(t, "thought", h.Thought, "hm")
	wantEqual(t, "text", h.Text, "Hello, world.")
	wantCalls(t, h, `read_file {"path":"a"}`)
	if h.Usage == nil || h.Usage.In != 5 {
		t.Errorf("usage is %+v", h.Usage)
	}
	if h = hear(t, m); !errors.Is(h.Err, boom) || h.Text != "ab" {
		t.Errorf("text %q, error %v", h.Text, h.Err)
	}
	wantEnd(t, hear(t, m), core.StopTokens)
	if h = hear(t, m); h.Err == nil {
		t.Error("a fourth answer came from nowhere")
	}
	if got := m.Requests(); len(got) != 4 || got[0].Session != "s1" || len(got[0].Messages) != 1 {
		t.Errorf("requests are %+v", got)
	}
}

func TestScriptReplies(t *testing.T) {
	m := &Script{Reply: func(n int, r *inference.Request) Answer { return Answer{}.Say(r.System, string(rune('0'+n))) }}
	hear(t, m)
	wantEqual(t, "text", hear(t, m).Text, "Be brief.1")
}

// TestScriptWaits: waiting and hanging end with the context.
func TestScriptWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		for _, a := range []Answer{Answer{Hang: true}.Say("a"), {Wait: make(chan struct{})}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if h := Hear(ctx, t, NewScript(a), ModelRequest(), nil); !errors.Is(h.Err, context.DeadlineExceeded) {
				t.Errorf("error %v", h.Err)
			}
			cancel()
		}
		go close(open)
		wantEnd(t, hear(t, NewScript(Answer{Wait: open})), core.StopEnd)
	})
}
