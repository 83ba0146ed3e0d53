package core_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/codec"
	"dragoman/core/coretest"
)

const secret = "sk-very-secret"

// stored is all that a store holds of a session, as it would be on a disk and as Go
// prints it.
func stored(t *testing.T, store core.Store, id core.SessionID) string {
	t.Helper()
	j, err := store.Open(t.Context(), core.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var enc codec.Encoder
	var b []byte
	for r, err := range j.Read(t.Context(), core.Pos{}) {
		if err != nil {
			t.Fatal(err)
		}
		b = append(enc.Append(b, r), '\n')
		b = fmt.Appendf(b, "%+v\n", r.Event)
	}
	return string(b)
}

// asks is a turn that asks for a key, and says how long the answer is.
func asks(hide bool) runFunc {
	return func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		r, err := turn.Ask(ctx, core.Ask{Text: "the key?", Freeform: true, Secret: hide})
		if err != nil {
			return "", err
		}
		return core.StopEnd, turn.Emit(ctx, core.TextDelta{Message: turn.NewMessage(), Text: fmt.Sprint(r.Outcome, " ", len(r.Text))})
	}
}

// The answer to a secret question reaches who asked, and nothing else: not the log,
// not the store, not a client that watches, not one that comes later.
func TestSecret(t *testing.T) {
	for _, hide := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := coretest.NewMemory()
			g := coretest.Gateway(store, asks(hide), nil)
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "tester", Questions: true})
			watcher := s.Attach(core.Client{Name: "watcher", Role: core.Observe})
			id := prompt(t, a, say("go"))
			synctest.Wait()
			q := watcher.Pending()[0]
			if q.Secret != hide {
				t.Fatalf("%+v", q)
			}
			if err := a.Answer(t.Context(), q.ID, core.Reply{Outcome: core.OutcomeAnswered, Text: secret}); err != nil {
				t.Fatal(err)
			}
			r := watcher.Read(core.Pos{})
			defer r.Close()
			got := follow(t, r, id)
			if !slices.Contains(got, fmt.Sprint("TextDelta answered ", len(secret))) || !slices.Contains(got, "Answered answered") {
				t.Errorf("events:\n%s", strings.Join(got, "\n"))
			}
			seen := fmt.Sprintf("%+v", effective(t, watcher, watcher.Head()))
			closeGateway(t, g)
			for name, text := range map[string]string{"the log": seen, "the store": stored(t, store, "s")} {
				if strings.Contains(text, secret) == hide {
					t.Errorf("secret %v; %s:\n%s", hide, name, text)
				}
			}
		})
	}
}

// What a sub-session asks in secret is in neither session's log.
func TestSecretOfAChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := raise(t, kin{work: asks(true)})
		prompt(t, f.parent, say("go"))
		c := f.child(0, core.Client{Name: "viewer", Role: core.Observe})
		q := f.parent.Pending()[0]
		if !q.Secret || q.About != nil {
			t.Fatalf("%+v", q)
		}
		if err := f.parent.Answer(t.Context(), q.ID, core.Reply{Outcome: core.OutcomeAnswered, Text: secret}); err != nil {
			t.Fatal(err)
		}
		f.over()
		if d := f.came[0]; d.Text != fmt.Sprint("answered ", len(secret)) {
			t.Errorf("%+v", d)
		}
		seen := fmt.Sprintf("%+v %+v", effective(t, c, c.Head()), effective(t, f.parent, f.parent.Head()))
		c.Close()
		closeGateway(t, f.g)
		if all := seen + stored(t, f.store, "s") + stored(t, f.store, f.children[0]); strings.Contains(all, secret) {
			t.Errorf("it is kept:\n%s", all)
		}
	})
}

// A secret that is declined, or that a decision comes for, is settled like any other.
func TestSecretDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, a := open(t, asks(true), nil)
		defer closeGateway(t, g)
		id := prompt(t, a, say("go"))
		synctest.Wait()
		if err := a.Answer(t.Context(), a.Pending()[0].ID, core.Reply{Outcome: core.OutcomeDeclined}); err != nil {
			t.Fatal(err)
		}
		r := a.Read(core.Pos{})
		defer r.Close()
		if got := follow(t, r, id); !slices.Contains(got, "TextDelta declined 0") {
			t.Errorf("events:\n%s", strings.Join(got, "\n"))
		}
	})
}

// A secret that no client has a form for is the next message of the connection: it reaches who expects it and
// nothing else, not the log, not the store, not the back end. The message after it is an ordinary one, and so is a
// command in its place.
func TestNextMessageIsASecret(t *testing.T) {
	for _, command := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store, heard, taken := coretest.NewMemory(), []string(nil), ""
			g := coretest.Gateway(store, func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				text, _ := turn.Prompt()[0].(core.Text)
				heard = append(heard, text.Text)
				if text.Text == "log in" && !turn.TakeNext(func(_ context.Context, s string) string { taken = s; return "kept" }) {
					t.Error("no next message is expected")
				}
				return core.StopEnd, nil
			}, nil)
			defer closeGateway(t, g)
			s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			a := s.Attach(core.Client{Name: "tester"})
			said := func(text string) {
				p := say(text)
				p.Busy = core.BusySteer
				prompt(t, a, p)
				synctest.Wait()
			}
			said("log in")
			want := []string{"log in", "hello"}
			if command {
				said("/never mind")
				want = []string{"log in", "/never mind", secret + " again", "hello"}
				said(secret + " again")
			} else {
				said("  " + secret + "\n")
			}
			said("hello")
			if !slices.Equal(heard, want) || !command && taken != secret || command && taken != "" {
				t.Errorf("the back end heard %q; the secret is %q", heard, taken)
			}
			log := stored(t, store, "s")
			if !command && (strings.Contains(log, secret) || !strings.Contains(log, "kept")) {
				t.Error(log)
			}
			if title := s.State().Title; title != "log in" {
				t.Errorf("the title is %q", title)
			}
		})
	}
}
