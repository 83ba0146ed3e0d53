// Package fidelitytest checks encoders against their lists of what they cannot carry.
package fidelitytest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/fidelity"
)

// Faults returns what an encoder drops that is not in its list, and what its list has that it carries.
// encode returns everything that a client gets for a log. A fact is carried if other values of it in a log
// make another encoding; the logs must have every fact. Of a value out of a closed set, such as the state
// of a call, any two values must differ somewhere.
func Faults(list []fidelity.Loss, logs [][]core.Record, encode func([]core.Record) string) []string {
	faults := fidelity.Check(list)
	found := map[fidelity.Fact]*finding{}
	for _, log := range logs {
		observe(log, encode, found)
	}
	for _, f := range fidelity.Facts() {
		if fidelity.IsInternal(f) {
			continue
		}
		fault := func(format string, args ...any) { faults = append(faults, string(f)+" "+fmt.Sprintf(format, args...)) }
		l, listed := fidelity.Of(list, f)
		is := found[f]
		switch {
		case is == nil:
			fault("is in no log")
		case !listed && !is.told:
			fault("is dropped: carry it, or list it")
		case !listed && len(is.same()) > 0:
			fault("has values that make no difference: %s; tell them apart, or list it", strings.Join(is.same(), ", "))
		case listed && l.How == fidelity.Lost && is.told:
			fault("is listed (%s), and makes a difference", l.Why)
		case listed && l.How != fidelity.Lost && !is.told:
			fault("is listed as %q, and makes no difference: it is lost", l.How)
		}
	}
	return faults
}

// finding records how the logs have shown a fact.
type finding struct {
	told  bool               // another value made a difference
	apart map[[2]string]bool // values of a closed set, in pairs: whether they have made a difference
}

// same lists the pairs of values that have made no difference.
func (f *finding) same() (list []string) {
	for _, pair := range slices.SortedFunc(maps.Keys(f.apart), func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) }) {
		if !f.apart[pair] {
			list = append(list, fmt.Sprintf("%q and %q", pair[0], pair[1]))
		}
	}
	return list
}

// maxTries limits in how many events of a log the values of a closed set are tried.
const maxTries = 40

// observe changes one fact of a log after the other: in all of its events, because most say again what
// those before them have said, or if its values are of a closed set, in one event after the other. The
// numbers and times of the records stay.
func observe(log []core.Record, encode func([]core.Record) string, found map[fidelity.Fact]*finding) {
	base, agents := encode(log), agentsOf(log)
	tried, at := map[fidelity.Fact]bool{}, map[fidelity.Fact]int{}
	for i, r := range log {
		n := -1
		fidelity.Walk(r.Event, func(f fidelity.Fact, v reflect.Value) {
			n++
			if fidelity.IsInternal(f) || v.IsValid() && fixed(f, v, agents) {
				return
			}
			is := found[f]
			if is == nil {
				is = &finding{apart: map[[2]string]bool{}}
				found[f] = is
			}
			if v.IsValid() && sets[v.Type()] != nil {
				if at[f]++; at[f] > maxTries {
					return
				}
				is.compare(v.Type(), sets[v.Type()], func(value reflect.Value) string {
					changed := slices.Clone(log)
					changed[i].Event = with(r.Event, n, value)
					return encode(changed)
				})
				return
			}
			if !is.told && !tried[f] {
				tried[f] = true
				is.told = encode(without(log, f)) != base
			}
		})
	}
}

// fixed reports whether a value is not changed: an empty text, because another one makes another kind of
// thing of what it belongs to (a change to a file becomes a move), and likewise whose tool it is, unless it
// is that of an ordinary server.
func fixed(f fidelity.Fact, v reflect.Value, agents []string) bool {
	if v.Kind() != reflect.String || sets[v.Type()] != nil {
		return false
	}
	return v.String() == "" || f == "CallChanged.Call.Server" && slices.Contains(agents, v.String())
}

// agentsOf returns the servers of calls that are no ordinary ones: we, and agents behind the gateway.
func agentsOf(log []core.Record) []string {
	list := []string{core.Native}
	for _, r := range log {
		if e, ok := r.Event.(core.Offered); ok {
			list = append(list, e.Agent)
		}
	}
	return list
}

// with returns an event with another value of its nth fact.
func with(ev core.Event, n int, value reflect.Value) core.Event {
	at := -1
	return fidelity.Walk(ev, func(_ fidelity.Fact, v reflect.Value) {
		if at++; at == n {
			v.Set(value)
		}
	})
}

