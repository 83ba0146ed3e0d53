package aggregate

import (
	"slices"
	"strings"

	proto "dragoman/adapters/proto/mcp"
)

// loginNotice returns a text with the command for a login if the server requires one, else "".
func (p *part) loginNotice() string {
	if p.agent() {
		return ""
	}
	wants := p.export.WantsLogin()
	if wants == nil {
		return ""
	}
	return "The MCP server " + p.server.Name + " is missing: " + wants.Error()
}

// loginNotices returns the notices of all servers that require a login.
func loginNotices(parts []*part) string {
	var all []string
	for _, p := range parts {
		if notice := p.loginNotice(); notice != "" {
			all = append(all, notice)
		}
	}
	return strings.Join(all, "\n")
}

// severe are the levels of log messages above a warning.
var severe = []string{"error", "critical", "alert", "emergency"}

// logNotice sends a warning to the client, unless its log level excludes warnings. At 2026-07-28
// log messages are only sent within requests.
func (s *side) logNotice(notice string) {
	if s.modern() || slices.Contains(severe, s.logLevel()) {
		return
	}
	_ = s.caller.conn.Notify(proto.NoteMessage, map[string]string{ // it has left
		"level": "warning", "logger": "dragoman", "data": notice,
	})
}
