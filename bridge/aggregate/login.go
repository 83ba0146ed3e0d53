package aggregate

import (
	"slices"
	"strings"

	proto "dragoman/adapters/proto/mcp"
)

// loginNotice says that the server wants a login, and how to log in; "": it does not.
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

// loginNotices returns the notices of the servers among parts that want a login.
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

// logNotice sends the client a warning, unless it wants to see none. At 2026-07-28 there are log
// messages within requests alone.
func (s *side) logNotice(notice string) {
	s.mu.Lock()
	level := s.level
	s.mu.Unlock()
	if s.modern() || slices.Contains(severe, level) {
		return
	}
	_ = s.caller.conn.Notify(proto.NoteMessage, map[string]string{ // it has left
		"level": "warning", "logger": "dragoman", "data": notice,
	})
}
