package sandbox

import (
	"strings"
	"testing"
)

func TestSeatbelt(t *testing.T) {
	p := Profile{
		Write: []string{"/Users/me/project", `/Users/me/a "b\c`}, ReadOnly: []string{"/Users/me/project/.git/hooks", "/Users/me/project/AGENTS.md"},
		Hidden: []string{"/Users/me/.ssh"},
	}
	const want = `(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath "/Users/me/project") (subpath "/Users/me/a \"b\\c"))
(allow file-write* (subpath "/private/tmp") (subpath "/private/var/tmp") (subpath "/private/var/folders"))
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (literal "/dev/dtracehelper") (literal "/dev/stdout") (literal "/dev/stderr"))
(allow file-write* (regex #"^/dev/ttys[0-9]+$"))
(deny file-write* (subpath "/Users/me/project/.git/hooks") (subpath "/Users/me/project/AGENTS.md"))
(deny file-read* file-write* (subpath "/Users/me/.ssh"))
(deny network*)
(allow network* (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
`
	if got := p.seatbelt(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	p.Open = true
	if got := p.seatbelt(); strings.Contains(got, "network") {
		t.Errorf("with the network open:\n%s", got)
	}
	if got := (Profile{}).seatbelt(); strings.Contains(got, "()") || strings.Contains(got, "file-write* )") {
		t.Errorf("an empty profile:\n%s", got)
	}
}
