package mcp

import (
	"strings"
	"testing"

	"dragoman/adapters/mcp/losses"
	"dragoman/adapters/mcp/options"
	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fidelity/fidelitytest"
)

// A client that uses all that MCP has, tools, progress, questions and resources, gets every fact of a
// log, but for those of the list.
func TestEverythingIsCarriedOrListed(t *testing.T) {
	encode := func(log []core.Record) string { return string(everything(t, log)) }
	for _, fault := range fidelitytest.Faults(losses.Encoder(), coretest.Logs(), encode) {
		t.Error(fault)
	}
}

// everything returns what a client can learn of a log: of each turn the progress, the questions, the events
// and the result, and of the session the transcript, the changes to files and the state.
func everything(t *testing.T, log []core.Record) (out []byte) {
	add := func(v any) {
		line, err := wire.AppendJSON(out, v)
		if err != nil {
			t.Error(err)
		}
		out = append(line, '\n')
	}
	var now *turn
	pages := transcript{limit: 1000}
	st := core.State{}
	end := func() {
		if now == nil {
			return
		}
		res := now.result("s1", now.asks)
		res.finish()
		tool := res.toolResult(proto.Legacy)
		tool.StructuredContent = res
		add(tool)
		now = nil
	}
	for _, r := range log {
		pages.add(r)
		switch e := r.Event.(type) {
		case core.TurnStarted:
			end()
			now = &turn{id: e.Turn}
		case core.TitleChanged:
			st.Title = e.Title
		case core.SettingsChanged:
			st.Settings = e.Settings
			add(options.List(st))
		case core.Offered:
			st.Offered = e
			add(options.List(st))
		case core.UsageChanged:
			st.Usage = e.Total
		}
		if now == nil || !now.apply(r) {
			continue
		}
		out = append(out, progressLine(now, r.Event)+"\n"...)
		if ev, ok := happened(now, r.Event); ok {
			add(ev)
		}
		switch e := r.Event.(type) {
		case core.Asked:
			add(elicitation(proto.Legacy, true, core.Meta{Cwd: "/w"}, e.Ask, now.callOf(e.Ask)))
			add(now.result("s1", now.asks)) // the calling model may answer, too
		case core.CallChanged:
			for _, b := range e.Call.Content {
				if d, ok := b.(core.Diff); ok && e.Call.State == core.Succeeded {
					var patch strings.Builder
					appendPatch(&patch, "/w", d)
					add(patch.String())
				}
			}
		}
	}
	end()
	add(pages.page())
	add(headOf(nil, st))
	add(usageOf(st.Usage, ""))
	return out
}
