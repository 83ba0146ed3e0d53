package translate

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"dragoman/adapters/acp"
	"dragoman/adapters/eca"
	"dragoman/adapters/mcp"
	"dragoman/adapters/wire"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/sessions"
	"dragoman/core"
)

// Protocols lists the protocols that a session can be printed in.
func Protocols() []string { return []string{"acp", "eca", "mcp"} }

// WriteSession prints the messages that a client of a protocol gets for a stored session, one a line. id may be the
// beginning of the session's.
func WriteSession(ctx context.Context, env *program.Environment, protocol, id string) error {
	return sessions.Read(ctx, env, id, func(s *core.Session) error {
		att := s.Attach(core.Client{Name: "dragoman translate", Role: core.Observe})
		defer att.Close()
		var log []core.Record
		for rec, err := range att.Records(ctx, core.Pos{}, att.Head()) {
			if err != nil {
				return fmt.Errorf("read session %s: %w", id, err)
			}
			log = append(log, rec)
		}
		w := bufio.NewWriter(env.Out)
		write(w, protocol, att.Meta(), log)
		return w.Flush()
	})
}

func write(w io.Writer, protocol string, meta core.Meta, log []core.Record) {
	switch protocol {
	case "acp":
		writeACP(w, meta, log)
	case "eca":
		for _, line := range eca.Render(log, eca.RenderOptions{Chat: meta.ID}) {
			fmt.Fprintln(w, line)
		}
	case "mcp":
		writeMCP(w, log)
	}
}

// writeACP writes the updates, the requests for approvals and consents, and the answers to the prompts.
func writeACP(w io.Writer, meta core.Meta, log []core.Record) {
	v := acp.NewView(meta.ID, "", core.Pos{})
	v.Cwd = meta.Cwd
	id := 0
	message := func(method string, params any) {
		id++
		head := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":`, id, method)
		if line, err := wire.AppendJSON(head, params); err == nil { // our own structures always encode
			fmt.Fprintf(w, "%s}\n", line)
		}
	}
	for _, r := range log {
		_, _ = w.Write(acp.Encode(nil, v, r)) // a bufio.Writer keeps its error
		switch e := any(r.Event).(type) {
		case core.Asked:
			switch e.Ask.Kind {
			case core.AskApproval:
				message("session/request_permission", acp.Permission(v, e.Ask))
			case core.AskConsent:
				message("session/request_permission", acp.Consent(v, e.Ask))
			case core.AskQuestion:
				if e.Ask.URL == "" {
					message("elicitation/create", acp.Elicitation(v, e.Ask))
				}
			}
		case core.TurnEnded:
			res, err := acp.Answer(e)
			fmt.Fprintf(w, "%s\n", wire.AppendAnswer(nil, []byte("1"), res, err))
		}
	}
}

// writeMCP writes the messages of each turn: progress, questions, and the result of the call.
func writeMCP(w io.Writer, log []core.Record) {
	for i, r := range log {
		if _, begins := r.Event.(core.TurnStarted); !begins {
			continue
		}
		for _, line := range mcp.Render(append(log[:1:1], log[i:]...)) { // the first record has the session's id
			fmt.Fprintln(w, line)
		}
	}
}
