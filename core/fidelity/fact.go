package fidelity

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"dragoman/core"
)

// Fact names one field of an event.
type Fact string

// Has reports whether f is the fact g or has it as a part.
func (f Fact) Has(g Fact) bool {
	return f == g || strings.HasPrefix(string(g), string(f)+".")
}

// Event returns the name of the event that a fact is a part of.
func (f Fact) Event() string {
	name, _, _ := strings.Cut(string(f), ".")
	return name
}

// outer returns the fact that f is a field of; an event is its own.
func (f Fact) outer() Fact {
	if i := strings.LastIndexByte(string(f), '.'); i >= 0 {
		return f[:i]
	}
	return f
}

// Events returns one event of each type, without content.
func Events() []core.Event {
	return []core.Event{
		core.Opened{},
		core.Claimed{},
		core.PromptQueued{},
		core.TurnStarted{},
		core.Expanded{},
		core.Steered{},
		core.Phase{},
		core.TextDelta{},
		core.ThoughtStarted{},
		core.ThoughtDelta{},
		core.ThoughtEnded{},
		core.CallChanged{},
		core.CallArgs{},
		core.CallOutput{},
		core.Asked{},
		core.Answered{},
		core.PlanChanged{},
		core.UsageChanged{},
		core.TitleChanged{},
		core.Archived{},
		core.SettingsChanged{},
		core.Bound{},
		core.Notice{},
		core.Missing{},
		core.FellBack{},
		core.Instructed{},
		core.Briefed{},
		core.Flagged{},
		core.Compacted{},
		core.Shortened{},
		core.Reverted{},
		core.Cited{},
		core.Moved{},
		core.Truncated{},
		core.TurnEnded{},
		core.Foreign{},
		core.Offered{},
		core.Unknown{},
	}
}

// Blocks returns one block of each type, without content.
func Blocks() []core.Block {
	return []core.Block{core.Text{}, core.Image{}, core.Audio{}, core.Link{}, core.Resource{}, core.Diff{}, core.Terminal{}}
}

// asks lists the fields of core.Ask that each kind of it has.
var asks = map[core.AskKind][]string{
	core.AskApproval: {"Text", "Options", "Deadline", "Remember", "Always", "Hard", "About"},
	core.AskConsent:  {"Text", "Options", "Deadline", "Hard", "Person"},
	core.AskQuestion: {"Text", "Options", "URL", "Freeform", "Later", "Deadline", "Secret"},
}

// ids are the types of values by which a gateway finds things again, and that each makes for itself.
var ids = []reflect.Type{
	reflect.TypeFor[core.SessionID](), reflect.TypeFor[core.TurnID](), reflect.TypeFor[core.MessageID](), reflect.TypeFor[core.ThoughtID](),
	reflect.TypeFor[core.AskID](), reflect.TypeFor[core.CallID](), reflect.TypeFor[core.Pos](),
}

// child is an id that is a fact: it says that a call is the work of a sub-agent.
const child Fact = "CallChanged.Call.Child"

// leaves are the types whose values are one fact although they have parts.
var leaves = []reflect.Type{
	reflect.TypeFor[json.RawMessage](), reflect.TypeFor[[]byte](), reflect.TypeFor[[]string](), reflect.TypeFor[time.Time](),
	reflect.TypeFor[core.Choices](), reflect.TypeFor[*core.Call](), reflect.TypeFor[*float64](), reflect.TypeFor[*core.Refused](), reflect.TypeFor[[2]int](), reflect.TypeFor[core.Expense](),
}

// Facts returns all facts, in the order of Events.
func Facts() (list []Fact) {
	seen := map[Fact]bool{}
	for _, ev := range Events() {
		for kind := range asks {
			full := reflect.New(reflect.TypeOf(ev)).Elem()
			fill(full)
			if asked, ok := full.Interface().(core.Asked); ok {
				asked.Ask.Kind = kind
				full.Set(reflect.ValueOf(asked))
			}
			Walk(full.Interface().(core.Event), func(f Fact, _ reflect.Value) {
				if !seen[f] {
					seen[f] = true
					list = append(list, f)
				}
			})
		}
	}
	return list
}

// fill gives each list in v one element, and one of each type of block.
func fill(v reflect.Value) {
	switch {
	case slices.Contains(leaves, v.Type()) || slices.Contains(ids, v.Type()):
	case v.Type() == reflect.TypeFor[[]core.Block]():
		v.Set(reflect.ValueOf(Blocks()))
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	}
}

// Walk calls visit for each fact that an event has, with its value, which visit may change: the
// changed event is returned, and ev stays as it is. That it happened comes first, and has no valid
// value.
func Walk(ev core.Event, visit func(Fact, reflect.Value)) core.Event {
	v := reflect.New(reflect.TypeOf(ev)).Elem()
	v.Set(reflect.ValueOf(ev))
	name := Fact(v.Type().Name())
	visit(name, reflect.Value{})
	walk(name, v, visit)
	return v.Interface().(core.Event)
}

func walk(at Fact, v reflect.Value, visit func(Fact, reflect.Value)) {
	switch t := v.Type(); {
	case slices.Contains(ids, t) && at != child:
	case slices.Contains(leaves, t), at == child:
		visit(at, v)
	case t == reflect.TypeFor[[]core.Block]():
		v.Set(cloned(v))
		for i := range v.Len() {
			b := reflect.New(v.Index(i).Elem().Type()).Elem()
			b.Set(v.Index(i).Elem())
			walk(at+"."+Fact(b.Type().Name()), b, visit)
			v.Index(i).Set(b)
		}
	case t.Kind() == reflect.Slice:
		v.Set(cloned(v))
		for i := range v.Len() {
			walk(at, v.Index(i), visit)
		}
	case t == reflect.TypeFor[core.Ask]():
		kind := v.Interface().(core.Ask).Kind
		for _, name := range asks[kind] {
			walk(Fact(at.Event())+"."+Fact(kind)+"."+Fact(name), v.FieldByName(name), visit)
		}
	case t.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := t.Field(i); f.IsExported() {
				walk(at+"."+Fact(f.Name), v.Field(i), visit)
			}
		}
	default:
		visit(at, v)
	}
}

// cloned returns a list with the same elements.
func cloned(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(c, v)
	return c
}
