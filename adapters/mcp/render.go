package mcp

import (
	"strconv"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/jsonscan"
)

// Render returns the messages of one turn to a client of 2025-11-25 with a progress token ("p")
// and elicitation: a progress notification for each record that has a line (a connection sends at
// most five a second, and none right before the answer), the questions, and the answer to its
// request, whose id is 1. records hold the turn; if they begin with the session's first record,
// the session's id is known.
func Render(records []core.Record) []string {
	var out []string
	var t turn
	var meta core.Meta
	lines := 0
	for _, r := range records {
		if e, ok := r.Event.(core.Opened); ok {
			meta = e.Meta
		}
		if e, ok := r.Event.(core.TurnStarted); ok && t.id == "" {
			t.id = e.Turn
		}
		if !t.apply(r) {
			continue
		}
		if text := progressLine(&t, r.Event); text != "" {
			lines++
			out = append(out, progressMessage(lines, text))
		}
		if e, ok := r.Event.(core.Asked); ok {
			out = append(out, questionMessage(len(out)+1, meta, e.Ask, t.callOf(e.Ask)))
		}
		if t.ended {
			break
		}
	}
	res := t.result(meta.ID, t.asks)
	res.finish()
	tool := res.toolResult(proto.Legacy)
	tool.StructuredContent = res
	return append(out, message(`"id":1,"result":`, tool))
}

func progressMessage(n int, text string) string {
	b := []byte(`"method":"` + proto.NoteProgress + `","params":{"progressToken":"p","message":`)
	b = append(jsonscan.AppendString(b, text), `,"progress":`...)
	return `{"jsonrpc":"2.0",` + string(strconv.AppendInt(b, int64(n), 10)) + "}}"
}

func questionMessage(id int, m core.Meta, a core.Ask, c core.Call) string {
	return message(`"id":`+strconv.Itoa(id)+`,"method":"`+proto.MethodElicit+`","params":`, elicitation(proto.Legacy, true, m, a, c))
}

// message completes an envelope with a value.
func message(head string, v any) string {
	b, err := wire.AppendJSON([]byte(`{"jsonrpc":"2.0",`+head), v)
	if err != nil {
		b = append(b, "null"...) // our own structures always encode
	}
	return string(b) + "}"
}
