package e2e

import (
	"strings"
	"testing"
)

// A command in the sandbox reaches what rules about addresses allow, or what a person says while its
// connection waits; never an address that is not public.
func TestCommandsReachHosts(t *testing.T) {
	t.Parallel()
	needInstalled(t, "curl")
	s := besiege(t, "policy: {default: allow, allow: [{url: 'http://169.254.169.254'}], deny: [{url: bad.example}]}\n")
	for _, c := range []struct {
		what, answer, line string
		asked              int
		told               []string
	}{
		{"no", "reject_once", "curl -sS https://a.example/", 1, []string{"refused a connection to a.example:443: the user said no", "403"}},
		{"no, a moment ago", "allow_once", "curl -sS https://a.example/", 0, []string{"exit"}},
		{"a rule denies it", "allow_once", "curl -sS http://bad.example/", 0, []string{"refused a connection to bad.example:80: denied by rule"}},
		{"a rule allows it, and it is near", "reject_once", "curl -sS http://169.254.169.254/latest/meta-data", 0, []string{"not a public address"}},
		{"yes, and it is near", "allow_once", "curl -sS http://10.0.0.1/x", 1, []string{"not a public address"}},
		{"yes for the session", "allow_always", "curl -sS http://10.0.0.2/x", 1, []string{"not a public address"}},
		{"the session has it", "reject_once", "curl -sS http://10.0.0.2/y", 0, []string{"not a public address"}},
		{"the loopback is the sandbox's own", "reject_once", "curl -sS --max-time 5 http://127.0.0.1:9/", 0, []string{"exit"}},
		{"no way around the proxy", "reject_once", "curl -sS --noproxy '*' --max-time 5 http://192.0.2.1/", 0, []string{"exit"}},
	} {
		n := s.asks()
		s.permission = c.answer
		told := s.run(c.line)
		if s.asks() != n+c.asked {
			t.Errorf("%s: %d questions, want %d: %q", c.what, s.asks()-n, c.asked, told)
		}
		for _, want := range c.told {
			if !strings.Contains(told, want) {
				t.Errorf("%s: the model was told %q, without %q", c.what, told, want)
			}
		}
	}
	s.over()
}
