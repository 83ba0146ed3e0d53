package models

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// aimock serves fixtures over HTTP until the test ends.
func aimock(t *testing.T, fixtures string) (url string) {
	t.Helper()
	if err := install(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(file, []byte(fixtures), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("node_modules", "@copilotkit", "aimock", "dist", "cli.js"), "-p", "0", "-f", file, "--log-level", "info")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SystemRoot=" + os.Getenv("SystemRoot")}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	drained := make(chan struct{})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-drained
		_ = cmd.Wait()
	})
	said := ""
	for lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "listening on "); ok {
			go func() { // what it says more must not fill the pipe
				defer close(drained)
				for lines.Scan() {
					continue
				}
			}()
			return strings.TrimSpace(at)
		}
		said += lines.Text() + "\n"
	}
	close(drained)
	t.Fatalf("aimock did not start:\n%s", said)
	return ""
}

// install installs what package-lock.json says, once.
func install() error {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return errors.New(tool + " is not installed")
		}
	}
	want, err := os.ReadFile("package-lock.json")
	if err != nil {
		return err
	}
	stamp := filepath.Join("node_modules", ".installed-lock")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, want) {
		return nil
	}
	if text, err := exec.Command("npm", "ci", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %v\n%s", err, text)
	}
	return os.WriteFile(stamp, want, 0o600)
}
