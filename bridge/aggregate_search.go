package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// The tools with which a client finds and calls those that it is not shown, where
// there are more than it wants to see. Every tool can still be called by its name.
const (
	searchTool = "tool_search"
	callTool   = "call_tool"
)

const (
	// usualFound and mostFound are how many tools a search shows.
	usualFound, mostFound = 5, 20
	// maxFound bounds what a search shows, in bytes.
	maxFound = 48 << 10
)

// searchTools are the two as a client lists them; %s is the servers' names.
var searchTools = [...]string{
	`{"name":"` + searchTool + `","title":"Search for tools","description":%s,"inputSchema":{"type":"object","properties":{` +
		`"query":{"type":"string","description":"Words for what the tool should do, or a part of its name. Empty: the names of all."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"How many to show; 5 if left out."}},"required":["query"]},` +
		`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`,
	`{"name":"` + callTool + `","title":"Call a tool","description":"Calls a tool that ` + searchTool + ` has found.","inputSchema":{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The tool's name, as ` + searchTool + ` writes it."},` +
		`"arguments":{"type":"object","description":"The tool's arguments, which fit its schema."}},"required":["name","arguments"]}}`,
}

// searches reports whether tools may be hidden behind a search.
func (s *side) searches() bool { return s.caller.agg.opts.Tools > 0 && len(s.parts) > 1 }

// behindSearch is the list of tools as a client sees it: all of them, or where they
// are too many our agent's and those that find the others.
func (s *side) behindSearch(own, all []json.RawMessage) (shown []json.RawMessage, hidden []core.ToolSpec) {
	if !s.searches() || len(all) <= s.caller.agg.opts.Tools {
		return all, nil
	}
	for _, item := range all[len(own):] {
		var t struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(item, &t) == nil {
			hidden = append(hidden, core.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	var servers []string
	for _, p := range s.parts[1:] {
		servers = append(servers, p.server.Name)
	}
	description := "Finds tools that are not listed here, those of the MCP servers " + strings.Join(servers, ", ") +
		": what each is for, and its arguments. Use it before you say that something cannot be done. Call what it finds with " + callTool + "."
	return append(own[:len(own):len(own)], json.RawMessage(fmt.Sprintf(searchTools[0], wire.JSON(description))), json.RawMessage(searchTools[1])), hidden
}

// through is the call that a call of callTool stands for.
func (q request) through() (request, error) {
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	if wire.Unmarshal(q.args, &p) != nil || p.Name == "" || p.Name == callTool || p.Name == searchTool {
		return q, jrpc2.Errorf(jrpc2.InvalidParams, `%s takes {"name": NAME, "arguments": {…}}, with the name of a tool that %s has found`, callTool, searchTool)
	}
	q.name, q.args = p.Name, orObject(p.Args)
	q.params = wire.Edit(q.params, wire.Set("name", wire.JSON(q.name)), wire.Set("arguments", q.args))
	return q, nil
}

// search answers a call of searchTool. It reads the list of tools and nothing else.
func (s *side) search(ctx context.Context, call *wire.Call, q request) {
	s.busy.Add(1)
	s.caller.owned.Go(func() {
		defer s.busy.Add(-1)
		s.mu.Lock()
		listed := s.lists[toolList] != nil
		s.mu.Unlock()
		if !listed {
			s.gather(ctx, call.Context(), toolList)
		}
		s.mu.Lock()
		hidden := s.hidden
		s.mu.Unlock()
		result := []wire.Member{wire.Set("content", wire.JSON([]map[string]string{{"type": "text", "text": found(hidden, q.args)}}))}
		if s.modern() {
			result = append(result, wire.Set("resultType", wire.JSON(proto.ResultComplete)))
		}
		call.Reply(wire.Edit(nil, result...), nil)
	})
}

// found says which tools fit a search.
func found(hidden []core.ToolSpec, args json.RawMessage) string {
	var p struct {
		Query string  `json:"query"`
		Limit float64 `json:"limit"`
	}
	_ = json.Unmarshal(args, &p) // what cannot be read is not there: then all names are told
	var b strings.Builder
	if strings.TrimSpace(p.Query) == "" {
		fmt.Fprintf(&b, "There are %d tools. Search for one to see what it is for.\n", len(hidden))
		for i, t := range hidden {
			if b.Len() > maxFound {
				fmt.Fprintf(&b, "… and %d more\n", len(hidden)-i)
				break
			}
			b.WriteString(t.Name + "\n")
		}
		return b.String()
	}
	list := core.RankTools(hidden, p.Query)
	if len(list) == 0 {
		return fmt.Sprintf("None of the %d tools fits %q. Try other words, or an empty query for all names.", len(hidden), p.Query)
	}
	fmt.Fprintf(&b, "%d of %d tools fit", len(list), len(hidden))
	if n := min(int(cmp.Or(max(p.Limit, 0), usualFound)), mostFound); len(list) > max(n, 1) {
		list = list[:max(n, 1)]
		fmt.Fprintf(&b, "; here are the best %d", len(list))
	}
	fmt.Fprintf(&b, ". Call one with %s {\"name\": NAME, \"arguments\": {…}}.\n", callTool)
	for i, t := range list {
		if i > 0 && b.Len()+len(t.Description)+len(t.Schema) > maxFound {
			fmt.Fprintf(&b, "\n%d more are too long to be shown here; look for them by name.\n", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "\n%s\n%s\narguments: %s\n", t.Name, upTo(t.Description), upTo(string(t.Schema)))
	}
	return b.String()
}

// upTo cuts what is longer than a description may be.
func upTo(s string) string {
	if len(s) <= maxDescription {
		return s
	}
	return strings.ToValidUTF8(s[:maxDescription], "") + " …"
}
