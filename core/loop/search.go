package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"dragoman/core"
	"dragoman/core/inference"
	"dragoman/core/toolsearch"
)

// behindSearch keeps the native tools in the list, and hides the others behind a
// search. The two tools for that are the loop's own: a call of toolsearch.Call is a
// call of the tool that it names. Every tool can still be called by its name: a model
// that has seen it does so.
func (x *index) behindSearch(list []inference.ToolSpec) []inference.ToolSpec {
	var shown []inference.ToolSpec
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
	x.byName[toolsearch.Search] = core.Spec{
		Server:   core.Native,
		Name:     toolsearch.Search,
		Title:    toolsearch.SearchTitle,
		Kind:     core.KindSearch,
		ReadOnly: true,
	}
	x.byName[toolsearch.Call] = core.Spec{
		Server: core.Native,
		Name:   toolsearch.Call,
		Title:  toolsearch.CallTitle,
		Kind:   core.KindOther,
	}
	return append(
		shown,
		inference.ToolSpec{
			Name: toolsearch.Search, Description: toolsearch.SearchDescription(servers),
			Schema: json.RawMessage(toolsearch.SearchSchema),
		},
		inference.ToolSpec{
			Name: toolsearch.Call, Description: toolsearch.CallDescription,
			Schema: json.RawMessage(toolsearch.CallSchema),
		},
	)
}

// isOwn reports whether a call is of one of the loop's own tools, which exist only in
// conversations that search.
func (h *modelCall) isOwn(name string) bool {
	return h.offered && h.spec.Server == core.Native && h.spec.Name == name
}

// throughCall turns a call of toolsearch.Call into one of the tool that it names.
func (h *modelCall) throughCall(tools *index) {
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
	if !ok || p.Name == toolsearch.Call || p.Name == toolsearch.Search {
		h.spec, h.offered, h.args = spec, false, json.RawMessage("{}")
		return
	}
	h.spec = spec
	h.args, h.bad = arguments(inference.Delta{Args: p.Args})
}

// answerSearch answers a call of toolsearch.Search. It changes nothing, so it needs no
// approval.
func (h *modelCall) answerSearch(ctx context.Context, t *core.Turn) error {
	call := h.proposed(t.ID())
	call.Args, call.State, call.Start, call.Why = h.args, core.Running, time.Now(), "it reads the list of tools and nothing else"
	if err := t.Emit(ctx, core.CallChanged{Call: call}); err != nil {
		return err
	}
	call.State, call.End, call.Content = core.Succeeded, time.Now(), []core.Block{core.Text{Text: h.found}}
	return t.Emit(ctx, core.CallChanged{Call: call})
}
