package acp

import (
	"encoding/json"
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

// answerPage takes the client's answer to a page. Whatever is no consent declines.
func (s *session) answerPage(a core.Ask, result json.RawMessage, err error) {
	var res acp.ElicitationResponse
	if err == nil {
		err = wire.Unmarshal(result, &res)
	}
	r := core.Reply{Outcome: core.OutcomeDeclined}
	if err != nil {
		r = core.Reply{Outcome: core.OutcomeAlone, Text: "the client could not ask: " + err.Error()}
	} else if res.Action == "accept" {
		r.Outcome = core.OutcomeAnswered
	}
	s.reply(a, r)
}
