package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/acp"
	"dragoman/bridge/agent"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/codec"
	"dragoman/core/coretest"
)

// playsVar is the variable of a process that is a gateway with an agent that plays the events of a
// file, and speaks ACP.
const playsVar = "PLAYS_EVENTS"

// lost are the events that ACP cannot carry as they are, and why. Of the others it cannot carry:
//
//   - ids: each gateway makes its own.
//   - ThoughtEnded.Took, Sealed: version 1 has neither times nor data of a provider.
//   - Call.Server, Why, Start, End: version 1 says neither whose tool it is, nor who decided, nor
//     when; the top notes its own.
//   - Call.State canceled: version 1 has only failed; in a stopped turn the top says canceled itself.
//   - Call.Title of a command: version 1 shows the command line alone.
//   - The output of a call: version 1 has texts, in which it is fenced as code.
//   - The words of a call's result beside a diff: clients show the diff, and are sent it alone.
//   - Diff.Patch, Added, Removed: version 1 has the texts.
//   - UsageChanged: version 1 has the size of the context and the cost in an update; tokens in and
//     out come with the answer to the prompt, and are a second event.
//   - TurnEnded.Err: the words stay, with the method in front of them.
var lost = map[string]string{
	"Opened":   "each gateway has a log of its own",
	"CallArgs": "version 1 has no arguments that are still being written; the call has them whole",
	"FellBack": "version 1 has no message for a change of the model; it arrives as a notice",
	"Asked":    "a question is asked again at the top, by its own policy and in its own words",
	"Answered": "as Asked",
}

