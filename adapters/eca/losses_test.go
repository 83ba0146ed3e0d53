package eca

import (
	"encoding/json"
	"testing"

	"dragoman/adapters/eca/losses"
	"dragoman/adapters/eca/offer"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fidelity/fidelitytest"
	"dragoman/core/inference"
)

// A client of today's document gets every fact of a log, but for those of the list.
func TestEverythingIsCarriedOrListed(t *testing.T) {
	profile := &core.Profile{
		Agents: []core.Agent{{Name: "main"}, {Name: coretest.External, External: true}},
		Models: inference.Models{Default: "p/a", List: []inference.ModelInfo{{ID: "p/a", Efforts: []string{"low", "high"}}}},
	}
	choices := offer.New(profile)
	encode := func(log []core.Record) string { return string(everything(t, choices, log)) }
	for _, fault := range fidelitytest.Faults(losses.Encoder(), coretest.Logs(), encode) {
		t.Error(fault)
	}
}

// everything returns what a client is sent for a log: contents, questions and lists of commands.
func everything(t *testing.T, choices *offer.Offer, log []core.Record) (out []byte) {
	v := newView("s1", nil, "", choices)
	v.live = true
	request := func(params any) {
		line, err := json.Marshal(params)
		if err != nil {
			t.Error(err)
		}
		out = append(out, line...)
	}
	for _, r := range log {
		out = encode(out, v, r)
		switch e := r.Event.(type) {
		case core.Asked:
			switch {
			case e.Ask.Kind != core.AskApproval:
				request(v.asking(e.Ask))
			case !e.Ask.Fits():
				request(v.asking(v.inWords(e.Ask)))
			}
		case core.Moved: // the client is shown the other chat
			request(e.To)
		case core.Offered:
			request(commandsOf(e.Commands, "", e.Agent))
		}
	}
	return out
}
