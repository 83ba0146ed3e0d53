package core_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core"
)

// A question goes to clients that have a form for it. Without one it is shown in the
// chat and stays unanswered. A consent can be put to every client that can be asked at
// all.
func TestAskWithoutForm(t *testing.T) {
	plain := core.Client{Name: "plain", Asks: true, Questions: true, NoForms: true, NoPages: true}
	forms, pages := plain, plain
	forms.NoForms, pages.NoPages = false, false
	options := []core.Option{{ID: "a", Label: "A", Description: "the first"}, {ID: "b", Label: "B"}}
	page := core.Ask{Text: "Log in.", URL: "https://example.org/login"}
	for name, c := range map[string]struct {
		clients []core.Client
		ask     core.Ask
		put     bool
		outcome core.Outcome
		said    string
	}{
		"a choice":                {[]core.Client{plain}, core.Ask{Text: "Which one?", Options: options}, false, core.OutcomeAlone, "Which one?\n\n1. A: the first\n2. B"},
		"a page":                  {[]core.Client{forms}, page, false, core.OutcomeAlone, "Log in.\nhttps://example.org/login"},
		"a secret":                {[]core.Client{plain}, core.Ask{Text: "The key?", Freeform: true, Secret: true}, false, core.OutcomeAlone, ""},
		"for the next message":    {[]core.Client{plain}, core.Ask{Text: "Which one?", Later: true}, false, core.OutcomeLater, ""},
		"a reader alone":          {[]core.Client{{Name: "reader", Role: core.Observe, Questions: true, NoForms: true}}, core.Ask{Text: "Which one?", Later: true}, false, core.OutcomeAlone, ""},
		"no questions at all":     {[]core.Client{{Name: "early", Asks: true}}, core.Ask{Text: "Which one?", Later: true}, false, core.OutcomeAlone, ""},
		"a consent":               {[]core.Client{plain}, core.Ask{Kind: core.AskConsent, Text: "May it start?", Options: options}, true, "", ""},
		"a page, and pages":       {[]core.Client{pages}, page, true, "", ""},
		"another client has form": {[]core.Client{plain, forms}, core.Ask{Text: "Which one?", Later: true}, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, a, host := hosted(t, nil)
				defer closeGateway(t, g)
				for _, client := range c.clients {
					a.Attach(client)
				}
				a.Close()
				turn, err := host.Begin(t.Context(), core.Origin{})
				if err != nil {
					t.Fatal(err)
				}
				last := a.Head()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				got := make(chan core.Reply, 1)
				go func() {
					r, _ := host.Ask(ctx, c.ask)
					got <- r
				}()
				synctest.Wait()
				if pending := a.Pending(); (len(pending) == 1) != c.put {
					t.Fatalf("asked: %+v", pending)
				} else if c.put {
					stop()
					<-got
					return
				}
				if r := <-got; r.Outcome != c.outcome {
					t.Errorf("reply %+v", r)
				}
				if later := turn.Later(); (len(later) == 1) != (c.outcome == core.OutcomeLater) {
					t.Errorf("left for the next message: %+v", later)
				}
				said := ""
				for _, r := range effective(t, a, a.Head()) {
					if n, ok := r.Event.(core.Notice); ok && last.Before(r.End()) {
						said = n.Text
					}
				}
				if !strings.HasPrefix(said, c.said) || c.said == "" && said != "" {
					t.Errorf("said %q", said)
				}
			})
		})
	}
}

// What a sub-agent asks for the next message ends its turn and its parent's.
func TestDelegateQuestionForTheNextMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left []core.Ask
		f := raise(t, kin{
			client: core.Client{Name: "plain", Asks: true, Questions: true, NoForms: true, NoPages: true},
			work: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
				if _, err := turn.Ask(ctx, core.Ask{Text: "which one?", Later: true}); err != nil {
					return "", err
				}
				left = append(left, turn.Later()...)
				return core.StopEnd, nil
			},
		})
		defer closeGateway(t, f.g)
		f.after = func(turn *core.Turn) { left = append(left, turn.Later()...) }
		prompt(t, f.parent, say("go"))
		f.over()
		texts := []string{}
		for _, a := range left {
			texts = append(texts, a.Text)
		}
		if !slices.Equal(texts, []string{"which one?", "which one?"}) {
			t.Errorf("left for the next message in the child and its parent: %q", texts)
		}
	})
}
