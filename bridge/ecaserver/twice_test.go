package ecaserver_test

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
	"dragoman/adapters/eca"
	"dragoman/bridge/agent"
	"dragoman/bridge/agent/launch"
	"dragoman/bridge/ecaserver"
	"dragoman/core"
	"dragoman/core/child"
	"dragoman/core/codec"
	"dragoman/core/coretest"
)

// Variables of a process that is a gateway behind the gateway.
const (
	// playsVar has the folder of golden files whose events the lowest one plays, a file a turn.
	playsVar = "PLAYS_EVENTS"
	// speaksVar has the protocols that the gateway and those behind it speak, such as "eca acp eca".
	speaksVar = "PLAYS_PROTOCOLS"
)

// below returns a back end that is a gateway behind the gateway, and speaks the first protocol.
func below(speaks, dir string) (core.Backend, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := launch.Options{
		Name: "below",
		Program: func(context.Context, core.Host) (launch.Program, error) {
			return launch.Program{Path: self, Env: map[string]string{playsVar: dir, speaksVar: speaks}}, nil
		},
		Pool: launch.NewPool(), Guards: &child.Guards{}, Version: "test",
	}
	if first, _, _ := strings.Cut(speaks, " "); first == "acp" {
		return agent.New(o), nil
	}
	return ecaserver.New(ecaserver.Options{Options: o}), nil
}

