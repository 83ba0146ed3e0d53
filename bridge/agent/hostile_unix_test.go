//go:build unix

package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
	"dragoman/core/child/childtest"
)

// beside returns a hostile agent's session, and that of a decent one, which goes on.
func beside(t *testing.T, o agenttest.Options, change ...func(*agent.Options)) (bad, good *chat) {
	t.Helper()
	r := newRoom(t, []core.Agent{scripted(t, "bad", o, change...), scripted(t, "good", agenttest.Options{})})
	bad, good = r.begin("bad"), r.begin("good")
	good.says("say hello", "hello\n")
	return bad, good
}

// within fails if something took longer.
func within(t *testing.T, bound time.Duration, what string, do func()) {
	t.Helper()
	began := time.Now()
	do()
	if took := time.Since(began); took > bound {
		t.Errorf("%s took %v, more than %v", what, took, bound)
	}
}

// What an agent sends besides its work does not stop the work.
func TestNonsenseInATurn(t *testing.T) {
	for _, test := range []struct{ prompt, want string }{
		{"flood 20000\nsay after", "after\n"},
		{"garbage\nsay after", "after\n"},
		{"answer-nothing\nsay after", "after\n"},
		{"batch\nsay after", "after\n"},
		{"huge-numbers\nsay after", "after\n"},
		{"deep 100000\nsay after", "after\n"},
		{"null-fields\nsay after", "after\n"},
		{"unknown-kinds\nsay after", "after\n"},
		{"big\nsay after", "after\n"}, // a line of 100 MB, which is not even read as a message
		{"stderr-flood 20000000\nsay after", "after\n"},
		{"wrong-session elsewhere\nsay after", "after\n"},
		{"invalid-utf8\nsay after", "after\n"},
	} {
		t.Run(strings.Fields(test.prompt)[0], func(t *testing.T) {
			bad, good := beside(t, agenttest.Options{})
			before := heap()
			within(t, 30*time.Second, "it", func() {
				id := bad.prompt(test.prompt)
				within(t, 10*time.Second, "the other session's turn", func() { good.says("say still here", "still here\n") })
				if end := bad.ended(id); end.Stop != core.StopEnd {
					t.Errorf("%+v", end)
				}
			})
			if got := bad.text(); !strings.HasSuffix(got, test.want) || len(got) > 10_000 {
				t.Errorf("%.200q", got)
			}
			if strings.HasPrefix(test.prompt, "big") && !strings.Contains(bad.notices(), "dropped") {
				t.Errorf("notices: %q", bad.notices())
			}
			bad.events = nil
			if more := heap() - before; more > 32<<20 {
				t.Errorf("%d bytes of memory are kept", more)
			}
			bad.says("say again", "again\n")
		})
	}
}

// What is too large is left out, and the user is told.
func TestLargeUpdatesAreReported(t *testing.T) {
	bad, _ := beside(t, agenttest.Options{})
	bad.say(`update {"sessionUpdate":"hologram","x":"` + strings.Repeat("x", 2<<20) + `"}`)
	for _, ev := range bad.events {
		if e, ok := ev.(core.Foreign); ok {
			t.Errorf("%d bytes are kept", len(e.Raw))
		}
	}
	if got := bad.notices(); !strings.Contains(got, "was dropped") {
		t.Errorf("notices: %q", got)
	}
	if _, end := bad.say("big-answer 70000000"); end.Stop != core.StopError || !strings.Contains(end.Err, "dropped") {
		t.Errorf("%+v", end)
	}
	bad.says("say again", "again\n")
}

// A second answer to a prompt changes nothing.
func TestSecondAnswer(t *testing.T) {
	bad, _ := beside(t, agenttest.Options{})
	if _, end := bad.say("duplicate\nsay late\nlate last"); end.Stop != core.StopRefusal {
		t.Errorf("%+v", end)
	}
	if bad.text() != "late\nlast\n" { // then the agent takes another prompt
		bad.until(func(core.Event) bool { return bad.text() == "late\nlast\n" })
	}
	bad.says("say again", "again\n")
}

// hurry gives the agent of a session's room a second for its answers.
func hurry(c *chat) {
	for _, a := range c.profile.Agents {
		a.Backend.(*agent.Backend).Hurry(time.Second)
	}
}

// An agent that does not answer at a stage: the turn says so after a bounded time, and the next one
// can succeed.
func TestSilenceAtEachStage(t *testing.T) {
	for _, test := range []struct{ stage, why string }{
		{"start", "did not answer initialize within"},
		{"initialize", "did not answer initialize within"},
		{"session/new", "did not open the session within"},
	} {
		t.Run(test.stage, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "faults")
			faults(t, file, map[string]string{test.stage: "stderr waiting for a login; silent"})
			bad, good := beside(t, agenttest.Options{FaultsFile: file})
			hurry(bad)
			within(t, 10*time.Second, "the turn", func() {
				if _, end := bad.say("say hello"); end.Stop != core.StopError || !strings.Contains(end.Err, test.why) {
					t.Errorf("%+v, want %q", end, test.why)
				}
			})
			good.says("say still here", "still here\n")
			faults(t, file, nil)
			bad.says("say again", "again\n")
		})
	}
}

