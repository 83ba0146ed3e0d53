package forms

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/core"
)

// one returns the field a of a form that has no other, where it is not required.
func one(t *testing.T, schema string) Field {
	t.Helper()
	list, err := Fields(json.RawMessage(`{"type":"object","properties":{"a":` + schema + `}}`))
	if err != nil || len(list) != 1 {
		t.Fatalf("%s: %d fields, %v", schema, len(list), err)
	}
	return list[0]
}

// Fields come in the form's order, and a form may have none.
func TestFields(t *testing.T) {
	for _, c := range []struct {
		schema string
		want   []string // "!" behind a name: it is required
	}{
		{``, nil},
		{`null`, nil},
		{`{}`, nil},
		{`{"type":"object","properties":null}`, nil},
		{`{"properties":{}}`, nil},
		{`{"required":["a","x"],"properties":{"z":{},"a":{"type":"string"},"\u0062":{}},"$schema":"s"}`, []string{"z", "a!", "b"}},
		{`{"properties":{"a":{},"A":{}},"required":["A"]}`, []string{"a", "A!"}},
	} {
		list, err := Fields(json.RawMessage(c.schema))
		var got []string
		for _, f := range list {
			name := f.Name
			if f.Required {
				name += "!"
			}
			got = append(got, name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v, want %q", c.schema, got, err, c.want)
		}
	}
}

// A form that cannot be understood is refused, with the place of the mistake.
func TestFieldsRefused(t *testing.T) {
	many := `{"properties":{"a":{}`
	for i := range MaxFields {
		many += fmt.Sprintf(`,"a%d":{}`, i)
	}
	many += "}}"
	for _, c := range []struct{ schema, want string }{
		{`{`, "not valid JSON"},
		{`[]`, "expected an object"},
		{`{"properties":[]}`, "its properties are no object"},
		{`{"properties":{"a":1}}`, `"a": expected an object`},
		{`{"properties":{"a":{"minLength":"1"}}}`, `"a": minLength: it cannot be string`},
		{`{"properties":{"a":{"oneOf":[{"const":1}]}}}`, `"a": oneOf: const: it cannot be number`},
		{`{"properties":{"a":{"type":"string","type":"boolean"}}}`, `"a": duplicate member "type"`},
		{`{"properties":{},"properties":{}}`, `duplicate member "properties"`},
		{`{"properties":{"a":{"items":{"enum":["x"],"enum":["y"]}}}}`, `"a": items: duplicate member "enum"`},
		{`{"properties":{"a":{},"\u0061":{}}}`, `duplicate member "a"`},
		{`{"Properties":{"a":{}}}`, `the member "Properties" must be written "properties"`},
		{`{"properties":{"a":{"maxlength":1}}}`, `"a": the member "maxlength" must be written "maxLength"`},
		{`{"properties":{"a":{"oneOf":[{"const":"x","TITLE":"y"}]}}}`, `"a": oneOf: the member "TITLE" must be`},
		{many, "more than 20 fields"},
	} {
		if list, err := Fields(json.RawMessage(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d fields, %v, want %q", c.schema, len(list), err, c.want)
		}
	}
}

func TestFieldAsk(t *testing.T) {
	for _, c := range []struct {
		schema   string
		text     string
		options  []string // id=label
		freeform bool
	}{
		{`{}`, "a", []string{"skip=Leave it out"}, true},
		{`{"title":"Na\u200bme","description":"Yo\u0007urs"}`, "Name: Yours", []string{"skip=Leave it out"}, true},
		{`{"type":"integer","default":42}`, "a (a number) [42]", []string{"default=As it stands: 42"}, true},
		{`{"type":"string","default":"b\u200b"}`, `a [b\u200b]`, []string{`default=As it stands: b\u200b`}, true},
		{`{"default":null}`, "a", []string{"skip=Leave it out"}, true},
		{`{"type":"boolean"}`, "a", []string{"yes=Yes", "no=No", "skip=Leave it out"}, false},
		{`{"type":"string","enum":["x","y"],"enumNames":["Ex"]}`, "a", []string{"choice-0=Ex", "choice-1=y", "skip=Leave it out"}, false},
		{
			`{"type":"string","oneOf":[{"const":"x","title":"E\u200bx"},{"const":"y"}]}`, "a",
			[]string{"choice-0=Ex", "choice-1=y", "skip=Leave it out"},
			false,
		},
		{
			`{"type":"array","items":{"anyOf":[{"const":"x","title":"Ex"}],"oneOf":[{"const":"y"}],"enum":["z"]}}`,
			"a (any of these, with commas between them: Ex, y, z)",
			[]string{"skip=Leave it out"},
			true,
		},
	} {
		a := one(t, c.schema).Ask()
		var options []string
		for _, o := range a.Options {
			options = append(options, o.ID+"="+o.Label)
		}
		if a.Kind != core.AskQuestion || a.Text != c.text || a.Freeform != c.freeform || !slices.Equal(options, c.options) {
			t.Errorf("%s: got %q, %q, %t", c.schema, a.Text, options, a.Freeform)
		}
	}
}

// A field that is required cannot be left out.
func TestRequiredFieldIsNotSkipped(t *testing.T) {
	list, err := Fields(json.RawMessage(`{"properties":{"a":{"type":"boolean"}},"required":["a"]}`))
	if err != nil || len(list) != 1 || len(list[0].Ask().Options) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// An answer becomes a value of the field's type within its bounds, or is refused in words for the user.
func TestFieldValue(t *testing.T) {
	option := func(id string) core.Reply { return core.Reply{Outcome: core.OutcomeAnswered, Option: id} }
	text := func(s string) core.Reply { return core.Reply{Outcome: core.OutcomeAnswered, Text: s} }
	const (
		enum = `{"enum":["x","y<"],"enumNames":["Ex","Why"]}`
		list = `{"type":"array","items":{"anyOf":[{"const":"x","title":"Ex"},{"const":"y"}]},"minItems":1,"maxItems":2}`
		age  = `{"type":"integer","minimum":18,"maximum":99.5}`
		name = `{"type":"string","minLength":2,"maxLength":3}`
	)
	for _, c := range []struct {
		schema string
		reply  core.Reply
		want   string // "": it is left out
		fault  string
	}{
		{`{}`, option("skip"), "", ""},
		{`{}`, text("<a> & \"b\""), `"<a> & \"b\""`, ""},
		{`{"default":"<x>"}`, option("default"), `"<x>"`, ""},
		{`{"type":"integer","default":1.50}`, option("default"), `1.50`, ""},
		{name, text("é"), "", "at least 2 characters"},
		{name, text("ééé"), `"ééé"`, ""},
		{name, text("éééé"), "", "at most 3 characters"},
		{`{"type":"boolean"}`, option("yes"), "true", ""},
		{`{"type":"boolean"}`, text(" No "), "false", ""},
		{`{"type":"boolean"}`, text("true"), "true", ""},
		{`{"type":"boolean"}`, text("perhaps"), "", "yes or no"},
		{age, text(" 42 "), "42", ""},
		{age, text("17"), "", "at least 18"},
		{age, text("100"), "", "at most 99.5"},
		{age, text("18.5"), "", "a whole number"},
		{age, text("1e2000"), "", "with a number"},
		{`{"type":"number"}`, text("NaN"), "", "with a number"},
		{`{"type":"number"}`, text("1.5"), "1.5", ""},
		{enum, option("choice-1"), `"y<"`, ""},
		{enum, option("choice-2"), "", "choose one"},
		{enum, text(" why"), `"y<"`, ""},
		{enum, text("X"), `"x"`, ""},
		{enum, text("z"), "", "choose one"},
		{list, text("ex, Y,"), `["x","y"]`, ""},
		{list, text("ex,z"), "", `"z" is none of the answers`},
		{list, text(" , "), "", "at least 1"},
		{list, text("x,y,x"), "", "at most 2"},
		{`{"type":"array"}`, text("p, q"), `["p","q"]`, ""},
	} {
		got, err := one(t, c.schema).Value(c.reply)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if string(got) != c.want || !strings.Contains(fault, c.fault) || (fault == "") != (c.fault == "") {
			t.Errorf("%s, %+v: got %s, %q, want %s, %q", c.schema, c.reply, got, fault, c.want, c.fault)
		}
	}
}

// An answer that was not offered, or says nothing, is none.
func TestFieldValueRefused(t *testing.T) {
	answered := func(option, text string) core.Reply {
		return core.Reply{Outcome: core.OutcomeAnswered, Option: option, Text: text}
	}
	required := func(schema string) Field {
		f := one(t, schema)
		f.Required = true
		return f
	}
	for _, c := range []struct {
		field Field
		reply core.Reply
	}{
		{required(`{}`), answered("skip", "")},
		{required(`{}`), answered("skip", "text")},
		{required(`{"default":"x"}`), answered("skip", "")},
		{one(t, `{"default":"x"}`), answered("skip", "")},
		{one(t, `{}`), answered("default", "")},
		{one(t, `{}`), answered("", "")},
		{one(t, `{}`), answered("", " \n")},
		{one(t, `{}`), answered("choice-0", "text")},
		{one(t, `{"type":"boolean"}`), answered("true", "")},
		{one(t, `{"type":"integer"}`), answered("yes", "1")},
		{one(t, `{"type":"array"}`), answered("", "")},
		{one(t, `{"enum":["","x"]}`), answered("", "")},
		{one(t, `{"enum":["x"]}`), answered("0", "")},
		{one(t, `{"enum":["x"]}`), answered("choice-+0", "")},
		{one(t, `{"enum":["x"]}`), answered("choice-1", "x")},
	} {
		if got, err := c.field.Value(c.reply); err == nil {
			t.Errorf("%+v, %+v: got %s", c.field, c.reply, got)
		}
	}
}

// FuzzForm: whatever a server's form is and whatever is answered, a value is JSON of the field's type, and every
// option that is offered has an effect.
func FuzzForm(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"boolean"},"b":{"type":"integer","default":1}}}`), "yes")
	f.Add([]byte(`{"properties":{"a":{"enum":["x"]},"b":{"type":"array","items":{"enum":["x"]}}},"required":["a"]}`), "x, y")
	f.Add([]byte(`{"properties":{"a":{"type":"number","minimum":1e3}}}`), "0x1p-2")
	f.Fuzz(func(t *testing.T, schema []byte, text string) {
		list, err := Fields(schema)
		if err == nil && len(schema) > 0 && !json.Valid(schema) {
			t.Error("what is no JSON has fields")
		}
		for _, field := range list {
			a := field.Ask()
			for _, o := range a.Options {
				if _, err := field.Value(core.Reply{Outcome: core.OutcomeAnswered, Option: o.ID}); err != nil {
					t.Errorf("%s: option %s is offered and refused: %v", schema, o.ID, err)
				}
			}
			value, err := field.Value(core.Reply{Outcome: core.OutcomeAnswered, Text: text})
			if err != nil {
				continue
			}
			var v any
			if err := json.Unmarshal(value, &v); err != nil {
				t.Fatalf("%s, %q: %s: %v", schema, text, value, err)
			}
			fits := false
			switch v.(type) {
			case bool:
				fits = field.kind == "boolean"
			case float64:
				fits = field.kind == "integer" || field.kind == "number"
			case []any:
				fits = field.kind == "array"
			case string:
				fits = !slices.Contains([]string{"boolean", "integer", "number", "array"}, field.kind)
			}
			if !fits {
				t.Errorf("%s, %q: %s does not fit %q", schema, text, value, field.kind)
			}
		}
	})
}

// What a form says about a choice is shown with its answer.
func TestDescriptionsOfChoices(t *testing.T) {
	list, err := Fields([]byte(`{"properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X","description":"the \u200bfirst"},{"const":"y"}]}}}`))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	options := list[0].Ask().Options
	if len(options) < 2 || options[0].Description != "the first" || options[0].Label != "X" || options[1].Description != "" {
		t.Errorf("%+v", options)
	}
}
