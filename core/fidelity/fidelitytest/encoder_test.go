package fidelitytest_test

import (
	"slices"
	"testing"

	"dragoman/core"
	"dragoman/core/codec"
	"dragoman/core/coretest"
	"dragoman/core/fidelity"
	"dragoman/core/fidelity/fidelitytest"
)

func stored(log []core.Record) string {
	var e codec.Encoder
	var out []byte
	for _, r := range log {
		out = append(e.Append(out, r), '\n')
	}
	return string(out)
}

// The stored form of a log loses nothing, so the logs have every fact, and every change of one is seen.
// A list that says that it loses something is wrong.
func TestTheStoredFormLosesNothing(t *testing.T) {
	logs := coretest.Logs()
	for _, fault := range fidelitytest.Faults(nil, logs, stored) {
		t.Error(fault)
	}
	wrong := []fidelity.Loss{fidelity.Lost.Because("It has no times.", "ThoughtEnded.Took")}
	want := []string{"ThoughtEnded.Took is listed (It has no times.), and makes a difference"}
	if got := fidelitytest.Faults(wrong, logs, stored); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An encoder that drops a field, an event, or the difference between two values, is found out, unless
// its list says so.
func TestDroppedFactsAreFound(t *testing.T) {
	dropping := func(log []core.Record) string {
		kept := slices.Clone(log)
		for i, r := range log {
			switch e := r.Event.(type) {
			case core.ThoughtEnded:
				e.Took = 0
				kept[i].Event = e
			case core.CallArgs:
				kept[i].Event = core.Claimed{}
			case core.CallChanged:
				if e.Call.State == core.Canceled {
					e.Call.State = core.Rejected
				}
				kept[i].Event = e
			}
		}
		return stored(kept)
	}
	want := []string{
		"ThoughtEnded.Took is dropped: carry it, or list it",
		`CallChanged.Call.State has values that make no difference: "rejected" and "canceled"; tell them apart, or list it`,
		"CallArgs is dropped: carry it, or list it",
		"CallArgs.Text is dropped: carry it, or list it",
	}
	logs := coretest.Logs()
	if got := fidelitytest.Faults(nil, logs, dropping); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	list := []fidelity.Loss{
		fidelity.Lost.Because("It has no times.", "ThoughtEnded.Took"),
		fidelity.Changed.Because("It has no word for that.", "CallChanged.Call.State"),
		fidelity.Lost.Because("It has none.", "CallArgs"),
	}
	if got := fidelitytest.Faults(list, logs, dropping); len(got) > 0 {
		t.Error(got)
	}
}
