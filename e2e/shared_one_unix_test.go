//go:build unix

package e2e

import (
	"sync"
	"testing"
)

// Two processes use one session, each through its own client: both show all turns, and the second goes on when
// the first has left.
func TestOneSessionTwoProcesses(t *testing.T) {
	t.Parallel()
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := sharedPlace(t)
			first, second := p.edit(t, d, launch{}), p.edit(t, d, launch{})
			id := first.begin()
			if got := first.run(id, "stream 2 of 3"); got != endOK {
				t.Fatalf("the first process: %q", got)
			}
			wantStream(t, "what the second process sees", second.load(id).text, 6)
			want := "The of"
			for _, e := range []*editor{second, first} {
				if got := e.run(id, "stream 2 of 3"); got != endOK {
					t.Errorf("process %s: %q", e.pid(), got)
				}
				want += "The of"
				for _, e := range []*editor{first, second} {
					v := e.view(id)
					e.read("all turns", func() bool { return len(v.text) >= len(want) })
					if string(v.text) != want {
						t.Errorf("process %s shows %q, want %q", e.pid(), v.text, want)
					}
				}
			}
			first.leave()
			v := second.load(id)
			if got := second.run(id, "stream 1 of 4"); got != endOK {
				t.Errorf("the second process, when the first has left: %q %q", got, v.facts)
			}
			if string(v.text) != want+"The " {
				t.Errorf("the second process then shows %q", v.text)
			}
			second.leave()
		})
	}
}

func TestOneSessionTwoProcessesMCP(t *testing.T) {
	t.Parallel()
	p := sharedPlace(t)
	first, second := p.call(t, launch{}), p.call(t, launch{})
	id := first.prompt("", "stream 2 of 3").Structured.Session
	if r := second.prompt(id, "stream 2 of 3"); r.Structured.Text != "The of" {
		t.Errorf("the second process: %s", r.text())
	}
	first.leave()
	if r := second.prompt(id, "stream 1 of 4"); r.Structured.Text != "The " {
		t.Errorf("the second process, when the first has left: %s", r.text())
	}
	second.leave()
}

// Two processes that begin with one session at the same time: one of them gets it, and the other one's prompt
// becomes a turn there.
func TestOneSessionAtOnce(t *testing.T) {
	t.Parallel()
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := sharedPlace(t)
			maker := p.edit(t, d, launch{})
			id := maker.begin()
			maker.run(id, "stream 2 of 3")
			maker.leave()
			var both []*editor
			for range 2 {
				e := p.edit(t, d, launch{})
				e.load(id)
				both = append(both, e)
			}
			var sent sync.WaitGroup
			for _, e := range both {
				frames := e.frames(d.prompt(e, id, endless))
				sent.Go(func() { _, _ = e.in.Write(frames) })
			}
			sent.Wait()
			for _, e := range both {
				v := e.view(id)
				had := v.length
				e.read("text or an end", func() bool { return v.length > had || len(v.ends) > 0 })
			}
			for _, e := range both {
				e.send(d.cancel(id))
			}
			for _, e := range both {
				if got := e.ended(id, 1); got != endCancelled {
					t.Errorf("process %s: %q", e.pid(), got)
				}
			}
			for _, e := range both {
				e.leave()
			}
		})
	}
}
