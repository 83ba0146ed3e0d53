package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/core"
)

// The tools with which a model finds and calls those that it is not shown. They
// are the loop's own: a call of callTool is one of the tool that it names, and
// searchTool reads nothing but the list.
const (
	searchTool = "tool_search"
	callTool   = "call_tool"
)

const (
	// usualFound and mostFound are how many tools a search shows.
	usualFound, mostFound = 5, 20
	// maxFound bounds what a search shows, in bytes.
	maxFound = 48 << 10
	// maxShown bounds a tool's description, and its schema.
	maxShown = 16 << 10
)

// behindSearch leaves the native tools in the list, and shows the others only to
// those who look for them. Every tool can still be called by its name: a model
// that has seen it does so.
func (x *index) behindSearch(list []core.ToolSpec) []core.ToolSpec {
	var shown []core.ToolSpec
	var servers []string
	for _, t := range list {
		s := x.byName[t.Name]
		if s.Server == core.Native {
			shown = append(shown, t)
			continue
		}
		if !slices.Contains(servers, s.Server) {
			servers = append(servers, s.Server)
		}
		x.hidden = append(x.hidden, t)
	}
	x.byName[searchTool] = core.Spec{Server: core.Native, Name: searchTool, Title: "Search for tools", Kind: core.KindSearch, ReadOnly: true}
	x.byName[callTool] = core.Spec{Server: core.Native, Name: callTool, Title: "Call a tool", Kind: core.KindOther}
	return append(
		shown,
		core.ToolSpec{
			Name: searchTool,
			Description: "Finds tools that are not listed here, those of the MCP servers " + strings.Join(servers, ", ") +
				": what each is for, and its arguments. Use it before you say that something cannot be done. Call what it finds with " + callTool + ".",
			Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"Words for what the tool should do, or a part of its name. Empty: the names of all."},` +
				`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"How many to show; 5 if left out."}},"required":["query"]}`),
		},
		core.ToolSpec{
			Name:        callTool,
			Description: "Calls a tool that " + searchTool + " has found.",
			Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"The tool's name, as ` + searchTool + ` writes it."},` +
				`"arguments":{"type":"object","description":"The tool's arguments, which fit its schema."}},"required":["name","arguments"]}`),
		},
	)
}

// isOwn reports whether a call is of one of the loop's own tools, which are there
// only for who has to search.
func (h *heard) isOwn(name string) bool {
	return h.offered && h.spec.Server == core.Native && h.spec.Name == name
}

// throughCall makes of a call of callTool one of the tool that it names.
func (h *heard) throughCall(tools *index) {
	if h.bad != nil {
		return
	}
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(h.args, &p); err != nil || p.Name == "" {
		h.bad = fmt.Errorf(`it must be {"name": NAME, "arguments": {…}}`)
		return
	}
	spec, ok := tools.find(p.Name)
	if !ok || p.Name == callTool || p.Name == searchTool {
		h.spec, h.offered, h.args = spec, false, json.RawMessage("{}")
		return
	}
	h.spec = spec
	h.args, h.bad = arguments(core.Delta{Args: p.Args})
}

// tell answers a call of searchTool. It changes nothing, so nobody is asked.
func (h *heard) tell(ctx context.Context, t *core.Turn) error {
	call := h.proposed(t.ID())
	call.Args, call.State, call.Start, call.Why = h.args, core.Running, time.Now(), "it reads the list of tools and nothing else"
	if err := t.Emit(ctx, core.CallChanged{Call: call}); err != nil {
		return err
	}
	call.State, call.End, call.Content = core.Succeeded, time.Now(), []core.Block{core.Text{Text: h.found}}
	return t.Emit(ctx, core.CallChanged{Call: call})
}

// search says which of the tools that are not shown fit a call's arguments.
func (x *index) search(args json.RawMessage) string {
	var p struct {
		Query string  `json:"query"`
		Limit float64 `json:"limit"`
	}
	_ = json.Unmarshal(args, &p) // what cannot be read is not there: then all names are told
	if strings.TrimSpace(p.Query) == "" {
		return x.names()
	}
	n := min(int(cmp.Or(max(p.Limit, 0), usualFound)), mostFound)
	found := core.RankTools(x.hidden, p.Query)
	if len(found) == 0 {
		return fmt.Sprintf("None of the %d tools fits %q. Try other words, or an empty query for all names.", len(x.hidden), p.Query)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d tools fit", len(found), len(x.hidden))
	if n = max(n, 1); len(found) > n {
		fmt.Fprintf(&b, "; here are the best %d", n)
		found = found[:n]
	}
	fmt.Fprintf(&b, ". Call one with %s {\"name\": NAME, \"arguments\": {…}}.\n", callTool)
	for i, t := range found {
		if b.Len()+len(t.Description)+len(t.Schema) > maxFound && i > 0 {
			fmt.Fprintf(&b, "\n%d more are too long to be shown here; look for them by name.\n", len(found)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s\n%s\narguments: %s\n", t.Name, upTo(maxShown, t.Description), upTo(maxShown, string(t.Schema)))
	}
	return b.String()
}

// upTo cuts a text that is longer than most bytes.
func upTo(most int, s string) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf(" … (%d bytes)", len(s))
}

// names lists the tools that are not shown.
func (x *index) names() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tools; look for one with %s to see what it is for and its arguments.\n", len(x.hidden), searchTool)
	for i, t := range x.hidden {
		if b.Len() > maxFound {
			fmt.Fprintf(&b, "and %d more\n", len(x.hidden)-i)
			break
		}
		b.WriteString(t.Name + "\n")
	}
	return b.String()
}
