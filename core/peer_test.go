package core_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
)

// alone is a Sharing of a process that reaches no other one.
type alone struct{ is core.LocalSession }

type alonePeer struct{ core.LocalSession }

func (s *alone) Join(l core.LocalSession) core.Peer { s.is = l; return alonePeer{l} }
func (s *alone) Delete(context.Context, string, core.Principal, core.SessionID, core.Deletion) error {
	return core.ErrNotFound
}

func (alonePeer) Changed()                        {}
func (alonePeer) Linked() bool                    { return false }
func (alonePeer) Alone() bool                     { return false }
func (alonePeer) Shown(context.Context, core.Pos) {}
func (alonePeer) End()                            {}

// A process that opens a session as its owner dies keeps the prompts that wait there for their clients, which
// may live in other processes. After a while it ends those whose clients have not come. A client that was not
// told that its prompt is queued prompts again.
func TestQueuedPromptsWaitForTheirClients(t *testing.T) {
	for _, way := range []string{"comes back", "prompts again", "stays away"} {
		synctest.Test(t, func(t *testing.T) {
			store, _ := storeOf(t,
				core.Claimed{Epoch: 1, After: core.Pos{Epoch: 1, Seq: 2}},
				core.TurnStarted{Turn: "t1", Message: "m1", Prompt: say("runs").Blocks},
				core.PromptQueued{Turn: "t2", Key: "k2", Prompt: say("waits").Blocks},
			)
			prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: echo}}}}
			sharing := &alone{}
			g := core.New(core.Config{Store: store, Sharing: sharing, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
			defer closeGateway(t, g)
			s, err := g.Open(t.Context(), core.Local, "s")
			if err != nil {
				t.Fatal(err)
			}
			if queued := s.State().Queued; !slices.Equal(queued, []core.TurnID{"t2"}) {
				t.Errorf("queued at first: %q", queued)
			}
			a := s.Attach(core.Client{Name: "back"})
			switch way {
			case "comes back":
				sharing.is.Adopt(t.Context(), a, "t2", say("waits"))
			case "prompts again":
				again := say("waits")
				again.Key = "k2"
				if id := prompt(t, a, again); id != "t2" {
					t.Errorf("the prompt is turn %s", id)
				}
			}
			<-time.After(3 * time.Second)
			synctest.Wait()
			var lines []string
			for _, r := range readTo(t, a.Read(core.Pos{}), a.Head()) {
				lines = append(lines, line(r.Event))
			}
			got, want := strings.Join(lines[4:], "\n"), "TurnEnded interrupted interrupted: the process that ran it has ended\n"
			if way == "stays away" {
				want += "TurnEnded interrupted interrupted: the process that ran it has ended"
			} else {
				want += "TurnStarted\nTitleChanged waits\nTextDelta waits\nTurnEnded end_turn"
			}
			if _, got, _ = strings.Cut(got, "Claimed\n"); got != want {
				t.Errorf("the client %s:\n%s\nwant\n%s", way, got, want)
			}
		})
	}
}