// play runs the gateway behind the gateway: its agent plays the events of a file.
func play(file string) int {
	ctx := context.Background()
	ar, err := txtar.ParseFile(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	records, err := parsed(ar.Files[0].Data)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var host core.Host
	profile := &core.Profile{
		Agents: []core.Agent{{Name: "player", Rev: "1", Backend: player{&host, records}}},
		Policy: coretest.Always(core.Verdict{Effect: core.MustAsk, Why: "it changes a file", Remember: "all", RememberText: "changes"}),
	}
	g := core.New(core.Config{
		Store:    coretest.NewMemory(),
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return profile, nil }),
	})
	err = acp.New(acp.Options{Gateway: g, Principal: core.Local}).Serve(ctx, os.Stdin, os.Stdout)
	if err = errors.Join(err, g.Close(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func parsed(data []byte) (records []core.Record, err error) {
	var d codec.Decoder
	for line := range bytes.Lines(data) {
		r, err := d.Decode(bytes.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// player is a back end that plays events.
type player struct {
	host    *core.Host
	records []core.Record
}

func (player) Caps(context.Context) (core.BackendCaps, error) { return core.BackendCaps{}, nil }

func (p player) Open(_ context.Context, b core.Binding) (core.Conversation, error) {
	*p.host = b.Host
	return p, nil
}

func (player) Set(context.Context, core.Settings) error { return nil }

func (player) Close(context.Context) error { return nil }

// Run implements core.Conversation.
func (p player) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	asked := map[core.CallID]bool{}
	for _, r := range p.records {
		switch e := r.Event.(type) {
		case core.TurnEnded:
			if e.Stop == core.StopCanceled { // the user stops it
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			if e.Err != "" {
				return e.Stop, errors.New(e.Err)
			}
			return e.Stop, nil
		case core.CallChanged:
			c := e.Call
			c.Turn = t.ID()
			switch {
			case c.State == core.Awaiting:
				asked[c.ID] = true
				c.State = core.Proposed
				spec := core.Spec{Server: c.Server, Name: c.Tool, Kind: c.Kind}
				reply, err := (*p.host).Authorize(ctx, core.Request{Call: c, Spec: spec})
				if err != nil {
					return "", err
				}
				asked[c.ID] = reply.Decision.Allows()
			case c.State == core.Running && asked[c.ID], c.State == core.Rejected, c.State == core.Canceled: // core says so itself
			default:
				if err := t.Emit(ctx, core.CallChanged{Call: c}); err != nil {
					return "", err
				}
			}
		case core.UsageChanged:
			e.Turn = t.ID()
			if err := t.Emit(ctx, e); err != nil {
				return "", err
			}
		case core.Opened, core.TurnStarted, core.Asked, core.Answered, core.TitleChanged:
		default:
			if err := t.Emit(ctx, e); err != nil {
				return "", err
			}
		}
	}
	return core.StopEnd, nil
}

// A gateway behind a gateway, over ACP: every conversation of the golden files has the same events
// at the top as below, but for what ACP cannot carry.
func TestGatewayBehindAGateway(t *testing.T) {
	files, err := filepath.Glob("../../adapters/testdata/rosetta/*.txtar")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			below, err := parsed(ar.Files[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			abs, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			back := agent.New(agent.Options{
				Name: "below",
				Program: func(context.Context, core.Host) (agent.Program, error) {
					return agent.Program{Path: self, Env: map[string]string{playsVar: abs, "RUNS_TESTS": "1"}}, nil
				},
				Pool: agent.NewPool(), Guards: &child.Guards{}, Version: "test",
				Log: func(level, text string) { t.Logf("%s: %s", level, text) },
			})
			r := newRoom(t, []core.Agent{{Name: "below", Rev: "1", External: true, Backend: back}})
			c := r.begin("")
			replies := answersOf(below)
			c.answer = func(a core.Ask) core.Reply {
				if len(replies) == 0 {
					t.Errorf("unexpected question: %+v", a)
					return reject
				}
				reply := replies[0]
				replies = replies[1:]
				if reply.Outcome == core.OutcomeCanceled { // the turn is stopped instead
					if err := c.at.Cancel(c.ctx, "", core.ErrCanceled); err != nil {
						t.Error(err)
					}
					return core.Reply{}
				}
				for _, o := range a.Options { // the list of the gateway below
					if o.Decision == reply.Decision {
						reply.Option = o.ID
					}
				}
				return reply
			}
			id := c.prompt(promptOf(below))
			if stops(below) && len(replies) == 0 {
				c.until(func(ev core.Event) bool { return lastBeforeStop(ev) })
				if err := c.at.Cancel(c.ctx, id, core.ErrCanceled); err != nil {
					t.Fatal(err)
				}
				before := c.events
				c.ended(id)
				c.events = append(before[:len(before):len(before)], c.events[len(before):]...)
			} else {
				c.ended(id)
			}
			var want []core.Event
			for _, rec := range below {
				want = append(want, rec.Event)
			}
			if got, want := told(t, c.events), told(t, want); !slices.Equal(got, want) {
				t.Errorf("at the top:\n%s\nbelow:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// answersOf lists the answers to approvals in a conversation.
func answersOf(records []core.Record) (list []core.Reply) {
	for _, r := range records {
		if e, ok := r.Event.(core.Answered); ok {
			list = append(list, e.Reply)
		}
	}
	return list
}

// promptOf returns the text of a conversation's first message.
func promptOf(records []core.Record) string {
	for _, r := range records {
		if e, ok := r.Event.(core.TurnStarted); ok {
			for _, b := range e.Prompt {
				if text, ok := b.(core.Text); ok {
					return text.Text
				}
			}
		}
	}
	return "go"
}

// stops reports whether the user stops the turn.
func stops(records []core.Record) bool {
	e, ok := records[len(records)-1].Event.(core.TurnEnded)
	return ok && e.Stop == core.StopCanceled
}

// lastBeforeStop reports whether an event is the output after which the user stops the turn.
func lastBeforeStop(ev core.Event) bool {
	_, ok := ev.(core.CallOutput)
	return ok
}

// told describes events without what ACP cannot carry.
func told(t *testing.T, events []core.Event) (list []string) {
	t.Helper()
	ids := map[string]string{}
	named := func(kind, id string) string {
		if ids[kind+id] == "" {
			ids[kind+id] = fmt.Sprintf("%s%d", kind, len(ids)+1)
		}
		return ids[kind+id]
	}
	add := func(kind string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, kind+" "+string(b))
	}
	texts := map[string]int{}
	grow := func(kind, id, text string) {
		key := named(kind, id)
		if i, ok := texts[key]; ok && i == len(list)-1 {
			list[i] += text
			return
		}
		texts[key] = len(list)
		list = append(list, key+" "+text)
	}
	states := map[core.CallID]string{}
	for _, ev := range events {
		name := strings.TrimPrefix(fmt.Sprintf("%T", ev), "core.")
		if lost[name] != "" && name != "FellBack" {
			continue
		}
		switch e := ev.(type) {
		case core.TurnStarted:
			add("prompt", plainText(e.Prompt))
		case core.TextDelta:
			grow("message", string(e.Message), e.Text)
		case core.ThoughtStarted:
			list = append(list, named("thought", string(e.Thought))+" begins")
		case core.ThoughtDelta:
			grow("thought", string(e.Thought), e.Text)
		case core.ThoughtEnded:
			list = append(list, named("thought", string(e.Thought))+" ends")
		case core.CallChanged:
			line := callLine(e.Call)
			if states[e.Call.ID] != line { // a change that ACP does not show
				states[e.Call.ID] = line
				list = append(list, named("call", string(e.Call.ID))+" "+line)
			}
		case core.CallOutput:
			grow("output", string(e.Call), unfenced(e.Text))
		case core.PlanChanged:
			for i := range e.Entries {
				if e.Entries[i].Priority == "" {
					e.Entries[i].Priority = "medium"
				}
			}
			add("plan", e.Entries)
		case core.UsageChanged:
			if add("context", []int{e.Context, e.Window}); len(list) > 1 && list[len(list)-1] == list[len(list)-2] {
				list = list[:len(list)-1]
			}
		case core.FellBack, core.Notice:
			n := core.NoticeOf(ev)
			add("notice", n)
		case core.TurnEnded:
			end := string(e.Stop)
			if i := strings.LastIndex(e.Err, ": "); e.Err != "" {
				end += " " + strings.TrimSuffix(e.Err[max(i, 0):], " (error -32603)")
			}
			list = append(list, "end "+end)
		case core.TitleChanged, core.Claimed, core.SettingsChanged, core.Bound, core.Offered, core.Phase, core.Foreign:
			// the top's own, or live only
		default:
			add(name, e)
		}
	}
	return list
}

// callLine describes a call without what ACP cannot carry.
func callLine(c core.Call) string {
	state := c.State
	var content []string
	diff := slices.ContainsFunc(c.Content, func(b core.Block) bool { _, ok := b.(core.Diff); return ok })
	for _, b := range c.Content {
		switch b := b.(type) {
		case core.Text:
			if diff {
				continue
			}
			content = append(content, unfenced(b.Text))
		case core.Diff:
			content = append(content, fmt.Sprintf("%s: %q → %q", b.Path, b.Old, b.New))
		default:
			content = append(content, fmt.Sprintf("%T", b))
		}
	}
	title := strings.TrimSuffix(strings.TrimPrefix(c.Title, "Run `"), "`")
	return fmt.Sprintf("%s %s %q %s %s %v %s", state, c.Tool, title, c.Kind, c.Args, c.Locations, strings.Join(content, " | "))
}

// unfenced returns an output without the fence around it.
func unfenced(text string) string {
	text = strings.TrimPrefix(text, "```console\n")
	return strings.TrimSpace(strings.TrimSuffix(text, "```"))
}

func plainText(blocks []core.Block) (list []string) {
	for _, b := range blocks {
		if text, ok := b.(core.Text); ok {
			list = append(list, text.Text)
		}
	}
	return list
}