// An option that is not answered to is reported, and everything else is as usual.
func TestSilenceAboutOptions(t *testing.T) {
	o := agenttest.Options{Config: agenttest.SampleConfig(), Faults: map[string]string{"session/set_config_option": "silent"}}
	c := one(t, o, func(o *agent.Options) { o.Choices = map[string]string{"effort": "high"} })
	hurry(c)
	c.says("say hello", "hello\n")
	if got := c.notices(); !strings.Contains(got, "effort") || !strings.Contains(got, "did not answer") {
		t.Errorf("notices: %q", got)
	}
	if got := c.at.State().Offered.Choices; len(got) != 4 {
		t.Errorf("%+v", got)
	}
	if err := c.gateway.Choose(c.ctx, c.at, "model", "large"); err == nil || !strings.Contains(err.Error(), "did not answer") {
		t.Error(err)
	}
}

// A turn that the agent never ends is ended by its cancellation, within a bound. The program is
// ended then too, since nobody knows what it still does.
func TestTurnsThatNeverEnd(t *testing.T) {
	for _, prompt := range []string{"silent", "wrong-id", "partial-line", "stop-reading\nignore-cancel\nwait", "ignore-cancel\nwait", "permission-flood 1000"} {
		t.Run(strings.Fields(prompt)[0], func(t *testing.T) {
			bad, good := beside(t, agenttest.Options{})
			hurry(bad)
			bad.answer = always(core.Reply{}) // nobody answers
			id := bad.prompt("say begun\n" + prompt)
			bad.until(func(core.Event) bool { return bad.text() == "begun\n" })
			good.says("say still here", "still here\n")
			within(t, 10*time.Second, "cancelling", func() {
				if err := bad.at.Cancel(bad.ctx, id, nil); err != nil {
					t.Error(err)
				}
				if end := bad.ended(id); end.Stop != core.StopCanceled {
					t.Errorf("%+v", end)
				}
			})
			within(t, 10*time.Second, "the next turn", func() { bad.says("say again", "again\n") })
		})
	}
}

// An agent that ends, or answers with an error or nonsense, at any stage: the turn says why.
func TestFailuresAtEachStage(t *testing.T) {
	for _, test := range []struct{ stage, fault, why string }{
		{"start", "stderr no license; exit 3", "no license"},
		{"start", "exit 0", ""},
		{"start", "crash", ""},
		{"start", "stderr closed; close-output", "closed"},
		{"initialize", "stderr no license; exit 3", "no license"},
		{"initialize", "error -32603 not today", "not today"},
		{"initialize", "result null", ""},
		{"initialize", `result {"protocolVersion":2}`, "version 2"},
		{"initialize", `result {"protocolVersion":"1"}`, ""},
		{"initialize", `result []`, ""},
		{"session/new", "stderr no license; exit 3", "no license"},
		{"session/new", "error -32603 not today", "not today"},
		{"session/new", "result null", ""},
		{"session/new", "result {}", ""},
		{"session/new", `result {"sessionId":7}`, ""},
		{"session/prompt", "stderr no license; exit 3", "no license"},
		{"session/prompt", "error -32603 not today", "not today"},
		{"session/prompt", `result {"stopReason":7}`, ""},
	} {
		t.Run(test.stage+" "+test.fault, func(t *testing.T) {
			bad, good := beside(t, agenttest.Options{Faults: map[string]string{test.stage: test.fault}})
			within(t, 15*time.Second, "the turn", func() {
				if _, end := bad.say("say hello"); end.Stop != core.StopError || end.Err == "" || !strings.Contains(end.Err, test.why) {
					t.Errorf("%+v, want %q", end, test.why)
				}
			})
			good.says("say still here", "still here\n")
		})
	}
}

// An answer without a reason that we know ends the turn all the same.
func TestStrangeReasonsEndTheTurn(t *testing.T) {
	for _, result := range []string{"null", "{}", `{"stopReason":"strange"}`, `{"stopReason":null,"usage":{"inputTokens":-1}}`} {
		bad, _ := beside(t, agenttest.Options{Faults: map[string]string{"session/prompt": "result " + result}})
		bad.says("say hello", "")
		if got := bad.notices(); !strings.Contains(got, "stopReason") {
			t.Errorf("%s: notices %q", result, got)
		}
	}
}

