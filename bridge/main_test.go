package bridge_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/adapters/acp"
	"dragoman/adapters/eca"
	"dragoman/bridge/agent"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/ecaserver"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/codec"
	"dragoman/core/coretest"
	"dragoman/core/notices"
)

// Variables of a process that is a gateway in a stack: the protocols from it downwards, of which the first
// is its own, the file with the turns that the last one plays, and all protocols that a prompt has passed.
const (
	stackVar  = "DRAGOMAN_TEST_STACK"
	turnsVar  = "DRAGOMAN_TEST_TURNS"
	passedVar = "DRAGOMAN_TEST_PASSED"
)

// fronts serve a protocol over standard input and output.
var fronts = map[string]func(ctx context.Context, g *core.Gateway) error{
	"acp": func(ctx context.Context, g *core.Gateway) error {
		return acp.New(acp.Options{Gateway: g, Principal: core.Local, Logins: noLogins{}}).Serve(ctx, os.Stdin, os.Stdout)
	},
	"eca": func(ctx context.Context, g *core.Gateway) error {
		err := eca.New(eca.Options{Gateway: g, Principal: core.Local}).Serve(ctx, os.Stdin, os.Stdout)
		if errors.Is(err, eca.ErrNoShutdown) { // the gateway above has ended it
			return nil
		}
		return err
	},
}

// noLogins are the logins of an agent that has none. With them the gateway takes what its agent takes.
type noLogins struct{ acp.Logins }

func (noLogins) External() (names []string, first string) { return []string{below}, below }

func (noLogins) Methods(string) (list []acp.Login, wanted, known bool) { return nil, false, true }

func (noLogins) Status(context.Context, string) (s acp.AuthStatus) { return s }

// backs are agents that speak a protocol.
var backs = map[string]func(o launch.Options) core.Backend{
	"acp": func(o launch.Options) core.Backend { return agent.New(o) },
	"eca": func(o launch.Options) core.Backend { return ecaserver.New(ecaserver.Options{Options: o}) },
}

// below is the name of the agent of a gateway that has another one behind it.
const below = "below"

func TestMain(m *testing.M) {
	if stack := os.Getenv(stackVar); stack != "" {
		if err := layer(strings.Split(stack, ","), os.Getenv(turnsVar)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			syscall.Exit(1)
		}
		syscall.Exit(0) // the race detector would wait for a second
	}
	os.Exit(m.Run())
}

// layer runs a gateway of a stack until its client leaves.
func layer(stack []string, file string) error {
	ctx := context.Background()
	var host core.Host
	back, err := beneath(stack[1:], file, func(_, text string) { fmt.Fprintln(os.Stderr, text) })
	if len(stack) == 1 {
		var turns [][]core.Event
		turns, err = read(file)
		back = player{&host, turns, strings.Split(os.Getenv(passedVar), ",")}
	}
	if err != nil {
		return err
	}
	g := gateway(back)
	err = fronts[stack[0]](ctx, g)
	return errors.Join(err, g.Close(ctx))
}

// beneath returns the agent of a gateway that has a stack behind it, which is this program, with some
// variables; nil for an empty one.
func beneath(stack []string, file string, log func(level, text string)) (core.Backend, error) {
	if len(stack) == 0 {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	passed := cmp.Or(os.Getenv(passedVar), strings.Join(stack, ","))
	env := map[string]string{stackVar: strings.Join(stack, ","), turnsVar: file, passedVar: passed}
	return backs[stack[0]](launch.Options{
		Name: below,
		Program: func(context.Context, core.Host) (launch.Program, error) {
			return launch.Program{Path: self, Env: env}, nil
		},
		Pool: launch.NewPool(), Guards: &child.Guards{}, Version: "test", Log: log,
	}), nil
}

// gateway returns a gateway with an agent, whose user is asked about every call that its agent asks about.
func gateway(back core.Backend) *core.Gateway {
	profile := &core.Profile{
		Agents: []core.Agent{{Name: below, Rev: "1", External: true, Backend: back}},
		Policy: coretest.Always(core.Verdict{Effect: core.MustAsk, Why: "it changes a file", Remember: "all", RememberText: "changes"}),
	}
	return core.New(core.Config{
		Store:    coretest.NewMemory(),
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return profile, nil }),
	})
}

