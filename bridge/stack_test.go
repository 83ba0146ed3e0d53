package bridge_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	front "dragoman/adapters/acp/losses"
	"dragoman/bridge/agent/growth"
	back "dragoman/bridge/agent/losses"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fidelity"
)

// lost are the facts that are lost between the gateways of a stack, by their protocol: those that its encoder
// or its decoder has in its list.
var lost = map[string][]fidelity.Loss{
	"acp": append(front.Encoder(), back.Decoder()...),
}

// rosetta returns the turns of the golden files that show every protocol, and the files' names.
func rosetta(t *testing.T) (turns [][]core.Event, names []string) {
	t.Helper()
	files, err := filepath.Glob("../adapters/testdata/rosetta/*.txtar")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		events, err := decoded(ar.Files[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		for _, turn := range turnsOf(events) {
			turns, names = append(turns, turn), append(names, strings.TrimSuffix(filepath.Base(file), ".txtar"))
		}
	}
	return turns, names
}

// Gateways behind gateways: every conversation of the golden files is told at the top as it happened at the
// bottom, but for what is in the lists. Three deep loses no more than one deep.
func TestGatewaysBehindGateways(t *testing.T) {
	turns, names := rosetta(t)
	for _, stack := range [][]string{{"acp"}, {"acp", "acp", "acp"}} {
		t.Run(strings.Join(stack, " "), func(t *testing.T) {
			t.Parallel()
			compare(t, stack, turns, func(n int) string { return names[n] })
		})
	}
}

// Random conversations are told at the top as they happened at the bottom, but for what is in the lists, and
// some of them lose what is there. DRAGOMAN_E2E_ALL=1 tries many more, from another seed on.
func TestRandomConversationsBehindAGateway(t *testing.T) {
	seeds, first := uint64(24), uint64(0)
	if os.Getenv("DRAGOMAN_E2E_ALL") != "" {
		seeds, first = 2000, uint64(time.Now().UnixNano())
	}
	t.Logf("seeds from %d on", first)
	for _, c := range []struct {
		stack []string
		seeds uint64
	}{{[]string{"acp"}, seeds}, {[]string{"acp", "acp", "acp"}, seeds / 4}} {
		t.Run(strings.Join(c.stack, " "), func(t *testing.T) {
			t.Parallel()
			var turns [][]core.Event
			var names []string
			for seed := first; seed < first+c.seeds; seed++ {
				for _, turn := range turnsOf(coretest.Conversation(seed, 2)) {
					turns, names = append(turns, turn), append(names, fmt.Sprintf("seed %d", seed))
				}
			}
			tops := compare(t, c.stack, turns, func(n int) string { return names[n] })
			if len(c.stack) == 1 && !t.Failed() {
				needed(t, c.stack[0], tops, turns)
			}
		})
	}
}

// untried are facts of the lists that no conversation here has: they are about the gateway's own session,
// or need something else than an agent that plays.
var untried = []fidelity.Fact{
	"TurnStarted.Prompt.Resource.Lines", "Steered", "Phase", "CallChanged.Call.Content.Resource.Lines", "CallChanged.Call.Content.Diff.From",
	"CallChanged.Call.Content.Terminal", "Asked.approval.Text", "Asked.approval.Options", "Asked.consent", "Flagged", "Truncated", "Offered", "Briefed",
}

// needed fails if a list has a fact as lost, changed or measured that these conversations show to be carried.
func needed(t *testing.T, protocol string, tops, turns [][]core.Event) {
	t.Helper()
	list := lost[protocol]
	for _, entry := range list {
		about := func(f fidelity.Fact) bool {
			return slices.ContainsFunc(entry.Facts, func(g fidelity.Fact) bool { return g.Has(f) || f.Has(g) })
		}
		if entry.How != fidelity.Lost && entry.How != fidelity.Changed && entry.How != fidelity.Measured || slices.ContainsFunc(untried, about) {
			continue
		}
		var rest []fidelity.Loss
		for _, l := range list {
			l.Facts = slices.DeleteFunc(slices.Clone(l.Facts), about)
			rest = append(rest, l)
		}
		shown := false
		for n := 0; n < len(turns) && !shown; n++ {
			shown = !slices.Equal(told(tops[n], rest), told(with(n, turns[n]), rest))
		}
		if !shown {
			t.Errorf("%v is listed, and carried: %s", entry.Facts, entry.Why)
		}
	}
}

// compare plays turns at the bottom of a stack, and fails if they are told otherwise at the top. It returns
// what is told there.
func compare(t *testing.T, stack []string, turns [][]core.Event, name func(n int) string) (tops [][]core.Event) {
	t.Helper()
	var losses []fidelity.Loss
	for _, protocol := range stack {
		losses = append(losses, lost[protocol]...)
	}
	p := onTop(t, stack, turns)
	for n, turn := range turns {
		tops = append(tops, p.play(n, turn))
		got, want := told(tops[n], losses), told(with(n, turn), losses)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s", name(n), differences(got, want))
		}
	}
	return tops
}

