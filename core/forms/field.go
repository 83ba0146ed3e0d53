package forms

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// The ids of the options of a field's question. Those of its choices begin with choicePrefix.
const (
	optionYes     = "yes"
	optionNo      = "no"
	optionSkip    = "skip"    // the field is left out
	optionDefault = "default" // the field's default is taken
	choicePrefix  = "choice-"
)

// Ask returns the question that asks a user for the field. Invisible characters are left
// out of its texts.
func (f Field) Ask() core.Ask {
	a := core.Ask{Kind: core.AskQuestion, Text: display.Seen(cmp.Or(f.title, f.Name))}
	if f.description != "" {
		a.Text += ": " + display.Seen(f.description)
	}
	switch {
	case f.kind == "boolean":
		a.Options = []core.Option{{ID: optionYes, Label: "Yes"}, {ID: optionNo, Label: "No"}}
	case f.kind == "array":
		a.Freeform = true
		var titles []string
		for _, c := range f.choices {
			titles = append(titles, display.Seen(c.title))
		}
		a.Text += " (any of these, with commas between them: " + strings.Join(titles, ", ") + ")"
	case f.choices != nil:
		for i, c := range f.choices {
			a.Options = append(a.Options, core.Option{
				ID: choicePrefix + strconv.Itoa(i), Label: display.Seen(c.title), Description: display.Seen(c.description),
			})
		}
	default:
		a.Freeform = true
		if f.kind == "integer" || f.kind == "number" {
			a.Text += " (a number)"
		}
	}
	if f.preset != nil {
		preset := display.Seen(strings.Trim(string(f.preset), `"`))
		a.Text += " [" + preset + "]"
		a.Options = append(a.Options, core.Option{ID: optionDefault, Label: "As it stands: " + preset})
	} else if !f.Required {
		a.Options = append(a.Options, core.Option{ID: optionSkip, Label: "Leave it out"})
	}
	return a
}

// Value returns the field's value, as JSON, from an answer to its question; nil: the field is
// left out. Only an option of the question or a text that is not blank counts. The error
// tells the user what an answer has to be.
func (f Field) Value(r core.Reply) (json.RawMessage, error) {
	switch {
	case r.Option != "":
		return f.option(r.Option)
	case strings.TrimSpace(r.Text) == "":
		return nil, errors.New("please give an answer, or decline")
	case f.kind == "boolean":
		return yesOrNo(strings.TrimSpace(r.Text))
	case f.kind == "integer", f.kind == "number":
		return f.number(strings.TrimSpace(r.Text))
	case f.kind == "array":
		return f.several(r.Text)
	case f.choices == nil:
		return f.text(r.Text)
	}
	if c, ok := f.called(r.Text); ok {
		return encode(c.value), nil
	}
	return nil, errNoOption
}

var errNoOption = errors.New("please choose one of the answers")

// option returns the value of an option.
func (f Field) option(id string) (json.RawMessage, error) {
	if !Of(f.Ask()).Offers(id) {
		return nil, errNoOption
	}
	switch id {
	case optionSkip:
		return nil, nil
	case optionDefault:
		return f.preset, nil
	case optionYes, optionNo:
		return yesOrNo(id)
	}
	i, err := strconv.Atoi(strings.TrimPrefix(id, choicePrefix))
	if err != nil {
		return nil, errNoOption
	}
	return encode(f.choices[i].value), nil
}

func yesOrNo(s string) (json.RawMessage, error) {
	switch strings.ToLower(s) {
	case optionYes, "true", "y":
		return json.RawMessage("true"), nil
	case optionNo, "false", "n":
		return json.RawMessage("false"), nil
	}
	return nil, errors.New("please answer yes or no")
}

func (f Field) text(s string) (json.RawMessage, error) {
	switch n := len([]rune(s)); {
	case n < f.shortest:
		return nil, fmt.Errorf("it must have at least %d characters", f.shortest)
	case f.longest != nil && n > *f.longest:
		return nil, fmt.Errorf("it must have at most %d characters", *f.longest)
	}
	return encode(s), nil
}

func (f Field) number(s string) (json.RawMessage, error) {
	n, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		return nil, errors.New("please answer with a number")
	case f.kind == "integer" && n != math.Trunc(n):
		return nil, errors.New("please answer with a whole number")
	case f.least != nil && n < *f.least:
		return nil, fmt.Errorf("it must be at least %g", *f.least)
	case f.most != nil && n > *f.most:
		return nil, fmt.Errorf("it must be at most %g", *f.most)
	case f.kind == "integer":
		return json.RawMessage(strconv.FormatFloat(n, 'f', 0, 64)), nil
	}
	return encode(n), nil
}

// several returns the array of the values between commas.
func (f Field) several(s string) (json.RawMessage, error) {
	chosen := []string{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		c, ok := f.called(part)
		switch {
		case ok:
			part = c.value
		case f.choices != nil:
			return nil, fmt.Errorf("%q is none of the answers", part)
		}
		chosen = append(chosen, part)
	}
	switch {
	case len(chosen) < f.fewest:
		return nil, fmt.Errorf("please choose at least %d", f.fewest)
	case f.many != nil && len(chosen) > *f.many:
		return nil, fmt.Errorf("please choose at most %d", *f.many)
	}
	return encode(chosen), nil
}

// called returns the choice that has a value or a title.
func (f Field) called(s string) (choice, bool) {
	s = strings.TrimSpace(s)
	i := slices.IndexFunc(f.choices, func(c choice) bool {
		return strings.EqualFold(c.value, s) || strings.EqualFold(c.title, s)
	})
	if i < 0 {
		return choice{}, false
	}
	return f.choices[i], true
}

// encode returns texts and numbers as JSON, without escapes for HTML.
func encode(v any) json.RawMessage {
	b, _ := jsonscan.Append(nil, v) // texts and finite numbers can be encoded
	return b
}