// write stores turns in a file, and returns its path.
func write(t *testing.T, turns [][]core.Event) string {
	t.Helper()
	var out []byte
	for _, turn := range turns {
		var e codec.Encoder
		for _, r := range coretest.Records(1, turn...) {
			out = append(e.Append(out, r), '\n')
		}
	}
	path := filepath.Join(t.TempDir(), "turns")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns the turns of a file.
func read(file string) ([][]core.Event, error) {
	data, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	events, err := decoded(data)
	return turnsOf(events), err
}

// decoded reads records, one a line.
func decoded(data []byte) (events []core.Event, err error) {
	var d codec.Decoder
	for line := range bytes.Lines(data) {
		r, err := d.Decode(bytes.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		events = append(events, r.Event)
	}
	return events, nil
}

// turnsOf splits a log into its turns.
func turnsOf(events []core.Event) (turns [][]core.Event) {
	for _, ev := range events {
		if _, begins := ev.(core.TurnStarted); begins {
			turns = append(turns, nil)
		}
		if len(turns) > 0 {
			turns[len(turns)-1] = append(turns[len(turns)-1], ev)
		}
	}
	return turns
}

// noticeOf returns an event as a notice, if that is what all protocols make of it.
func noticeOf(ev core.Event) (n core.Notice, ok bool) {
	switch ev.(type) {
	case core.Notice, core.Missing, core.FellBack, core.Instructed, core.Briefed:
		return notices.Of(ev)
	}
	return core.Notice{}, false
}

// continues adds the costs before to the totals of a conversation, for an agent's costs only grow, and returns
// those after it.
func continues(conversation []core.Event, before float64) (after float64) {
	after = before
	for i, ev := range conversation {
		if e, ok := ev.(core.UsageChanged); ok && e.Total.Cost != nil {
			after = before + *e.Total.Cost
			e.Total.Cost = new(after)
			conversation[i] = e
		}
	}
	return after
}

// player is an agent that plays turns: the one whose number the prompt begins with.
type player struct {
	host   *core.Host
	turns  [][]core.Event
	passed []string // the protocols that a prompt has passed
}

func (player) Caps(context.Context) (core.BackendCaps, error) {
	return core.BackendCaps{Images: true, Audio: true, Resources: true}, nil
}

func (p player) Open(_ context.Context, b core.Binding) (core.Conversation, error) {
	*p.host = b.Host
	return p, nil
}

func (player) Set(context.Context, core.Settings) error { return nil }

func (player) Close(context.Context) error { return nil }

// numbered puts the number of a turn in front of its prompt.
func numbered(n int, prompt []core.Block) []core.Block {
	return append([]core.Block{core.Text{Text: fmt.Sprintf("turn %d: ", n)}}, prompt...)
}

// Run implements core.Conversation.
func (p player) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	n := -1
	if first, ok := t.Prompt()[0].(core.Text); ok {
		_, _ = fmt.Sscanf(first.Text, "turn %d", &n) // else it is another prompt
	}
	if n < 0 || n >= len(p.turns) {
		return core.StopEnd, nil
	}
	asked := map[core.CallID]bool{}
	for _, ev := range p.turns[n] {
		switch e := own(ev, t.ID(), n).(type) {
		case core.TurnStarted:
			e.Prompt = numbered(n, e.Prompt)
			want, got := prompted(e.Prompt, p.passed), prompted(t.Prompt(), p.passed)
			if want != got {
				if err := t.Emit(ctx, core.Notice{Severity: core.Failure, Text: "The prompt was " + got + ", and not " + want}); err != nil {
					return "", err
				}
			}
		case core.TurnEnded:
			switch {
			case e.Stop == core.StopCanceled: // the user stops it
				<-ctx.Done()
				return "", context.Cause(ctx)
			case e.Err != "":
				return e.Stop, errors.New(e.Err)
			}
			return e.Stop, nil
		case core.CallChanged:
			c := e.Call
			switch {
			case c.State == core.Awaiting:
				c.State = core.Proposed
				reply, err := (*p.host).Authorize(ctx, core.Request{
					Call: c, Spec: core.Spec{Server: c.Server, Name: c.Tool, Kind: c.Kind}, Options: p.options(n, ev),
				})
				if err != nil {
					return "", err
				}
				asked[c.ID] = reply.Decision.Allows()
			case c.State == core.Running && asked[c.ID], c.State == core.Rejected, c.State == core.Canceled: // core says so itself
			default:
				if err := t.Emit(ctx, e); err != nil {
					return "", err
				}
			}
		case core.Asked:
			if e.Ask.Kind == core.AskQuestion {
				e.Ask.ID, e.Ask.Turn, e.Ask.Deadline = "", t.ID(), time.Time{}
				if err := p.ask(ctx, t, e.Ask, n); err != nil {
					return "", err
				}
			}
		case core.Opened, core.Answered, core.Steered: // core's own
		default:
			if err := t.Emit(ctx, e); err != nil {
				return "", err
			}
		}
	}
	return core.StopEnd, nil
}

// options returns the answers that the nth turn offers about a call.
func (p player) options(n int, call core.Event) []core.Option {
	for _, ev := range p.turns[n] {
		changed, _ := call.(core.CallChanged)
		if e, ok := ev.(core.Asked); ok && e.Ask.Call == changed.Call.ID && e.Ask.Kind == core.AskApproval {
			return e.Ask.Options
		}
	}
	return nil
}

// ask asks a question of the nth turn, and reports if the answer is not that of the turn.
func (p player) ask(ctx context.Context, t *core.Turn, a core.Ask, n int) error {
	got, err := t.Ask(ctx, a)
	if err != nil {
		return err
	}
	for _, ev := range p.turns[n] {
		if e, ok := ev.(core.Answered); ok && e.Reply.Outcome == got.Outcome && e.Reply.Option == got.Option && e.Reply.Text == got.Text {
			return nil
		}
	}
	return t.Emit(ctx, core.Notice{Severity: core.Failure, Text: fmt.Sprintf("Nobody has answered %q with %+v", a.Text, got)})
}

// own returns an event of the nth turn as one of a turn that runs: with its id, and ids of calls, messages and
// thoughts that no other turn has.
func own(ev core.Event, turn core.TurnID, n int) core.Event {
	id := func(s string) string { return fmt.Sprintf("%d-%s", n, s) }
	switch e := any(ev).(type) {
	case core.TextDelta:
		e.Message = core.MessageID(id(string(e.Message)))
		return e
	case core.Cited:
		e.Message = core.MessageID(id(string(e.Message)))
		return e
	case core.ThoughtStarted:
		e.Thought = core.ThoughtID(id(string(e.Thought)))
		return e
	case core.ThoughtDelta:
		e.Thought = core.ThoughtID(id(string(e.Thought)))
		return e
	case core.ThoughtEnded:
		e.Thought = core.ThoughtID(id(string(e.Thought)))
		return e
	case core.CallChanged:
		e.Call.ID, e.Call.Turn = core.CallID(id(string(e.Call.ID))), turn
		return e
	case core.CallArgs:
		e.Call = core.CallID(id(string(e.Call)))
		return e
	case core.CallOutput:
		e.Call = core.CallID(id(string(e.Call)))
		return e
	case core.UsageChanged:
		e.Turn = turn
		return e
	case core.Phase:
		e.Turn = turn
		return e
	case core.FellBack:
		e.Turn = turn
		return e
	case core.Instructed:
		e.Turn = turn
		return e
	case core.Compacted:
		e.Turn = turn
		return e
	}
	return ev
}

// prompted describes a prompt, without what the protocols do not carry that it has passed.
func prompted(blocks []core.Block, passed []string) string {
	for _, protocol := range passed {
		if arrives := arrives[protocol]; arrives != nil {
			blocks = arrives(blocks)
		}
	}
	var list []string
	for _, b := range blocks {
		line, err := json.Marshal(b)
		list = append(list, fmt.Sprintf("%T %s %v", b, line, err))
	}
	return strings.Join(list, "; ")
}
