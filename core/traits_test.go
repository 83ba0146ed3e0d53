package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
)

// zeroEvents has one event of each type.
var zeroEvents = []Event{
	Opened{},
	Claimed{},
	PromptQueued{},
	TurnStarted{},
	Steered{},
	Expanded{},
	Phase{},
	TextDelta{},
	ThoughtStarted{},
	ThoughtDelta{},
	ThoughtEnded{},
	CallChanged{},
	CallArgs{},
	CallOutput{},
	Asked{},
	Answered{},
	PlanChanged{},
	UsageChanged{},
	TitleChanged{},
	SettingsChanged{},
	Bound{},
	Notice{},
	Missing{},
	FellBack{},
	Instructed{},
	Briefed{},
	Flagged{},
	Archived{},
	Compacted{},
	Shortened{},
	Reverted{},
	Cited{},
	Moved{},
	Truncated{},
	TurnEnded{},
	Foreign{},
	Offered{},
	Unknown{},
}

// The table has a row for every event of event.go, and for nothing else.
func TestEveryEventHasTraits(t *testing.T) {
	inTable := map[string]bool{}
	for _, d := range parse(t, "traits.go").Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "event" {
			inTable[f.Recv.List[0].Type.(*ast.Ident).Name] = true
		}
	}
	declared := map[string]bool{}
	ast.Inspect(parse(t, "event.go"), func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			declared[s.Name.Name] = true
		}
		return true
	})
	for _, ev := range zeroEvents {
		name := reflect.TypeOf(ev).Name()
		if !inTable[name] || !declared[name] {
			t.Errorf("%s: a row in traits.go: %t, a type in event.go: %t", name, inTable[name], declared[name])
		}
		delete(inTable, name)
	}
	for name := range inTable {
		t.Errorf("%s is missing in this test", name)
	}
}

func parse(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// What an event may do does not change by accident: a right to emit is a right of every back end.
func TestTraits(t *testing.T) {
	for _, tt := range []struct {
		trait traits
		want  string
	}{
		{byHost, "PlanChanged UsageChanged TitleChanged Bound Notice Foreign Offered"},
		{listed, "TurnStarted Steered TitleChanged SettingsChanged Flagged Archived Truncated TurnEnded"},
		{run, "TextDelta ThoughtDelta CallArgs CallOutput"},
		{live, "Phase"},
	} {
		if got := strings.Join(having(tt.trait), " "); got != tt.want {
			t.Errorf("trait %b: %s, want %s", tt.trait, got, tt.want)
		}
	}
	for _, tt := range []struct {
		trait   traits
		without string
	}{
		{byTurn, "Opened Claimed PromptQueued TurnStarted Steered Asked Answered SettingsChanged Missing Flagged Archived Reverted Truncated TurnEnded Unknown"},
		{forked, "Opened Claimed PromptQueued Phase Asked Answered Bound Archived Moved Truncated Unknown"},
	} {
		var rest []string
		for _, ev := range zeroEvents {
			if !is(ev, tt.trait) {
				rest = append(rest, reflect.TypeOf(ev).Name())
			}
		}
		if got := strings.Join(rest, " "); got != tt.without {
			t.Errorf("without trait %b: %s, want %s", tt.trait, got, tt.without)
		}
	}
	for _, ev := range zeroEvents {
		if s, _, ok := runOf(ev); ok != is(ev, run) || ok && reflect.TypeOf(s.delta("")) != reflect.TypeOf(ev) {
			t.Errorf("%T is a delta: %t, of %+v", ev, ok, s)
		}
	}
	if is(nil, byTurn|byHost|listed|forked|run|live) {
		t.Error("no event has traits")
	}
}

func having(trait traits) (names []string) {
	for _, ev := range zeroEvents {
		if is(ev, trait) {
			names = append(names, reflect.TypeOf(ev).Name())
		}
	}
	return names
}

// Events whose content may be large are counted with it.
func TestSizes(t *testing.T) {
	const want = "PromptQueued TurnStarted Steered ThoughtEnded CallChanged Bound Notice Missing FellBack Instructed " +
		"Briefed Compacted Foreign Unknown"
	var large []string
	for _, ev := range zeroEvents {
		full := reflect.New(reflect.TypeOf(ev)).Elem()
		fill(full)
		if eventSize(full.Interface().(Event)) > 1000 {
			large = append(large, reflect.TypeOf(ev).Name())
		}
	}
	if got := strings.Join(large, " "); got != want {
		t.Errorf("large with 1,000 bytes in each text: %s, want %s", got, want)
	}
}

// fill puts 1,000 bytes into every text of a value.
func fill(v reflect.Value) {
	text := strings.Repeat("x", 1000)
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Slice:
		switch v.Type() {
		case reflect.TypeFor[[]Block]():
			v.Set(reflect.ValueOf([]Block{Text{text}}))
		default:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				v.SetBytes([]byte(text))
			}
		}
	}
}
