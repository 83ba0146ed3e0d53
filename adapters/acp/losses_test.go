package acp

import (
	"testing"

	"dragoman/adapters/acp/losses"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fidelity/fidelitytest"
	"dragoman/core/inference"
)

// A client that shows everything gets every fact of a log, but for those of the list.
func TestEverythingIsCarriedOrListed(t *testing.T) {
	profile := &core.Profile{
		Agents: []core.Agent{{Name: "main"}, {Name: coretest.External, External: true}},
		Models: inference.Models{Default: "p/a", List: []inference.ModelInfo{{ID: "p/a", Efforts: []string{"low", "high"}}}},
	}
	encode := func(log []core.Record) string {
		return string(everything(profile, "key-", log)) + string(everything(profile, "", log))
	}
	for _, fault := range fidelitytest.Faults(losses.Encoder(), coretest.Logs(), encode) {
		t.Error(fault)
	}
}

// everything returns what a client is sent for a log: updates, questions, and the answers to its prompts,
// whose keys begin with prefix.
func everything(profile *core.Profile, prefix string, log []core.Record) (out []byte) {
	v := NewView("s1", prefix, core.Pos{})
	v.Cwd, v.Offer = "/w", NewOffer(profile, true)
	v.Display = Shows{Notices: true, Compaction: true, Output: true, Forms: true, Pages: true, Subagents: true, Plans: true, Terminals: "term-"}
	request := func(params any) {
		line, err := wire.AppendJSON(out, params)
		if err == nil {
			out = line
		}
	}
	for _, r := range log {
		out = Encode(out, v, r)
		switch e := r.Event.(type) {
		case core.CallChanged:
			if id := e.Call.Child; id != "" && e.Call.State == core.Running { // as feed.adopt, without the session
				is := announcement(e.Call)
				is.SessionID = string(id)
				out = update(out, v, is)
			}
		case core.Asked:
			switch {
			case e.Ask.Kind == core.AskApproval:
				request(Permission(v, e.Ask))
			case e.Ask.Kind == core.AskConsent:
				request(Consent(v, e.Ask))
			case e.Ask.URL != "":
				request(Page(v, e.Ask))
			default:
				request(Elicitation(v, e.Ask))
			}
		case core.Offered:
			request(commandsOf(e.Commands, e.Agent))
		case core.TurnEnded:
			if prefix == "" {
				continue
			}
			res, err := Answer(e)
			res.Usage = v.spent.of(e.Turn)
			out = wire.AppendAnswer(out, []byte("2"), res, err)
		}
	}
	return out
}
