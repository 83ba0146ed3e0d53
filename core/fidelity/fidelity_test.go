package fidelity_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fidelity"
)

// Every type of event and of block is known here: package coretest has a sample of each.
func TestEveryEventIsKnown(t *testing.T) {
	known := map[reflect.Type]bool{}
	for _, ev := range fidelity.Events() {
		known[reflect.TypeOf(ev)] = true
	}
	for _, ev := range coretest.Samples() {
		if !known[reflect.TypeOf(ev)] {
			t.Errorf("add %T to Events, and its facts to Topics or Internal", ev)
		}
	}
	for _, b := range fidelity.Blocks() {
		known[reflect.TypeOf(b)] = true
	}
	for _, b := range coretest.Blocks() {
		if !known[reflect.TypeOf(b)] {
			t.Errorf("add %T to Blocks", b)
		}
	}
}

// Every fact is a part of one topic or the gateway's own affair, and no entry is about nothing. A new
// field fails here until somebody has said what users know it as.
func TestEveryFactHasATopic(t *testing.T) {
	facts := fidelity.Facts()
	var names []fidelity.Fact
	for _, topic := range fidelity.Topics() {
		names = append(names, topic.Facts...)
	}
	for fact := range fidelity.Internal() {
		names = append(names, fact)
	}
	for i, name := range names {
		if !slices.ContainsFunc(facts, name.Has) {
			t.Errorf("there is no fact %s", name)
		}
		if slices.Contains(names[:i], name) {
			t.Errorf("%s is there twice", name)
		}
	}
	of, left := fidelity.Parts()
	if n := len(facts); n < 200 {
		t.Errorf("there are only %d facts", n)
	}
	for _, fact := range left {
		t.Errorf("%s belongs to no topic and is not internal", fact)
	}
	for i, topic := range fidelity.Topics() {
		if len(of[i]) == 0 {
			t.Errorf("no fact belongs to %q", topic.Name)
		}
	}
}

// Each field of what is asked belongs to a kind of question.
func TestFieldsOfAsks(t *testing.T) {
	ids := []string{"ID", "Kind", "Turn", "Call"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[core.Ask]()) {
		has := func(fact fidelity.Fact) bool { return strings.Contains(string(fact)+".", "."+f.Name+".") }
		if f.IsExported() && !slices.Contains(ids, f.Name) && !slices.ContainsFunc(fidelity.Facts(), has) {
			t.Errorf("core.Ask.%s is a field of no kind of question", f.Name)
		}
	}
}

// Walk returns the changed event, and leaves the given one as it is.
func TestWalkChangesACopy(t *testing.T) {
	for _, ev := range coretest.Samples() {
		was := reflect.ValueOf(ev)
		var facts int
		changed := fidelity.Walk(ev, func(_ fidelity.Fact, v reflect.Value) {
			if v.IsValid() && v.Kind() == reflect.String {
				facts++
				v.SetString(v.String() + "!")
			}
		})
		if same := reflect.DeepEqual(ev, changed); same != (facts == 0) {
			t.Errorf("%T: %d texts were changed, and it is the same: %t", ev, facts, same)
		}
		if !reflect.DeepEqual(ev, was.Interface()) {
			t.Errorf("%T itself has changed", ev)
		}
	}
	fresh := coretest.Samples()
	for i, ev := range coretest.Samples() {
		if !reflect.DeepEqual(ev, fresh[i]) {
			t.Fatalf("samples differ: %T", ev)
		}
	}
}

func TestTable(t *testing.T) {
	const slow, none = "It is slow.", "It has none."
	decoder := []fidelity.Loss{
		fidelity.Lost.Because(none, "CallArgs"),
		fidelity.AsNotice.Because("It has no message for that.", "FellBack"),
	}
	encoder := []fidelity.Loss{
		fidelity.Lost.Because("Nobody shows it.", "CallArgs"),
		fidelity.Lost.Because(slow, "CallOutput"),
		fidelity.Lost.Because("It has no priorities.", "PlanChanged.Entries.Priority"),
	}
	var b strings.Builder
	table := fidelity.Table{
		Agents:  []fidelity.Side{{"ours", nil}, {"theirs", decoder}},
		Clients: []fidelity.Side{{"client", encoder}},
	}
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| | ours → client | theirs → client |\n|---|---|---|\n",
		"| The agent's answer | yes | yes |\n",
		"| Tool calls: arguments while they are written | no [1] | no [2] |\n",
		"| Live output of a command | no [3] | no [3] |\n",
		"| Plan | in part [4] | in part [4] |\n",
		"| Changes to another model after a failure | yes | as a notice [5] |\n",
		"\n1. Nobody shows it.\n2. It has none.\n3. It is slow.\n4. It has no priorities.\n5. It has no message for that.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %q in\n%s", want, b.String())
		}
	}
}

func TestCheck(t *testing.T) {
	for want, l := range map[string]fidelity.Loss{
		"there is no such fact":            fidelity.Lost.Because("It has none.", "CallChanged.Call.Colour"),
		"it is internal, and in no list":   fidelity.Lost.Because("It has none.", "Bound.State"),
		"the reason is no sentence":        fidelity.Lost.Because("none", "CallArgs"),
		"is not what can become of a fact": fidelity.Carried.Because("It has none.", "CallArgs"),
	} {
		if faults := fidelity.Check([]fidelity.Loss{l}); len(faults) != 1 || !strings.Contains(faults[0], want) {
			t.Errorf("%v: %q; want one: %s", l, faults, want)
		}
	}
	good := fidelity.Lost.Because("It has none.", "CallArgs")
	if faults := fidelity.Check([]fidelity.Loss{good}); len(faults) != 0 {
		t.Error(faults)
	}
	if faults := fidelity.Check([]fidelity.Loss{good, good}); len(faults) != 1 {
		t.Error("twice:", faults)
	}
}
