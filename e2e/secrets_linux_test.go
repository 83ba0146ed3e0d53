package e2e

import (
	"bytes"
	"fmt"
	"os"
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

// Root reads the memory of every process, and so does a command of root's that is not in a process
// namespace of its own, as README says. Nobody else can.
func TestRootReadsMemory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env = append(p.env, "OPENROUTER_API_KEY=canary-of-root")
	c := p.acpClient(t, object{}, true)
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", c.cmd.Process.Pid))
	if os.Getuid() != 0 {
		if err == nil {
			mem.Close()
			t.Error("an ordinary user can open the memory")
		}
		c.leave()
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var mode string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); err != nil || mode != "rw-p" || to-from > 64<<20 {
			continue
		}
		text := make([]byte, to-from)
		n, _ := mem.ReadAt(text, from) // what is not there is not read
		found = found || bytes.Contains(text[:n], []byte("canary-of-root"))
	}
	if !found {
		t.Error("the key is not in the memory: README can promise more")
	}
	c.leave()
}
