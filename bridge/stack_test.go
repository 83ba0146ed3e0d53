package bridge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	acpfront "dragoman/adapters/acp/losses"
	ecafront "dragoman/adapters/eca/losses"
	acpback "dragoman/bridge/agent/losses"
	ecaback "dragoman/bridge/ecaserver/losses"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fidelity"
)

// lost are the facts that are lost between the gateways of a stack, by their protocol: those that its encoder
// or its decoder has in its list.
var lost = map[string][][]fidelity.Loss{
	"acp": {acpfront.Encoder(), acpback.Decoder()},
	"eca": {ecafront.Encoder(), ecaback.Decoder()},
}

// silentlyRuns reports whether a stack does not tell what a running call puts out.
func silentlyRuns(stack []string) bool {
	return slices.ContainsFunc(stack, func(protocol string) bool {
		return slices.ContainsFunc(lost[protocol], func(list []fidelity.Loss) bool {
			l, listed := fidelity.Of(list, "CallOutput")
			return listed && l.How == fidelity.Lost
		})
	})
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
	for _, stack := range [][]string{
		{"acp"}, {"acp", "acp", "acp"}, {"eca"}, {"eca", "eca", "eca"}, {"eca", "acp", "eca"}, {"acp", "eca"}, {"eca", "acp"}, {"acp", "eca", "acp"},
	} {
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
	}{
		{[]string{"acp"}, seeds},
		{[]string{"acp", "acp", "acp"}, seeds / 4},
		{[]string{"eca"}, seeds},
		{[]string{"eca", "acp", "eca"}, seeds / 4},
		{[]string{"acp", "eca"}, seeds / 4},
	} {
		t.Run(strings.Join(c.stack, " "), func(t *testing.T) {
			t.Parallel()
			var turns [][]core.Event
			var names []string
			spent := 0.0
			for seed := first; seed < first+c.seeds; seed++ {
				conversation := coretest.Conversation(seed, 2)
				spent = continues(conversation, spent)
				for _, turn := range turnsOf(conversation) {
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

// untried are facts of the lists, by the protocol, that no conversation here has: they are about the
// gateway's own session, need something else than an agent that plays, or have another form in ECA (inECA).
var untried = map[string][]fidelity.Fact{
	"acp": {
		"TurnStarted.Prompt.Resource.Lines", "Steered", "Phase", "CallChanged.Call.Content.Resource.Lines", "CallChanged.Call.Content.Diff.From",
		"CallChanged.Call.Content.Terminal", "Asked.approval.Text", "Asked.approval.Options", "Asked.consent", "Flagged", "Truncated", "Offered", "Briefed",
	},
	"eca": {
		"TurnStarted.Prompt", "Steered", "Phase", "CallChanged.Call.Content.Diff.From", "CallChanged.Call.Content.Terminal", "Asked.approval",
		"Asked.consent", "Flagged", "Truncated", "Moved", "Offered", "Briefed", "Foreign", "TurnEnded.Login",
		"CallChanged.Call.Content.Image", "CallChanged.Call.Content.Link", "CallChanged.Call.Content.Resource", "Notice", "Compacted", "Cited.Link",
	},
}

// needed fails if a list has a fact as lost, changed or measured that these conversations show to be carried.
func needed(t *testing.T, protocol string, tops, turns [][]core.Event) {
	t.Helper()
	stack := []string{protocol}
	for _, entry := range slices.Concat(lost[protocol]...) {
		about := func(f fidelity.Fact) bool {
			return slices.ContainsFunc(entry.Facts, func(g fidelity.Fact) bool { return g.Has(f) || f.Has(g) })
		}
		if entry.How != fidelity.Lost && entry.How != fidelity.Changed && entry.How != fidelity.Measured || slices.ContainsFunc(untried[protocol], about) {
			continue
		}
		var rest [][]fidelity.Loss
		for _, list := range lost[protocol] {
			list = slices.Clone(list)
			for i := range list {
				list[i].Facts = slices.DeleteFunc(slices.Clone(list[i].Facts), about)
			}
			rest = append(rest, list)
		}
		shown := false
		for n := 0; n < len(turns) && !shown; n++ {
			shown = !slices.Equal(told(tops[n], stack, rest), told(with(n, turns[n]), stack, rest))
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
	var protocols []string // each once: three deep lose no more than one deep
	var losses [][]fidelity.Loss
	for _, protocol := range stack {
		if !slices.Contains(protocols, protocol) {
			protocols, losses = append(protocols, protocol), append(losses, lost[protocol]...)
		}
	}
	if slices.Contains(protocols, "eca") {
		turns = taken(turns)
	}
	p := onTop(t, stack, turns)
	for n, turn := range turns {
		tops = append(tops, p.play(n, turn))
		got, want := told(tops[n], stack, losses), told(with(n, turn), stack, losses)
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