// with returns a turn with its number in its prompt.
func with(n int, turn []core.Event) []core.Event {
	turn = slices.Clone(turn)
	if e, ok := turn[0].(core.TurnStarted); ok {
		e.Prompt = numbered(n, e.Prompt)
		turn[0] = e
	}
	return turn
}

// differences shows two lists from their first difference on.
func differences(got, want []string) string {
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	n = max(n-4, 0)
	return fmt.Sprintf("%d lines are the same, then at the top:\n  %s\nand below:\n  %s", n, strings.Join(got[n:], "\n  "), strings.Join(want[n:], "\n  "))
}

// teller describes events, without what the lists have, and with ids by their order.
type teller struct {
	losses []fidelity.Loss
	ids    map[string]string
	list   []string
	grows  string                 // the delta at the end of the list
	calls  map[core.CallID]string // as they were described last
	runs   core.CallID            // the one that was told to run last
	diffs  map[core.CallID]bool   // those that show a change to a file
	spent  core.Usage             // by the turn
	window string                 // how full it was last
}

// told describes the events of a turn.
func told(events []core.Event, losses []fidelity.Loss) []string {
	d := teller{losses: losses, ids: map[string]string{}, calls: map[core.CallID]string{}, diffs: map[core.CallID]bool{}}
	for _, ev := range events {
		d.event(ev)
	}
	for i, line := range d.list {
		if head, text, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(head, "output of ") {
			d.list[i] = head + ": " + strings.TrimSpace(text)
		}
	}
	return d.list
}

// id names an id of a kind.
func (d *teller) id(kind, id string) string {
	if d.ids[kind+id] == "" {
		d.ids[kind+id] = fmt.Sprintf("%s %d", kind, len(d.ids)+1)
	}
	return d.ids[kind+id]
}

// grow adds a piece of a text, to the end of the list if that is the same text.
func (d *teller) grow(key, text string) {
	if d.grows == key {
		d.list[len(d.list)-1] += text
		return
	}
	d.list, d.grows = append(d.list, key+": "+text), key
}

// add adds a line.
func (d *teller) add(line string) { d.list, d.grows = append(d.list, line), "" }