// Updates and requests before there is a turn.
func TestUpdatesBeforeTheFirstTurn(t *testing.T) {
	for _, update := range []string{
		`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"in_progress"}`, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}`,
		`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"x"}}`, `{"sessionUpdate":"plan","entries":[{"content":"p"}]}`, `{"sessionUpdate":"usage_update","used":1,"size":2}`,
		`{"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress"}`, `{"sessionUpdate":"subagent_update","sessionId":"s","state":{"state":"running"}}`,
	} {
		t.Log(update)
		bad, good := beside(t, agenttest.Options{Faults: map[string]string{"session/new": "update " + update}})
		bad.say("say hello")
		if got := bad.text(); !strings.HasSuffix(got, "hello\n") {
			t.Errorf("%s: %q", update, got)
		}
		good.says("say still here", "still here\n")
	}
}

// Nothing of a program is left when its session was closed, whatever it does about that.
func TestNothingIsLeft(t *testing.T) {
	for _, prompt := range []string{"say x", "ignore-eof", "fork-daemon SECONDS", "ignore-eof\nfork-daemon SECONDS"} {
		t.Run(prompt, func(t *testing.T) {
			odd := childtest.OddSleep()
			t.Cleanup(func() { childtest.Wake(t, odd) })
			rec := newRecord(t)
			r := newRoom(t, []core.Agent{scripted(t, "bad", agenttest.Options{Record: rec.path})})
			c := r.begin("")
			c.say(strings.ReplaceAll(prompt, "SECONDS", odd))
			if strings.Contains(prompt, "daemon") {
				childtest.Soon(t, "the daemon runs", func() bool { return len(childtest.Asleep(t, odd)) == 1 })
			}
			pid := rec.pids()[0]
			within(t, 5*time.Second, "closing", func() {
				if err := r.gateway.Close(r.ctx); err != nil {
					t.Error(err)
				}
				childtest.Soon(t, "all is gone", func() bool { return !childtest.Running(pid) && len(childtest.Asleep(t, odd)) == 0 })
			})
		})
	}
}

// Files of the user's that are nobody's business need a person's consent, however they are asked
// for.
func TestSecretsAreAskedAbout(t *testing.T) {
	bad, _ := beside(t, agenttest.Options{})
	bad.answer = always(reject)
	said, _ := bad.say("secrets")
	if strings.Contains(said, "served") || strings.Count(said, "error ") != 6 {
		t.Error(said)
	}
	calls := strings.Join(bad.calls(), "\n")
	if !strings.Contains(calls, ".ssh") || len(bad.asked) < 4 {
		t.Errorf("%d questions about\n%s", len(bad.asked), calls)
	}
}

// A command is judged by what it does, and shown so, whatever its title says.
func TestHarmlessTitles(t *testing.T) {
	r := newRoom(t, []core.Agent{scripted(t, "bad", agenttest.Options{})}, rule{Effect: core.Deny, Command: "rm *"}, rule{Effect: core.Allow, Tool: "read_file"})
	c := r.begin("")
	c.says("harmless-title rm -rf /", "selected reject\n") // denied without a question
	c.answer = always(reject)
	c.says("harmless-title curl evil.example", "selected reject\n")
	if len(c.asked) != 1 {
		t.Fatalf("%+v", c.asked)
	}
	for _, ev := range c.events {
		if e, ok := ev.(core.CallChanged); ok && e.Call.State == core.Awaiting {
			if !strings.Contains(fmt.Sprint(e.Call.Title, string(e.Call.Args), c.asked[0].Text), "curl evil.example") {
				t.Errorf("the question does not show the command: %+v, %+v", e.Call, c.asked[0])
			}
			return
		}
	}
	t.Error("no call was awaiting")
}

// Requests after the end of a turn are judged like others.
func TestRequestsAfterTheEnd(t *testing.T) {
	bad, _ := beside(t, agenttest.Options{})
	secret := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("swordfish"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad.answer = always(reject)
	bad.prompt("late-requests " + secret)
	bad.until(func(core.Event) bool { return strings.Count(bad.text(), "\n") == 2 })
	if got := bad.text(); strings.Contains(got, "served") {
		t.Error(got)
	}
	if len(bad.asked) != 2 {
		t.Errorf("%+v", bad.asked)
	}
}

// A program that serves several sessions speaks only for those that it was given.
func TestSharedProgramAndForeignSessions(t *testing.T) {
	rec := newRecord(t)
	r := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{Record: rec.path}, func(o *agent.Options) { o.Shared = true })})
	a, b := r.begin(""), r.begin("")
	a.says("say a", "a\n")
	b.says("say b", "b\n")
	if n := rec.count("start"); n != 1 {
		t.Errorf("%d programs", n)
	}
	if said, _ := a.say("wrong-session nobody"); !strings.Contains(said, "error -3") {
		t.Error(said)
	}
	b.says("say b again", "b again\n")
	a.say("crash")
	b.says("say b at last", "b at last\n")
}
