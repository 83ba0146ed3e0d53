package core_test

import (
	"reflect"
	"testing"
	"testing/synctest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fork"
)

// A log with missing records is read and gone on with under its numbers, from
// wherever a reader begins: also from a record that is missing.
func TestMissingRecordsKeepTheirNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, epoch := storeOf(
			t, core.Claimed{Epoch: 1}, core.TextDelta{Message: "m", Text: "before"},
			core.Missing{Records: 5, Text: "5 records are missing"}, core.TextDelta{Message: "m", Text: "behind"}, core.Notice{Text: "last"},
		)
		g := coretest.Gateway(store, echo, nil)
		defer closeGateway(t, g)
		s, err := g.Open(t.Context(), core.Local, "s")
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach(core.Client{Name: "tester"})
		prompt(t, a, say("on"))
		synctest.Wait()

		all := a.Read(core.Pos{})
		defer all.Close()
		want := readTo(t, all, a.Head())
		if gap := want[3]; gap.Seq != 4 || gap.End().Seq != 9 || want[4].Seq != 9 {
			t.Fatalf("record %d, %+v, ends in front of %d", gap.Seq, gap.Event, gap.End().Seq)
		}
		if reflect.TypeOf(want[len(want)-1].Event) != reflect.TypeFor[core.TurnEnded]() {
			t.Errorf("the last record is %+v", want[len(want)-1])
		}
		for seq := uint64(1); seq < a.Head().Seq; seq++ {
			r := a.Read(core.Pos{Epoch: epoch, Seq: seq})
			got := readTo(t, r, a.Head())
			r.Close()
			if got[0].Seq != seq || got[len(got)-1].End() != want[len(want)-1].End() {
				t.Errorf("read behind %d: from %d to %v", seq, got[0].Seq, got[len(got)-1].End())
			}
			if m, ok := got[0].Event.(core.Missing); ok && seq+m.Records != 9 {
				t.Errorf("%d records are missing from %d on", m.Records, seq)
			}
		}

		copied, err := fork.Session(t.Context(), g, a, a.Head(), "copy")
		if err != nil {
			t.Fatal(err)
		}
		r := copied.Attach(core.Client{Name: "tester"}).Read(core.Pos{})
		defer r.Close()
		told := false
		for _, rec := range readTo(t, r, copied.Head()) {
			n, ok := rec.Event.(core.Notice)
			told = told || ok && n == (core.Notice{Severity: core.Warning, Text: "5 records are missing"})
		}
		if !told {
			t.Error("the copy does not say what is missing")
		}
	})
}