func (d *teller) event(ev core.Event) {
	if n, ok := ev.(core.Notifier); ok { // whether it is one already is another test's
		ev = n.Notice()
	}
	if l, listed := fidelity.Of(d.losses, fidelity.Fact(reflect.TypeOf(ev).Name())); listed && l.How == fidelity.Lost {
		return
	}
	switch e := any(ev).(type) {
	case core.Opened, core.Claimed, core.SettingsChanged, core.Bound, core.PromptQueued, core.TitleChanged, core.Offered: // each gateway's own
	case core.Answered, core.Steered: // of the user, who is at the top
	case core.Phase: // it is live, and may come later than what came after it
	case core.Cited:
		d.source(e.Link)
	case core.Foreign:
		if link, ok := onlyLink(e.Content); ok { // a source is told as a link in the answer
			d.source(link)
			return
		}
		d.add(d.facts(e))
	case core.TextDelta:
		d.grow(d.id("message", string(e.Message)), e.Text)
	case core.ThoughtDelta:
		d.grow(d.id("thought", string(e.Thought)), e.Text)
	case core.CallOutput:
		if !d.diffs[e.Call] { // beside a change to a file it is lost
			d.grow("output of "+d.id("call", string(e.Call)), e.Text)
		}
	case core.CallChanged:
		d.call(plain(e).Call)
	case core.PlanChanged:
		e.Entries = slices.Clone(e.Entries)
		for i := range e.Entries {
			e.Entries[i].Priority = cmp.Or(e.Entries[i].Priority, "medium")
		}
		d.add(d.facts(e))
	case core.Asked:
		if slices.ContainsFunc(e.Ask.Options, func(o core.Option) bool { return o.ID == string(o.Decision) }) {
			e.Ask.Options = nil // the gateway's own
		}
		d.add(d.facts(e))
	case core.UsageChanged:
		d.usage(e)
	case core.TurnEnded:
		if e.Stop != core.StopCanceled && e.Stop != core.StopError && d.spent != (core.Usage{}) {
			d.add(d.facts(core.UsageChanged{Last: d.spent}))
		}
		d.add(d.facts(e))
	default:
		d.add(d.facts(ev))
	}
}

// call adds a change of a call, unless it is one of what is lost.
func (d *teller) call(c core.Call) {
	d.diffs[c.ID] = slices.ContainsFunc(c.Content, isDiff)
	head := d.id("call", string(c.ID)) + " "
	line := head + d.facts(core.CallChanged{Call: c})
	if d.calls[c.ID] == line {
		return
	}
	if last := len(d.list) - 1; c.State.Ended() && d.runs == c.ID && d.grows == "" && strings.HasPrefix(d.list[last], head) {
		d.list = d.list[:last] // a call that could not run is told as one that ran and failed
	}
	d.runs = ""
	if c.State == core.Running {
		d.runs = c.ID
	}
	d.calls[c.ID] = line
	d.add(line)
}

func (d *teller) source(l core.Link) { d.add("source " + l.URI + " " + l.Title) }

func onlyLink(content []core.Block) (core.Link, bool) {
	if len(content) != 1 {
		return core.Link{}, false
	}
	link, ok := content[0].(core.Link)
	return link, ok
}

// usage adds how full the window is, in place, and keeps the tokens for the end of the turn: a protocol
// may have one of them in an update and the other in the answer to the prompt.
func (d *teller) usage(e core.UsageChanged) {
	d.spent = d.spent.Add(e.Last)
	e.Last = core.Usage{}
	if line := d.facts(e); line != d.window {
		d.window = line
		d.add(line)
	}
}

func isDiff(b core.Block) bool { _, ok := b.(core.Diff); return ok }

// plain returns a call with its result as it was before it was set for a client that shows Markdown, and
// without what is beside a change to a file.
func plain(e core.CallChanged) core.CallChanged {
	var content []core.Block
	diff := slices.ContainsFunc(e.Call.Content, isDiff)
	for _, b := range e.Call.Content {
		if text, ok := b.(core.Text); ok {
			b = core.Text{Text: strings.TrimSpace(growth.Unfenced(text.Text))}
		}
		if !diff || isDiff(b) {
			content = append(content, b)
		}
	}
	e.Call.Content = content
	return e
}

// facts describes an event by its facts.
func (d *teller) facts(ev core.Event) string {
	var b strings.Builder
	fidelity.Walk(ev, func(f fidelity.Fact, v reflect.Value) {
		l, listed := fidelity.Of(d.losses, f)
		switch {
		case fidelity.IsInternal(f):
		case !v.IsValid():
			b.WriteString(string(f))
		case listed && l.How != fidelity.InPart, v.IsZero():
		default:
			line, err := json.Marshal(v.Interface())
			if err != nil {
				line = []byte(err.Error())
			}
			fmt.Fprintf(&b, " %s=%s", strings.TrimPrefix(string(f), f.Event()+"."), line)
		}
	})
	return b.String()
}
