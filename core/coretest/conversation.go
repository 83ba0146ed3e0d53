package coretest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"dragoman/core"
)

// StopHere is the last output of a turn of Conversation that the user stops: the turn is stopped when
// it is shown.
const StopHere = "stop here\n"

// Conversation returns the log of a random session: turns with everything that agents do, in an order
// that is possible, and texts that are awkward now and then. A seed always has the same log. The turn of
// a call that is running when the user stops it ends with StopHere.
func Conversation(seed uint64, turns int) []core.Event {
	s := &script{r: rand.New(rand.NewPCG(seed, 20260102)), now: epoch0}
	s.add(core.Opened{Meta: core.Meta{ID: "s1", Principal: core.Local, Cwd: "/w", Roots: []string{"/w"}, Created: epoch0}})
	for range turns {
		s.turn()
	}
	return s.events
}

// script is a log that grows.
type script struct {
	r      *rand.Rand
	now    time.Time
	events []core.Event
	n      int // of the ids
	id     core.TurnID
	total  core.Usage
}

func (s *script) add(events ...core.Event) {
	s.now = s.now.Add(time.Duration(1+s.r.IntN(3000)) * time.Millisecond)
	s.events = append(s.events, events...)
}

func (s *script) new(kind string) string {
	s.n++
	return fmt.Sprintf("%s%d", kind, s.n)
}

// odds reports whether something happens that does so once in n times.
func (s *script) odds(n int) bool { return s.r.IntN(n) == 0 }

func pick[T any](s *script, list ...T) T { return list[s.r.IntN(len(list))] }

// words returns a text of a few words. One in eight is awkward.
func (s *script) words() string {
	if s.odds(8) {
		return "awkward: " + strings.NewReplacer("\x00", "", "\r", "", "\x1b", "", "\ufeff", "").Replace(Awkward)
	}
	list := []string{"look", "at", "the", "file", "and", "*bold*", "`code`", "then", "größer", "再见", "1.5", "run", "it", "…"}
	text := make([]string, 1+s.r.IntN(7))
	for i := range text {
		text[i] = pick(s, list...)
	}
	return strings.Join(text, " ")
}

func (s *script) turn() {
	s.id = core.TurnID(s.new("t"))
	s.add(core.TurnStarted{
		Turn: s.id, Message: core.MessageID(s.new("m")), Origin: core.Origin{Client: "editor", Principal: core.Local}, Prompt: s.prompt(),
	})
	for range 1 + s.r.IntN(6) {
		s.step()
	}
	switch s.r.IntN(8) {
	case 0:
		s.stopped()
		s.add(core.TurnEnded{Turn: s.id, Stop: core.StopCanceled})
	case 1:
		s.add(core.TurnEnded{Turn: s.id, Stop: core.StopError, Err: "the model is overloaded: try again"})
	case 2:
		s.add(core.TurnEnded{Turn: s.id, Stop: pick(s, core.StopTokens, core.StopRequests)})
	default:
		s.text()
		s.add(core.TurnEnded{Turn: s.id, Stop: core.StopEnd})
	}
}

func (s *script) prompt() []core.Block {
	list := []core.Block{core.Text{Text: s.words()}}
	for s.odds(3) {
		list = append(list, pick[core.Block](s, s.media(), core.Text{Text: s.words()}))
	}
	return list
}

func (s *script) media() core.Block {
	return pick[core.Block](
		s,
		core.Link{URI: "https://example.com/a?b=<c>", Name: "page", Title: "A page", Description: "about it", MIME: "text/html", Size: 12},
		core.Image{MIME: "image/png", Data: []byte("\x89PNG" + s.words())},
		core.Audio{MIME: "audio/wav", Data: []byte("RIFF" + s.words())},
		core.Resource{URI: "file:///w/a.txt", MIME: "text/plain", Text: s.words()},
		core.Resource{URI: "file:///w/a.bin", MIME: "application/octet-stream", Blob: []byte(s.words())},
	)
}

// step is one thing that an agent does.
func (s *script) step() {
	switch s.r.IntN(15) {
	case 0, 1:
		s.text()
	case 2:
		s.thought()
	case 3, 4, 5, 6:
		s.call()
	case 7:
		s.plan()
	case 8:
		s.usage()
	case 9:
		s.add(core.Notice{Severity: pick(s, core.Info, core.Warning, core.Failure), Text: s.words()})
	case 10:
		s.add(pick[core.Event](
			s,
			core.FellBack{Turn: s.id, Model: "groq/x", Instead: "openai/y", Reason: "overloaded"},
			core.Instructed{Turn: s.id, File: "/w/sub/AGENTS.md", Text: s.words()},
		))
	case 11:
		s.add(core.Phase{Turn: s.id, Kind: core.PhaseCompacting}, core.Compacted{Turn: s.id, Summary: s.words(), Auto: true, Before: 9000, After: 900})
	case 12:
		m := core.MessageID(s.new("m"))
		s.add(core.TextDelta{Message: m, Text: s.words()}, core.Cited{Message: m, Link: core.Link{URI: "https://example.com/" + s.new("p"), Title: "A source"}})
	case 14:
		s.question()
	case 13:
		s.add(core.Steered{
			Turn: s.id, Message: core.MessageID(s.new("m")), Origin: core.Origin{Client: "editor", Principal: core.Local},
			Prompt: []core.Block{core.Text{Text: s.words()}},
		})
	}
}

