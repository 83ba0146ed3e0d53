package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/forms"
)

// maxRetries limits the repetitions of a field after invalid answers.
const maxRetries = 3

// elicit puts a server's question to the session's user. A form is asked field by field, because
// every client can show that. Only a real answer counts as one.
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
		action, err := f.visit(ctx, q.URL)
		return acted(action), err
	case "", proto.ModeForm:
	default:
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "elicitation/create: there is no mode %.40q", q.Mode)
	}
	fields, err := forms.Fields(q.Schema)
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
			content[field.Name] = value
		}
	}
	return wire.JSON(map[string]any{"action": proto.ActionAccept, "content": content}), nil
}

func acted(action string) json.RawMessage { return wire.JSON(map[string]string{"action": action}) }

// form is one question of a server.
type form struct {
	u       *upstream
	message string
}

// put asks the user. The text names the server, because the rest is in the server's own words.
func (f form) put(ctx context.Context, a core.Ask) (core.Reply, string, error) {
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

// The ids of our own options.
const (
	optionYes = "yes"
	optionNo  = "no"
)

// confirm asks a question without fields.
func (f form) confirm(ctx context.Context) (json.RawMessage, error) {
	accept, decline := core.Option{ID: optionYes, Label: "Accept"}, core.Option{ID: optionNo, Label: "Decline"}
	r, action, err := f.put(ctx, core.Ask{Text: f.message, Options: []core.Option{accept, decline}})
	switch {
	case action != proto.ActionAccept:
		return acted(action), err
	case r.Option != optionYes:
		return acted(proto.ActionDecline), nil
	}
	return wire.JSON(map[string]any{"action": proto.ActionAccept, "content": struct{}{}}), nil
}

// visit asks the user to open an address. We do not open it: the user sees the address and
// decides.
func (f form) visit(ctx context.Context, address string) (action string, err error) {
	host, err := hostOf(address)
	if err != nil {
		return "", err
	}
	r, action, err := f.put(ctx, core.Ask{
		Text: fmt.Sprintf("%s\nIt asks you to open a page at %s.", f.message, host), URL: address,
		Options: []core.Option{{ID: optionYes, Label: "I have opened it"}, {ID: optionNo, Label: "Decline"}},
	})
	if action == proto.ActionAccept && r.Option == optionNo {
		action = proto.ActionDecline
	}
	return action, err
}

// page is a page that a server requires its user to open.
type page struct {
	Mode    string `json:"mode"`
	URL     string `json:"url"`
	Message string `json:"message"`
}

// requiredPages returns the pages that an error requires the user to open first
// (URLElicitationRequired); nil: none.
func requiredPages(err error) []page {
	var e *jrpc2.Error
	if !errors.As(err, &e) || e.Code != proto.CodePageRequired {
		return nil
	}
	var data struct {
		Pages []page `json:"elicitations"`
	}
	if wire.Unmarshal(e.Data, &data) != nil || len(data.Pages) == 0 || len(data.Pages) > maxAsking {
		return nil
	}
	for _, p := range data.Pages {
		if _, err := hostOf(p.URL); err != nil || p.Mode != proto.ModeURL {
			return nil
		}
	}
	return data.Pages
}

// visitAll asks the user to open pages, and reports whether the user has opened all of them.
func (u *upstream) visitAll(ctx context.Context, pages []page) (bool, error) {
	for _, p := range pages {
		action, err := form{u: u, message: display.Seen(p.Message)}.visit(ctx, p.URL)
		if err != nil || action != proto.ActionAccept {
			return false, err
		}
	}
	return true, nil
}

// toOpen lists pages for the model, which can tell the user about them.
func toOpen(pages []page) string {
	var list []string
	for _, p := range pages {
		list = append(list, p.URL+" ("+display.Plain(p.Message)+")")
	}
	return strings.Join(list, ", ")
}

// hostOf returns the host of the address of a page.
func hostOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
		display.Plain(address) != address {
		return "", jrpc2.Errorf(jrpc2.InvalidParams, "elicitation/create: the address is not an http or https URL")
	}
	return u.Host, nil
}

// ask asks for a field until an answer is valid. A nil value with accept: it is left out.
func (f form) ask(ctx context.Context, field forms.Field, first bool) (json.RawMessage, string, error) {
	a := field.Ask()
	text := a.Text
	if first && f.message != "" {
		text = f.message + "\n" + text
	}
	complaint := ""
	for range maxRetries {
		r, action, err := f.put(ctx, core.Ask{Text: text + complaint, Options: a.Options, Freeform: a.Freeform})
		if action != proto.ActionAccept {
			return nil, action, err
		}
		value, err := field.Value(r)
		if err == nil {
			return value, proto.ActionAccept, nil
		}
		complaint = "\n(" + err.Error() + ")"
	}
	return nil, proto.ActionCancel, nil
}
