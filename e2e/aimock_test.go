package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// aimock serves a model over HTTP for as long as the test runs.
func (p *place) aimock(t *testing.T, fixtures string) (url string) {
	t.Helper()
	dir := needClients(t)
	file := filepath.Join(p.home, "fixtures.json")
	if err := os.WriteFile(file, []byte(fixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "aimock.mjs"), "--fixtures", file)
	cmd.Env = p.nodeEnv()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it ends by itself then
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct{ Kind, URL string }
		if json.Unmarshal(lines.Bytes(), &m) == nil && m.Kind == "listening" {
			go func() { // its report is not looked at, but must not fill the pipe
				for lines.Scan() {
					continue
				}
			}()
			return m.URL
		}
	}
	t.Fatal("aimock did not start")
	return ""
}