func (s *script) text() {
	m := core.MessageID(s.new("m"))
	for range 1 + s.r.IntN(3) {
		s.add(core.TextDelta{Message: m, Text: s.words() + pick(s, " ", "\n", "\n\n")})
	}
}

func (s *script) thought() {
	h := core.ThoughtID(s.new("h"))
	s.add(core.ThoughtStarted{Thought: h})
	for range 1 + s.r.IntN(2) {
		s.add(core.ThoughtDelta{Thought: h, Text: s.words() + " "})
	}
	s.add(core.ThoughtEnded{Thought: h, Took: time.Duration(s.r.IntN(9000)) * time.Millisecond})
}

func (s *script) plan() {
	var list []core.PlanEntry
	for range 1 + s.r.IntN(3) {
		list = append(list, core.PlanEntry{
			Text: s.words(), Status: pick(s, core.PlanPending, core.PlanActive, core.PlanDone), Priority: pick(s, "", "high", "medium", "low"),
		})
	}
	s.add(core.PlanChanged{Entries: list})
}

func (s *script) usage() {
	cost := float64(s.r.IntN(1000)) / 1000
	last := core.Usage{In: 20 + s.r.IntN(1000), Out: 1 + s.r.IntN(100), CacheRead: s.r.IntN(10), CacheWrite: s.r.IntN(10), Reasoning: s.r.IntN(10), Cost: &cost}
	s.total = s.total.Add(last)
	s.add(core.UsageChanged{
		Turn: s.id, Last: last, Total: s.total, Model: "offline/demo", Context: last.In + last.Out, Window: 200_000,
		Shares: []core.Share{{Part: "messages", Tokens: last.In}}, CompactAt: 80,
	})
}

// newCall returns a call of one of a few tools, with what it would do.
func (s *script) newCall() core.Call {
	c := core.Call{ID: core.CallID(s.new("c")), Turn: s.id, Server: core.Native, State: core.Proposed}
	args := func(v map[string]any) {
		b, err := json.Marshal(v)
		if err == nil {
			c.Args = b
		}
	}
	switch s.r.IntN(5) {
	case 0:
		c.Tool, c.Kind, c.Title = "edit_file", core.KindEdit, "Edit a.txt (+1 −1)"
		args(map[string]any{"path": "a.txt", "new": s.words()})
		c.Locations = []core.Location{{Path: "/w/a.txt", Line: 1 + s.r.IntN(90)}}
		c.Content = []core.Block{core.Diff{
			Path: "/w/a.txt", Old: s.words() + "\n", New: s.words() + "\n", Created: s.odds(3), Patch: "@@ -1 +1 @@\n-one\n+two\n", Added: 1, Removed: 1,
		}}
		if d, ok := c.Content[0].(core.Diff); ok && d.Created {
			d.Old = ""
			c.Content[0] = d
		}
	case 1:
		c.Tool, c.Kind, c.Title = "shell_command", core.KindExecute, "Run `make test`"
		args(map[string]any{"command": "make test"})
	case 2:
		c.Tool, c.Kind, c.Title = "read_file", core.KindRead, "Read a.go"
		args(map[string]any{"path": "a.go"})
		c.Locations = []core.Location{{Path: "/w/a.go"}}
	case 3:
		c.Server, c.Tool, c.Kind, c.Title = "weather", "forecast", core.KindFetch, "Forecast for "+s.words()
		args(map[string]any{"city": s.words(), "days": s.r.IntN(9)})
	case 4:
		c.Server, c.Tool, c.Title = "db", "query", "Query "+s.new("n")
		c.Kind = pick(s, core.KindOther, core.KindSearch, core.KindDelete, core.KindMove, core.KindThink)
	}
	return c
}

// change adds a call as it is now.
func (s *script) change(c core.Call) { s.add(core.CallChanged{Call: c}) }

// propose adds a call up to the moment in which it is decided about.
func (s *script) propose(c core.Call) {
	first := c
	if s.odds(2) {
		first.Args, first.Content, first.Locations = nil, nil, nil
		s.change(first)
		for rest := string(c.Args); rest != ""; {
			n := min(len(rest), 1+s.r.IntN(20))
			s.add(core.CallArgs{Call: c.ID, Text: strings.ToValidUTF8(rest[:n], "?")})
			rest = rest[n:]
		}
	}
	s.change(c)
}

