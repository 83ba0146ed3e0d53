package aggregate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/creachadair/jrpc2"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core/inference"
	"dragoman/core/toolsearch"
)

// searchTools are the list entries of the two tools that find and call tools that are not listed;
// %s is the description of the search.
var searchTools = [...]string{
	`{"name":"` + toolsearch.Search + `","title":"` + toolsearch.SearchTitle + `","description":%s,"inputSchema":` + toolsearch.SearchSchema + `,` +
		`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`,
	`{"name":"` + toolsearch.Call + `","title":"` + toolsearch.CallTitle + `","description":"` + toolsearch.CallDescription + `",` +
		`"inputSchema":` + toolsearch.CallSchema + `}`,
}

// searches reports whether tools may be hidden behind a search.
func (s *side) searches() bool { return s.tools > 0 && len(s.parts()) > 1 }

// behindSearch returns the list of tools for a client: all of them, or, if there are too many, our
// agent's and the two that find the others. Every tool can still be called by its name.
func (s *side) behindSearch(
	own, all []json.RawMessage,
) (shown []json.RawMessage, hidden []inference.ToolSpec) {
	if !s.searches() || len(all) <= s.tools {
		return all, nil
	}
	for _, item := range all[len(own):] {
		var t struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(item, &t) == nil {
			hidden = append(hidden, inference.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	var servers []string
	for _, p := range s.parts()[1:] {
		servers = append(servers, p.server.Name)
	}
	description := toolsearch.SearchDescription(servers)
	return append(own[:len(own):len(own)], json.RawMessage(fmt.Sprintf(searchTools[0], wire.JSON(description))), json.RawMessage(searchTools[1])), hidden
}

// through returns the call within a call of toolsearch.Call.
func (q request) through() (request, error) {
	var p struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	if wire.Unmarshal(q.args, &p) != nil || p.Name == "" || p.Name == toolsearch.Call ||
		p.Name == toolsearch.Search {
		return q, jrpc2.Errorf(
			jrpc2.InvalidParams,
			`%s takes {"name": NAME, "arguments": {…}}, with the name of a tool that %s has found`,
			toolsearch.Call,
			toolsearch.Search,
		)
	}
	q.name, q.args = p.Name, orObject(p.Args)
	q.params = wire.Edit(q.params, wire.Set("name", wire.JSON(q.name)), wire.Set("arguments", q.args))
	return q, nil
}

// search answers a call of toolsearch.Search. It reads the list of tools and nothing else.
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
		content := []map[string]string{{"type": "text", "text": toolsearch.Answer(hidden, q.args)}}
		if more := s.saidOf(content[0]["text"]); more != "" {
			content = append(content, map[string]string{"type": "text", "text": more})
		}
		result := []wire.Member{wire.Set("content", wire.JSON(content))}
		if s.modern() {
			result = append(result, wire.Set("resultType", wire.JSON(proto.ResultComplete)))
		}
		call.Reply(wire.Edit(nil, result...), nil)
	})
}
