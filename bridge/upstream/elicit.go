package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
)

const (
	// maxFields is how many questions one form may hold.
	maxFields = 20
	// maxRetries is how often a field is asked for again after an answer that does not
	// fit.
	maxRetries = 3
)

// elicit puts a server's question to the session's user. A form is asked field by
// field, since that is what every client can show. Nothing but an answer is ever
// taken for one.
func (u *upstream) elicit(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var q struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		URL     string          `json:"url"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := wire.Unmarshal(params, &q); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "elicitation/create: %v", err)
	}
	f := form{u: u, message: display.Seen(q.Message)}
	switch q.Mode {
	case proto.ModeURL:
		return f.visit(ctx, q.URL)
	case "", proto.ModeForm:
	default:
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "elicitation/create: there is no mode %.40q", q.Mode)
	}
	fields, err := parseFields(q.Schema)
	if err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "elicitation/create: the form: %v", err)
	}
	if len(fields) == 0 {
		return f.confirm(ctx)
	}
	content := map[string]json.RawMessage{}
	for i, field := range fields {
		value, action, err := f.ask(ctx, field, i == 0)
		if err != nil || action != proto.ActionAccept {
			return acted(action), err
		}
		if value != nil {
			content[field.name] = value
		}
	}
	return wire.JSON(map[string]any{"action": proto.ActionAccept, "content": content}), nil
}

func acted(action string) json.RawMessage { return wire.JSON(map[string]string{"action": action}) }

// form is one question of a server's.
type form struct {
	u       *upstream
	message string
}

// put asks the user. The text says who wants to know, since the rest is the
// server's own words.
func (f form) put(ctx context.Context, text string, freeform bool, options ...core.Option) (core.Reply, string, error) {
	return f.send(ctx, core.Ask{Text: text, Options: options, Freeform: freeform})
}

// send is put for any question.
func (f form) send(ctx context.Context, a core.Ask) (core.Reply, string, error) {
	a.Kind, a.Text = core.AskQuestion, "The MCP server "+f.u.server.Name+" asks: "+a.Text
	r, err := f.u.host.Ask(ctx, a)
	if err != nil {
		return r, proto.ActionCancel, err
	}
	switch r.Outcome {
	case core.OutcomeAnswered:
		return r, proto.ActionAccept, nil
	case core.OutcomeDeclined:
		return r, proto.ActionDecline, nil
	case core.OutcomeDecided, core.OutcomeLater, core.OutcomeExpired, core.OutcomeAlone, core.OutcomeCanceled:
	}
	return r, proto.ActionCancel, nil
}

// The ids of our own options. A field's own have another beginning.
const (
	optionYes  = "yes"
	optionNo   = "no"
	optionSkip = "skip"
)

// confirm asks a question without fields.
func (f form) confirm(ctx context.Context) (json.RawMessage, error) {
	r, action, err := f.put(ctx, f.message, false, core.Option{ID: optionYes, Label: "Accept"}, core.Option{ID: optionNo, Label: "Decline"})
	switch {
	case action != proto.ActionAccept:
		return acted(action), err
	case r.Option != optionYes:
		return acted(proto.ActionDecline), nil
	}
	return wire.JSON(map[string]any{"action": proto.ActionAccept, "content": struct{}{}}), nil
}

// visit asks the user to open an address. We do not open it: the user sees where it
// leads and goes there, or not.
func (f form) visit(ctx context.Context, address string) (json.RawMessage, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || display.Plain(address) != address {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "elicitation/create: the address is no http or https URL")
	}
	r, action, err := f.send(ctx, core.Ask{
		Text: fmt.Sprintf("%s\nIt wants you to open a page at %s.", f.message, u.Host), URL: address,
		Options: []core.Option{{ID: optionYes, Label: "I have opened it"}, {ID: optionNo, Label: "Decline"}},
	})
	if action == proto.ActionAccept && r.Option == optionNo {
		action = proto.ActionDecline
	}
	return acted(action), err
}

// field is a member that a form asks for.
type field struct {
	name     string
	required bool

	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []choice        `json:"oneOf"`
	Items       choices         `json:"items"`
	Default     json.RawMessage `json:"default"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinLength   int             `json:"minLength"`
	MaxLength   *int            `json:"maxLength"`
	MinItems    int             `json:"minItems"`
	MaxItems    *int            `json:"maxItems"`
}

type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

type choices struct {
	Enum  []string `json:"enum"`
	AnyOf []choice `json:"anyOf"`
	OneOf []choice `json:"oneOf"`
}

// parseFields reads a form's fields, in its order.
func parseFields(schema json.RawMessage) ([]field, error) {
	if present(schema) == nil {
		return nil, nil
	}
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := wire.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	if present(s.Properties) == nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("its properties are no object")
	}
	var list []field
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		f := field{name: name, required: slices.Contains(s.Required, name)}
		var one json.RawMessage
		if err := d.Decode(&one); err != nil {
			return nil, err
		}
		if err := wire.Unmarshal(one, &f); err != nil {
			return nil, fmt.Errorf("%q: %v", name, err)
		}
		if list = append(list, f); len(list) > maxFields {
			return nil, fmt.Errorf("it has more than %d fields", maxFields)
		}
	}
	return list, nil
}

