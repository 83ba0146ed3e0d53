package acp

import (
	"encoding/json"
	"slices"
	"strings"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/display"
)

// consentCall returns the call for requesting a consent. A permission needs a call: if the
// consent belongs to none that the client knows, one is made up.
func consentCall(v *View, a core.Ask) acp.ToolCall {
	if t := v.calls[a.Call]; t != nil {
		return acp.ToolCall{
			ToolCallID: string(a.Call),
			Name:       t.call.Tool,
			Title:      a.Text,
			Kind:       kind(t.call.Kind),
			Status:     status(t.call.State),
		}
	}
	u := acp.ToolCall{
		ToolCallID: string(a.ID),
		Title:      a.Text, // whole: some clients show nothing else, and it says what is agreed to
		Kind:       kind(core.KindOther),
		Status:     acp.StatusPending,
	}
	if _, rest, _ := strings.Cut(a.Text, "\n"); rest != "" { // such as the commands of several servers, as they are
		block := text(strings.TrimSuffix(display.Fenced("", strings.TrimSpace(rest)), "\n"))
		u.Content = []acp.ToolContent{{Type: "content", Content: &block}}
	}
	return u
}

// Consent returns the session/request_permission for an open consent.
func Consent(v *View, a core.Ask) acp.PermissionRequest {
	return acp.PermissionRequest{SessionID: string(v.Session), ToolCall: consentCall(v, a), Options: listed(v.Known, a.Options)}
}

// consented reports whether the answer gives the consent.
func consented(a core.Ask, r core.Reply) bool {
	i := slices.IndexFunc(a.Options, func(o core.Option) bool { return o.ID == r.Option })
	return r.Outcome == core.OutcomeAnswered && i >= 0 && a.Options[i].Decision.Allows()
}

// answerConsent takes the client's answer to a consent. As with a call, cancelled stops the
// client's own turn alone.
func (s *session) answerConsent(a core.Ask, result json.RawMessage, err error) {
	res, err := decoded[acp.PermissionResponse](result, err)
	switch {
	case err != nil:
		s.reply(a, core.Reply{Outcome: core.OutcomeAlone, Text: err.Error()})
	case res.Outcome.Outcome == "cancelled" && s.prompted(a.Turn):
		s.cancelTurn(a.Turn)
	case res.Outcome.Outcome == "selected" && offers(listed(s.srv.known(), a.Options), res.Outcome.OptionID):
		s.reply(a, core.Reply{Outcome: core.OutcomeAnswered, Option: res.Outcome.OptionID})
	default:
		s.reply(a, core.Reply{Outcome: core.OutcomeDeclined})
	}
}
