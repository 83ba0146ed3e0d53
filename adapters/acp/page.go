package acp

import (
	"maps"
	"slices"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/jsonscan"
)

// Page returns the elicitation/create for a page to open.
func Page(v *View, a core.Ask) acp.PageRequest {
	req := acp.PageRequest{
		Mode:          "url",
		SessionID:     string(v.Session),
		Message:       a.Text,
		ElicitationID: pageID(v, a.ID),
		URL:           a.URL,
	}
	if v.calls[a.Call] != nil { // a call that the client knows
		req.ToolCallID = string(a.Call)
	}
	return req
}

// pageID returns the client's id of a page.
func pageID(v *View, id core.AskID) string { return string(v.Session) + "/" + string(id) }

// opening records a page that the user opens: the client is notified when it is no longer needed.
func opening(v *View, a core.Ask, r core.Reply) {
	if a.URL != "" && v.Display.Pages && !v.replay && r.Outcome == core.OutcomeAnswered {
		put(&v.pages, a.ID, a)
	}
}

// completed announces that pages are no longer needed, because their call or the turn has ended.
func completed(dst []byte, v *View, over func(core.Ask) bool) []byte {
	for _, id := range slices.Sorted(maps.Keys(v.pages)) {
		if !over(v.pages[id]) {
			continue
		}
		delete(v.pages, id)
		dst = append(dst, `{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":`...)
		dst = append(jsonscan.AppendString(dst, pageID(v, id)), "}}\n"...)
	}
	return dst
}
