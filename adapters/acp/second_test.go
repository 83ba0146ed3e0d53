package acp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/adapters/wire/wiretest"
	"dragoman/core"
	"dragoman/core/coretest"
)

const resumeLine = `{"jsonrpc":"2.0","id":1,"method":"session/resume","params":{"sessionId":"s1","cwd":"/w"}}`

// A question put to one client may be answered by another: the first one's request is withdrawn,
// and its late answer has no effect.
func TestASecondClientAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(coretest.NewMemory(), nil, true)
		first, stop1 := serve(t, g)
		second, stop2 := serve(t, g)
		newSession(t, first)
		if err := second.Send(hello, resumeLine); err != nil {
			t.Fatal(err)
		}
		second.Until(t, `"id":1`)
		if err := first.Send(promptLine(2, "write a.txt")); err != nil {
			t.Fatal(err)
		}
		first.Until(t, "session/request_permission")
		second.Until(t, `"text":"write a.txt"`)
		asked := second.Until(t, "session/request_permission")
		_, id, _ := strings.Cut(asked, `"id":`)
		id, _, _ = strings.Cut(id, ",")
		if err := second.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}`, id)); err != nil {
			t.Fatal(err)
		}
		first.Until(t, `"method":"$/cancel_request","params":{"requestId":1}`)
		if err := first.Send(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"reject_once"}}}`); err != nil {
			t.Fatal(err)
		}
		first.Until(t, `"status":"completed"`)
		first.Until(t, `"id":2,"result":{"stopReason":"end_turn"}`)
		second.Until(t, "Written.")

		// A choice of one client is announced to the other, in all forms.
		if err := second.Send(`{"jsonrpc":"2.0","id":3,"method":"session/set_mode","params":{"sessionId":"s1","modeId":"plan"}}`); err != nil {
			t.Fatal(err)
		}
		first.Until(t, `"current_mode_update","currentModeId":"plan"`)
		first.Until(t, "config_option_update")

		// The other client's prompt is cancelled as well.
		if err := second.Send(promptLine(4, "hang")); err != nil {
			t.Fatal(err)
		}
		first.Until(t, "one moment")
		if err := first.Send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`); err != nil {
			t.Fatal(err)
		}
		second.Until(t, `"id":4,"result":{"stopReason":"cancelled"}`)
		stop1()
		stop2()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A permission without an answer is rejected when its time is over, and withdrawn.
func TestAnAnswerThatNeverComes(t *testing.T) {
	for configured, limit := range map[time.Duration]time.Duration{time.Minute: time.Minute, 0: time.Hour} {
		synctest.Test(t, func(t *testing.T) { nobodyAnswers(t, configured, limit) })
	}
}

func nobodyAnswers(t *testing.T, configured, limit time.Duration) {
	prof := &core.Profile{
		Agents: []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: act}}}, Toolboxes: []core.Toolbox{coretest.Tools{writeFile}},
		Policy: asks, AskTimeout: configured,
	}
	g := core.New(core.Config{
		Store: coretest.NewMemory(), NewID: func() string { return "s1" },
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
	peer, stop := serve(t, g)
	newSession(t, peer)
	if err := peer.Send(promptLine(2, "write a.txt")); err != nil {
		t.Fatal(err)
	}
	peer.Until(t, "session/request_permission")
	asked := time.Now()
	peer.Until(t, "$/cancel_request")
	if took := time.Since(asked); took != limit {
		t.Errorf("it was taken back after %v", took)
	}
	peer.Until(t, `"status":"failed"`)
	peer.Until(t, `"id":2,"result":{"stopReason":"end_turn"}`)
	stop()
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// An action of an agent's subagent is put to the user as a call of its own, which ends when it is
// decided.
func TestACallOfASubSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		about := core.Call{ID: "sub/c1", Tool: "write_file", Title: "helper: Write /w/b.txt", Kind: core.KindEdit, State: core.Awaiting}
		prof := &core.Profile{Policy: asks, Toolboxes: []core.Toolbox{questionTool{core.Ask{Text: "it changes a file", Call: about.ID, About: &about, Remember: "all"}}}}
		prof.Agents = []core.Agent{{Name: "code", Backend: &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			return core.StopEnd, invoke(ctx, turn, "task", "")
		}}}}
		g := core.New(core.Config{
			Store: coretest.NewMemory(), NewID: func() string { return "s1" },
			Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
		})
		peer, stop := serve(t, g)
		newSession(t, peer)
		if err := peer.Send(promptLine(2, "go")); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, `"sessionUpdate":"tool_call","toolCallId":"sub/c1","name":"write_file","title":"helper: Write /w/b.txt","kind":"edit","status":"pending"`)
		peer.Until(t, `"toolCall":{"toolCallId":"sub/c1","name":"write_file","title":"helper: Write /w/b.txt","kind":"edit","status":"pending"`)
		if err := peer.Send(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow_session"}}}`); err != nil {
			t.Fatal(err)
		}
		peer.Until(t, `"toolCallId":"sub/c1","status":"completed"`)
		peer.Until(t, "decided allow_session")
		peer.Until(t, `"id":2,"result":{"stopReason":"end_turn"}`)
		stop()
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// questionTool is a tool that puts a question to the user, as a task does.
type questionTool struct{ ask core.Ask }