// without returns a log in which a fact has other values, or whose events of a type have not happened.
func without(log []core.Record, f fidelity.Fact) []core.Record {
	changed, agents := slices.Clone(log), agentsOf(log)
	for i, r := range log {
		if reflect.TypeOf(r.Event).Name() != f.Event() {
			continue
		}
		if f == fidelity.Fact(f.Event()) {
			changed[i].Event = core.Claimed{} // an event that no client shows
			continue
		}
		changed[i].Event = fidelity.Walk(r.Event, func(g fidelity.Fact, v reflect.Value) {
			switch {
			case g != f || fixed(f, v, agents):
			case f == "TurnEnded.Login": // whose login it is may show only in what the user is offered
				v.SetString("")
			default:
				v.Set(another(v))
			}
		})
	}
	return changed
}

// compare tries all values of a closed set.
func (f *finding) compare(t reflect.Type, set []string, with func(reflect.Value) string) {
	if f.told && len(f.apart) > 0 && len(f.same()) == 0 { // nothing more can be learned
		return
	}
	made := make([]string, len(set))
	for i, s := range set {
		made[i] = with(reflect.ValueOf(s).Convert(t))
		for j := range i {
			pair := [2]string{set[j], s}
			f.apart[pair] = f.apart[pair] || made[i] != made[j]
			f.told = f.told || f.apart[pair]
		}
	}
}

// sets are the types of values out of a closed set.
var sets = map[reflect.Type][]string{
	reflect.TypeFor[core.PhaseKind](): {
		string(core.PhaseWaiting), string(core.PhaseGenerating), string(core.PhaseCalling), string(core.PhaseCompacting),
		string(core.PhaseStarting), string(core.PhaseRetrying),
	},
	reflect.TypeFor[core.CallKind](): {
		string(core.KindRead), string(core.KindEdit), string(core.KindDelete), string(core.KindMove), string(core.KindSearch),
		string(core.KindExecute), string(core.KindThink), string(core.KindFetch), string(core.KindOther),
	},
	reflect.TypeFor[core.CallState](): {
		string(core.Proposed), string(core.Awaiting), string(core.Running), string(core.Succeeded), string(core.Errored),
		string(core.Rejected), string(core.Canceled),
	},
	reflect.TypeFor[core.Decision](): {
		"", string(core.AllowOnce), string(core.AllowSession), string(core.RejectOnce), string(core.RejectAlways),
	},
	reflect.TypeFor[core.PlanStatus](): {string(core.PlanPending), string(core.PlanActive), string(core.PlanDone)},
	reflect.TypeFor[core.Severity]():   {string(core.Info), string(core.Warning), string(core.Failure)},
	reflect.TypeFor[core.StopReason](): {
		string(core.StopEnd), string(core.StopTokens), string(core.StopRequests), string(core.StopLimit), string(core.StopRefusal), string(core.StopCanceled),
		string(core.StopError), string(core.StopInterrupted),
	},
}

// another returns another value than v.
func another(v reflect.Value) reflect.Value {
	w := reflect.New(v.Type()).Elem()
	switch old := v.Interface().(type) {
	case json.RawMessage:
		w.SetBytes([]byte(`{"another":[` + fmt.Sprint(len(old)) + `]}`))
	case []byte:
		w.SetBytes(append(slices.Clone(old), 'x'))
	case []string:
		w.Set(reflect.ValueOf(append(slices.Clone(old), "another")))
	case time.Time:
		w.Set(reflect.ValueOf(old.Add(time.Hour)))
	case core.Choices:
		w.Set(reflect.ValueOf(old.With("another", "value")))
	case *core.Call:
		c := core.Call{ID: "c9"}
		if old != nil {
			c = *old
		}
		c.Title += " another"
		w.Set(reflect.ValueOf(&c))
	case *float64:
		n := 1.5
		if old != nil {
			n += *old
		}
		w.Set(reflect.ValueOf(&n))
	case *core.Refused:
		r := core.Refused{Model: "a/b", Parts: []string{"tool:x"}}
		if old != nil {
			r.Parts = append(slices.Clone(old.Parts), "tool:y")
		}
		w.Set(reflect.ValueOf(&r))
	case [2]int:
		w.Set(reflect.ValueOf([2]int{old[0] + 1, old[1] + 2}))
	case bool:
		w.SetBool(!old)
	case string, core.SessionID, core.Principal, core.Caller, core.CommandKind, core.Capability:
		w.SetString(v.String() + "x")
	default:
		switch v.Kind() {
		case reflect.Int, reflect.Int64:
			w.SetInt(v.Int() + int64(3*time.Second))
		case reflect.Uint64:
			w.SetUint(v.Uint() + 1)
		default:
			panic(fmt.Sprintf("fidelitytest: no other value of a %s is known", v.Type())) // in a test, which fails
		}
	}
	return w
}
