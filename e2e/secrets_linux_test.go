package e2e

import (
	"strings"
	"testing"
)

// A command finds no key in the environment of any process that it can see, whoever it runs as and
// however far it is confined, and ours is not one whose memory it can read.
func TestKeysAreNotInProc(t *testing.T) {
	for _, level := range []string{"full", "files", "none"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			canary := "canary-of-" + level
			p.env = append(p.env, "OPENROUTER_API_KEY="+canary, "LINEAR_API="+canary)
			cfg := p.config(t, "policy: {allow: [{tool: shell_command}], sandbox: "+level+"}\n")
			look := `for f in /proc/[0-9]*/environ; do grep -aq can''ary-of-` + level + ` $f 2>/dev/null && echo found in $f; done; echo looked`
			out, errs, code := p.run(t, "run", "--config", cfg, "--model", "offline/demo", "run ("+look+") 2>/dev/null")
			if code != 0 || !strings.Contains(out, "\nlooked\n") || strings.Contains(out, "found in") {
				t.Errorf("exit code %d: %s%s", code, out, errs)
			}
		})
	}
}