func (a questionTool) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	return coretest.Tools{coretest.Tool{
		Is: core.Spec{Server: core.Native, Name: "task", Kind: core.KindThink},
		Runs: func(ctx context.Context, _ core.Invocation) (core.Result, error) {
			r, err := host.Ask(ctx, a.ask)
			return core.Result{Blocks: []core.Block{core.Text{Text: string(r.Outcome) + " " + string(r.Decision)}}}, err
		},
	}}, nil
}

// An answer that is no decision takes its client out alone: the other one stays asked, and may be the one
// that did not prompt. Cancelled ends the turn only if it comes from the client that prompted it.
func TestOneOfTwoClientsGivesNoDecision(t *testing.T) {
	const (
		failure   = `"error":{"code":-32601,"message":"no such method"}`
		cancelled = `"result":{"outcome":{"outcome":"cancelled"}}`
		unknown   = `"result":{"outcome":{"outcome":"selected","optionId":"yes_to_all"}}`
		yes       = `"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}`
		no        = `"result":{"outcome":{"outcome":"selected","optionId":"reject_once"}}`
	)
	for name, test := range map[string]struct {
		answers []string // by turns, of the client that prompted (P) and of the other one (O)
		shown   string
		stop    string
	}{
		"an error, then yes":       {[]string{"P" + failure, "O" + yes}, "Written.", "end_turn"},
		"an unknown answer, yes":   {[]string{"P" + unknown, "O" + yes}, "Written.", "end_turn"},
		"an error, then no":        {[]string{"O" + failure, "P" + no}, "rejected by the user", "end_turn"},
		"the other one cancels":    {[]string{"O" + cancelled, "P" + yes}, "Written.", "end_turn"},
		"who prompted cancels":     {[]string{"P" + cancelled}, "the turn was cancelled", "cancelled"},
		"both fail":                {[]string{"O" + failure, "P" + failure}, "rejected: it changes a file, and the client could not ask", "end_turn"},
		"the other cancels, last":  {[]string{"P" + failure, "O" + cancelled}, "; an ACP client: the question was cancelled", "end_turn"},
		"the other cancels, first": {[]string{"O" + cancelled, "P" + failure}, "an ACP client: the question was cancelled; an ACP client: the client could not ask", "end_turn"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway(coretest.NewMemory(), nil, true)
				prompts, stop1 := serve(t, g)
				other, stop2 := serve(t, g)
				newSession(t, prompts)
				if err := other.Send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`, resumeLine); err != nil {
					t.Fatal(err)
				}
				other.Until(t, `"id":1`)
				if err := prompts.Send(promptLine(2, "write a.txt")); err != nil {
					t.Fatal(err)
				}
				ids := map[byte]string{}
				clients := map[byte]*wiretest.Peer{'P': prompts, 'O': other}
				for c, p := range clients {
					_, id, _ := strings.Cut(p.Until(t, "session/request_permission"), `"id":`)
					ids[c], _, _ = strings.Cut(id, ",")
				}
				for i, a := range test.answers {
					if synctest.Wait(); i > 0 && clients[a[0]].Pending() {
						m, err := clients[a[0]].Next()
						t.Fatalf("after the first answer, the other client gets %s, %v", m, err)
					}
					if err := clients[a[0]].Send(`{"jsonrpc":"2.0","id":` + ids[a[0]] + `,` + a[1:] + `}`); err != nil {
						t.Fatal(err)
					}
				}
				prompts.Until(t, test.shown)
				prompts.Until(t, `"id":2,"result":{"stopReason":"`+test.stop+`"}`)
				stop1()
				stop2()
				if err := g.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
