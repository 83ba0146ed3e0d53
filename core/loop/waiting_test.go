package loop

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// described is a tool that can tell from the arguments what a call is about.
type described struct{ coretest.Tool }

func (d described) Describe(args json.RawMessage) core.Preview {
	var a struct{ Path string }
	if json.Unmarshal(args, &a) != nil {
		return core.Preview{}
	}
	return core.Preview{Title: "Touch " + a.Path, Locations: []core.Location{{Path: "/w/" + a.Path}}}
}

// A call is shown with its arguments, and with what they say that it is about, also if it never runs: it
// fails before anybody is asked, or its turn ends while it waits for a call before it, or for the rest of
// the answer.
func TestCallsThatDoNotRunAreDescribed(t *testing.T) {
	touch := described{coretest.Tool{
		Is: core.Spec{Server: core.Native, Name: "touch", Title: "Touch a file", Kind: core.KindEdit},
		Previews: func(_ context.Context, inv core.Invocation) (core.Preview, error) {
			if string(inv.Args) == `{"path":"bad"}` {
				return core.Preview{}, errors.New("there is no bad")
			}
			return core.Preview{Title: "Touch it"}, nil
		},
	}}
	for name, c := range map[string]struct {
		answer coretest.Answer
		path   string
		ends   bool // by itself
	}{
		"fails":            {coretest.Answer{}.Call("x1", "touch", `{"path":"bad"}`), "bad", true},
		"waits for a call": {coretest.Answer{}.Call("x1", "touch", `{"path":"a"}`).Call("x2", "touch", `{"path":"b"}`), "b", false},
		"waits for the answer": {coretest.Answer{Hang: true}.Call("x1", "touch", `{"path":"a"}`).
			With(inference.Delta{Kind: inference.DeltaToolStart, Block: 1, ToolID: "x2", ToolName: "touch"}), "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, coretest.NewScript(c.answer, coretest.Answer{}.Say("ok")), setup{
					tools: []core.Tool{touch}, policy: coretest.Always(core.Verdict{Effect: core.MustAsk, Why: "it writes"}),
				})
				defer r.close()
				id := r.prompt("hi")
				if synctest.Wait(); !c.ends {
					if err := r.session.Cancel(t.Context(), id, nil); err != nil {
						t.Fatal(err)
					}
				}
				found := false
				for _, ev := range r.read(func(ev core.Event) bool { _, over := ev.(core.TurnEnded); return over }) {
					e, ok := ev.(core.CallChanged)
					if !ok || !e.Call.State.Ended() || string(e.Call.Args) != `{"path":"`+c.path+`"}` {
						continue
					}
					found = true
					if e.Call.Title != "Touch "+c.path || len(e.Call.Locations) != 1 || e.Call.Locations[0].Path != "/w/"+c.path {
						t.Errorf("it ends as %+v", e.Call)
					}
				}
				if !found {
					t.Errorf("no call has ended with the path %s", c.path)
				}
			})
		})
	}
}
