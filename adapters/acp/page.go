package acp

import (
	"maps"
	"slices"

	"dragoman/adapters/proto/acp"
	"dragoman/adapters/wire"
	"dragoman/core"
)

// Page is the elicitation/create for a page to open.
func Page(v *View, a core.Ask) acp.PageRequest {
	req := acp.PageRequest{
		Mode:          "url",
		SessionID:     string(v.Session),
		Message:       a.Text,
		ElicitationID: pageID(v, a.ID),
		URL:           a.URL,
	}
	if v.calls[a.Call] != nil { // a call that the client has been told of
		req.ToolCallID = string(a.Call)
	}
	return req
}

// pageID names a page for the client.
func pageID(v *View, id core.AskID) string { return string(v.Session) + "/" + string(id) }

// opening notes a page that the user goes to: the client is told when it has done its
// work.
func opening(v *View, a core.Ask, r core.Reply) {
	if a.URL != "" && v.Shows.Pages && !v.replay && r.Outcome == core.OutcomeAnswered {
		v.pages[a.ID] = a
	}
}

// completed tells that what pages were opened for is over: the call that they were for
// has ended, or the turn has.
func completed(dst []byte, v *View, over func(core.Ask) bool) []byte {
	for _, id := range slices.Sorted(maps.Keys(v.pages)) {
		if !over(v.pages[id]) {
			continue
		}
		delete(v.pages, id)
		dst = append(dst, `{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":`...)
		dst = append(wire.AppendString(dst, pageID(v, id)), "}}\n"...)
	}
	return dst
}