// choices lists what can be answered; nil: anything that fits.
func (f field) choices() []choice {
	var list []choice
	for _, c := range slices.Concat(f.OneOf, f.Items.AnyOf, f.Items.OneOf) {
		list = append(list, choice{c.Const, orElse(c.Title, c.Const)})
	}
	for i, v := range slices.Concat(f.Enum, f.Items.Enum) {
		c := choice{v, v}
		if i < len(f.EnumNames) {
			c.Title = f.EnumNames[i]
		}
		list = append(list, c)
	}
	return list
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// ask asks for a field until an answer fits. A nil value with accept: it is left
// out.
func (f form) ask(ctx context.Context, field field, first bool) (json.RawMessage, string, error) {
	text, options, freeform := field.question()
	if first && f.message != "" {
		text = f.message + "\n" + text
	}
	complaint := ""
	for range maxRetries {
		r, action, err := f.put(ctx, text+complaint, freeform, options...)
		if action != proto.ActionAccept {
			return nil, action, err
		}
		if r.Option == optionSkip {
			return nil, proto.ActionAccept, nil
		}
		value, err := field.value(r)
		if err == nil {
			return value, proto.ActionAccept, nil
		}
		complaint = "\n(" + err.Error() + ")"
	}
	return nil, proto.ActionCancel, nil
}

// question puts a field into words.
func (f field) question() (text string, options []core.Option, freeform bool) {
	text = display.Seen(orElse(f.Title, f.name))
	if f.Description != "" {
		text += ": " + display.Seen(f.Description)
	}
	list := f.choices()
	switch {
	case f.Type == "boolean":
		options = []core.Option{{ID: optionYes, Label: "Yes"}, {ID: optionNo, Label: "No"}}
	case f.Type == "array":
		freeform = true
		var names []string
		for _, c := range list {
			names = append(names, display.Seen(c.Title))
		}
		text += " (any of these, with commas between them: " + strings.Join(names, ", ") + ")"
	case list != nil:
		for i, c := range list {
			options = append(options, core.Option{ID: "choice-" + strconv.Itoa(i), Label: display.Seen(c.Title)})
		}
	default:
		freeform = true
		if f.Type == "integer" || f.Type == "number" {
			text += " (a number)"
		}
	}
	if d := present(f.Default); d != nil {
		text += " [" + display.Seen(strings.Trim(string(d), `"`)) + "]"
		options = append(options, core.Option{ID: optionDefault, Label: "As it stands: " + display.Seen(strings.Trim(string(d), `"`))})
	} else if !f.required {
		options = append(options, core.Option{ID: optionSkip, Label: "Leave it out"})
	}
	return text, options, freeform
}

const optionDefault = "default"

// value makes an answer into a field's value; the error is for the user.
func (f field) value(r core.Reply) (json.RawMessage, error) {
	list := f.choices()
	if r.Option == optionDefault && f.Default != nil {
		return f.Default, nil
	}
	switch f.Type {
	case "boolean":
		switch strings.ToLower(orElse(r.Option, strings.TrimSpace(r.Text))) {
		case optionYes, "true", "y":
			return json.RawMessage("true"), nil
		case optionNo, "false", "n":
			return json.RawMessage("false"), nil
		}
		return nil, fmt.Errorf("please answer yes or no")
	case "integer", "number":
		return f.number(strings.TrimSpace(r.Text))
	case "array":
		return f.several(list, r.Text)
	}
	if list == nil {
		return f.text(r.Text)
	}
	if i, err := strconv.Atoi(strings.TrimPrefix(r.Option, "choice-")); err == nil && i >= 0 && i < len(list) {
		return wire.JSON(list[i].Const), nil
	}
	if c, ok := find(list, r.Text); ok {
		return wire.JSON(c.Const), nil
	}
	return nil, fmt.Errorf("please choose one of the answers")
}

func (f field) text(s string) (json.RawMessage, error) {
	switch n := len([]rune(s)); {
	case n < f.MinLength:
		return nil, fmt.Errorf("it must have at least %d characters", f.MinLength)
	case f.MaxLength != nil && n > *f.MaxLength:
		return nil, fmt.Errorf("it must have at most %d characters", *f.MaxLength)
	}
	return wire.JSON(s), nil
}

func (f field) number(s string) (json.RawMessage, error) {
	n, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		return nil, fmt.Errorf("please answer with a number")
	case f.Type == "integer" && n != math.Trunc(n):
		return nil, fmt.Errorf("please answer with a whole number")
	case f.Minimum != nil && n < *f.Minimum:
		return nil, fmt.Errorf("it must be at least %g", *f.Minimum)
	case f.Maximum != nil && n > *f.Maximum:
		return nil, fmt.Errorf("it must be at most %g", *f.Maximum)
	}
	if f.Type == "integer" {
		return json.RawMessage(strconv.FormatFloat(n, 'f', 0, 64)), nil
	}
	return wire.JSON(n), nil
}

func (f field) several(list []choice, s string) (json.RawMessage, error) {
	chosen := []string{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		c, ok := find(list, part)
		if !ok && list != nil {
			return nil, fmt.Errorf("%q is none of the answers", part)
		}
		if !ok {
			c.Const = part
		}
		chosen = append(chosen, c.Const)
	}
	switch {
	case len(chosen) < f.MinItems:
		return nil, fmt.Errorf("please choose at least %d", f.MinItems)
	case f.MaxItems != nil && len(chosen) > *f.MaxItems:
		return nil, fmt.Errorf("please choose at most %d", *f.MaxItems)
	}
	return wire.JSON(chosen), nil
}

// find finds a choice by what it is called.
func find(list []choice, s string) (choice, bool) {
	s = strings.TrimSpace(s)
	for _, c := range list {
		if strings.EqualFold(c.Const, s) || strings.EqualFold(c.Title, s) {
			return c, true
		}
	}
	return choice{}, false
}