// call is the whole life of a call.
func (s *script) call() {
	c := s.newCall()
	s.propose(c)
	c.Why = "a rule allows it"
	switch s.r.IntN(6) {
	case 0:
		if !s.approved(&c) {
			return
		}
	case 1: // it could not run
		c.State, c.Why, c.End = core.Errored, "there is no "+s.words(), s.now
		c.Content = []core.Block{core.Text{Text: c.Why}}
		s.change(c)
		return
	}
	s.run(&c)
	c.End = s.now
	if s.odds(4) {
		c.State, c.Why = core.Errored, "it failed: exit code 1"
		c.Content = append(c.Content[:len(c.Content):len(c.Content)], core.Text{Text: s.words()})
	} else {
		c.State = core.Succeeded
		c.Content = append(c.Content[:len(c.Content):len(c.Content)], s.results()...)
		if s.odds(3) {
			c.Output = json.RawMessage(`{"n":` + fmt.Sprint(s.r.IntN(99)) + `}`)
		}
	}
	s.change(c)
}

func (s *script) results() []core.Block {
	list := []core.Block{core.Text{Text: s.words() + pick(s, "", "\nanother line")}}
	for s.odds(4) {
		list = append(list, s.media())
	}
	return list
}

// run adds that a call runs, with its output.
func (s *script) run(c *core.Call) {
	c.State, c.Start = core.Running, s.now
	s.change(*c)
	if c.Kind == core.KindExecute || s.odds(5) {
		for range s.r.IntN(4) {
			s.add(core.CallOutput{Call: c.ID, Text: s.words() + "\n"})
			if s.odds(2) {
				s.add(core.Notice{Severity: core.Info, Text: s.words()})
			}
		}
	}
}

// approved asks about a call, and reports whether it may run.
func (s *script) approved(c *core.Call) bool {
	c.State, c.Why = core.Awaiting, "it changes a file"
	s.change(*c)
	ask := core.Ask{
		ID: core.AskID(s.new("q")), Kind: core.AskApproval, Turn: s.id, Call: c.ID, Text: c.Why, Deadline: epoch0.Add(time.Hour), Remember: "changes",
	}
	d := pick(s, core.AllowOnce, core.AllowSession, core.RejectOnce)
	reply := core.Reply{Outcome: core.OutcomeDecided, Decision: d, By: "editor"}
	if s.odds(3) { // an agent's own answers
		ask.Remember = ""
		ask.Options = []core.Option{
			{ID: "yes", Label: "Yes, " + s.words(), Decision: core.AllowOnce},
			{ID: "all", Label: "Yes, and do not ask again", Decision: core.AllowSession},
			{ID: "no", Label: "No", Decision: core.RejectOnce},
			{ID: "never", Label: "No, never", Decision: core.RejectAlways},
		}
		reply.Option = map[core.Decision]string{core.AllowOnce: "yes", core.AllowSession: "all", core.RejectOnce: "no"}[d]
	}
	s.add(core.Asked{Ask: ask}, core.Answered{Ask: ask.ID, Reply: reply})
	if d.Allows() {
		c.Why = "allowed by editor"
		return true
	}
	c.State, c.Why, c.End = core.Rejected, "rejected by editor", s.now
	s.change(*c)
	return false
}

// question is one that the agent asks: with options, or in the user's own words.
func (s *script) question() {
	ask := core.Ask{ID: core.AskID(s.new("q")), Kind: core.AskQuestion, Turn: s.id, Text: s.words() + "?", Deadline: epoch0.Add(time.Hour)}
	reply := core.Reply{Outcome: core.OutcomeAnswered, By: "editor"}
	if s.odds(2) {
		ask.Options = []core.Option{{ID: "a", Label: "This", Description: "the first"}, {ID: "b", Label: "That"}}
		reply.Option = pick(s, "a", "b")
	} else {
		ask.Freeform, reply.Text = true, "my own words"
	}
	s.add(core.Asked{Ask: ask}, core.Answered{Ask: ask.ID, Reply: reply})
}

// stopped is a call that the user stops.
func (s *script) stopped() {
	c := core.Call{
		ID: core.CallID(s.new("c")), Turn: s.id, Server: core.Native, Tool: "shell_command", Kind: core.KindExecute, State: core.Proposed,
		Title: "Run `sleep 60`", Args: json.RawMessage(`{"command":"sleep 60"}`),
	}
	s.propose(c)
	c.State, c.Why, c.Start = core.Running, "a rule allows it", s.now
	s.change(c)
	s.add(core.CallOutput{Call: c.ID, Text: StopHere})
	c.State, c.Why, c.End = core.Canceled, "stopped by the user", s.now
	c.Content = []core.Block{core.Text{Text: StopHere}}
	s.change(c)
}