// play runs a gateway behind the gateway.
func play(speaks, dir string) int {
	ctx := context.Background()
	speak, deeper, more := strings.Cut(speaks, " ")
	var host core.Host
	is := core.Agent{Name: "player", Rev: "1"}
	var err error
	if more {
		is.External = true
		is.Backend, err = below(deeper, dir)
	} else {
		p := &player{host: &host}
		p.files, err = filepath.Glob(filepath.Join(dir, "*.txtar"))
		is.Backend = p
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	profile := &core.Profile{
		Agents: []core.Agent{is},
		Policy: coretest.Always(core.Verdict{Effect: core.MustAsk, Why: "it changes a file"}),
	}
	g := core.New(core.Config{
		Store:    coretest.NewMemory(),
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return profile, nil }),
	})
	if speak == "acp" {
		err = acp.New(acp.Options{Gateway: g, Principal: core.Local}).Serve(ctx, os.Stdin, os.Stdout)
	} else {
		err = eca.New(eca.Options{Gateway: g, Principal: core.Local}).Serve(ctx, os.Stdin, os.Stdout)
		if errors.Is(err, eca.ErrNoShutdown) {
			err = nil
		}
	}
	if err = errors.Join(err, g.Close(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// parsed reads the events of a golden file.
func parsed(file string) (records []core.Record, err error) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	var d codec.Decoder
	for line := range bytes.Lines(ar.Files[0].Data) {
		r, err := d.Decode(bytes.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// player is a back end that plays the events of files, one a turn.
type player struct {
	host  *core.Host
	files []string
}

func (*player) Caps(context.Context) (core.BackendCaps, error) { return core.BackendCaps{}, nil }

func (p *player) Open(_ context.Context, b core.Binding) (core.Conversation, error) {
	*p.host = b.Host
	return p, nil
}

func (*player) Set(context.Context, core.Settings) error { return nil }

func (*player) Close(context.Context) error { return nil }

// Run implements core.Conversation.
func (p *player) Run(ctx context.Context, t *core.Turn) (core.StopReason, error) {
	records, err := parsed(p.files[0])
	if err != nil {
		return core.StopError, err
	}
	p.files = p.files[1:]
	asked := map[core.CallID]bool{}
	for _, r := range records {
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
				c.State = core.Proposed
				reply, err := (*p.host).Authorize(ctx, core.Request{Call: c, Spec: core.Spec{Server: c.Server, Name: c.Tool, Kind: c.Kind}})
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

// Gateways behind the gateway: every conversation of the golden files has the same events at the top as below,
// but for what doc.go lists, and three deep the same as one deep.
func TestGatewaysBehindAGateway(t *testing.T) {
	files, err := filepath.Glob("../../adapters/testdata/rosetta/*.txtar")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	dir, err := filepath.Abs(filepath.Dir(files[0]))
	if err != nil {
		t.Fatal(err)
	}
	for _, speaks := range []string{"eca", "eca eca eca", "eca acp eca"} {
		t.Run(speaks, func(t *testing.T) {
			back, err := below(speaks, dir)
			if err != nil {
				t.Fatal(err)
			}
			c := newRoom(t, core.Agent{Name: "below", Rev: "1", External: true, Backend: back}).begin()
			for _, file := range files {
				records, err := parsed(file)
				if err != nil {
					t.Fatal(err)
				}
				c.converse(records)
				var want []core.Event
				for _, rec := range records {
					want = append(want, rec.Event)
				}
				over := strings.Contains(speaks, "acp")
				if got, want := told(c.events, over), told(want, over); !slices.Equal(got, want) {
					t.Errorf("%s: at the top:\n%s\nbelow:\n%s", filepath.Base(file), strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// converse has a conversation as its user had it below: the same prompt, answers and stop.
func (c *chat) converse(records []core.Record) {
	var replies []core.Reply
	prompt := "go"
	for _, r := range records {
		switch e := r.Event.(type) {
		case core.Answered:
			replies = append(replies, e.Reply)
		case core.TurnStarted:
			for _, b := range e.Prompt {
				if text, ok := b.(core.Text); ok {
					prompt = text.Text
				}
			}
		}
	}
	c.answer = func(core.Ask) core.Reply {
		if len(replies) == 0 {
			c.t.Error("an unexpected question")
			return reject
		}
		reply := replies[0]
		replies = replies[1:]
		if reply.Outcome == core.OutcomeCanceled { // the turn is stopped instead
			if err := c.at.Cancel(c.ctx, "", core.ErrCanceled); err != nil {
				c.t.Error(err)
			}
			return core.Reply{}
		}
		return core.Reply{Outcome: reply.Outcome, Decision: reply.Decision}
	}
	last, _ := records[len(records)-1].Event.(core.TurnEnded)
	id := c.prompt(prompt)
	if last.Stop == core.StopCanceled && len(replies) == 0 {
		c.until(func(ev core.Event) bool {
			e, ok := ev.(core.CallChanged)
			return ok && e.Call.State == core.Running
		})
		if err := c.at.Cancel(c.ctx, id, core.ErrCanceled); err != nil {
			c.t.Fatal(err)
		}
	}
	c.ended(id)
}

// told describes events without what the protocol cannot carry (see doc.go). over says that ACP is on the way, which
// has the size of the context apart from the tokens, and no words of a result beside a change.
func told(events []core.Event, over bool) (list []string) {
	add := func(kind string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		list = append(list, kind+" "+string(b))
	}
	texts := map[string]int{}
	grow := func(key, text string) {
		if i, ok := texts[key]; ok && i == len(list)-1 {
			list[i] += text
			return
		}
		texts[key] = len(list)
		list = append(list, strings.Fields(key)[0]+" "+text)
	}
	states := map[core.CallID]string{}
	for _, ev := range events {
		switch e := ev.(type) {
		case core.TurnStarted:
			text := ""
			for _, b := range e.Prompt {
				if t, ok := b.(core.Text); ok {
					text += t.Text
				}
			}
			list = append(list, "prompt "+text)
		case core.TextDelta:
			grow("message "+string(e.Message), e.Text)
		case core.ThoughtStarted:
			list = append(list, "thought begins")
		case core.ThoughtDelta:
			grow("thinks "+string(e.Thought), e.Text)
		case core.ThoughtEnded:
			list = append(list, "thought ends")
		case core.CallChanged:
			line := callLine(e.Call, over)
			if states[e.Call.ID] != line { // a change that nobody is shown
				states[e.Call.ID] = line
				list = append(list, "call "+line)
			}
		case core.PlanChanged:
			for i := range e.Entries {
				if e.Entries[i].Priority == "" {
					e.Entries[i].Priority = "medium"
				}
			}
			add("plan", e.Entries)
		case core.UsageChanged:
			if !over || e.Last.In+e.Last.Out > 0 {
				add("usage", []any{e.Last.In, e.Last.Out, e.Context, e.Window})
			}
		case core.FellBack, core.Notice:
			list = append(list, "notice "+strings.TrimSpace(core.NoticeOf(ev).Text))
		case core.TurnEnded:
			if e.Stop == core.StopError { // the reason is a text of the system before the end
				list = append(list, "notice "+e.Err)
				e.Stop = core.StopEnd
			}
			list = append(list, "end "+string(e.Stop))
		}
	}
	return list
}

// callLine describes a call without what the protocol cannot carry.
func callLine(c core.Call, over bool) string {
	var content []string
	for _, b := range c.Content {
		switch b := b.(type) {
		case core.Text:
			content = append(content, strings.TrimSpace(b.Text))
		case core.Diff:
			content = append(content, fmt.Sprintf("%s: %q → %q", b.Path, b.Old, b.New))
		}
	}
	switch {
	case c.State == core.Proposed: // its arguments may still be arriving
		return fmt.Sprintf("%s %s", c.State, c.Tool)
	case !c.State.Ended() || c.State == core.Canceled: // only a result has texts
		content = slices.DeleteFunc(content, func(text string) bool { return !strings.Contains(text, " → ") })
	case over && len(content) > 1 && strings.Contains(content[0], " → "):
		content = content[:1]
	}
	return fmt.Sprintf("%s %s %s %s", c.State, c.Tool, c.Args, strings.Join(content, " | "))
}
