package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// packed returns a package of npm with some files.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The real npm installs an agent from a registry of packages, without running its scripts.
func TestAgentsAddWithNPM(t *testing.T) {
	needInstalled(t, "npm", "node")
	home := t.TempDir()
	about := map[string]any{
		"name": "demo-agent", "version": "1.2.3", "license": "MIT", "bin": map[string]string{"demo-agent": "main.js"},
		"engines": map[string]string{"node": ">=16"}, "scripts": map[string]string{"postinstall": "touch " + filepath.Join(home, "evil")},
	}
	file, err := json.Marshal(about)
	if err != nil {
		t.Fatal(err)
	}
	tarball := packed(t, map[string]string{"package.json": string(file), "main.js": "#!/usr/bin/env node\nconsole.log('demo ' + process.argv.slice(2).join(' '))\n"})
	sum := sha512.Sum512(tarball)
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/demo-agent.tgz" {
			_, _ = w.Write(tarball)
			return
		}
		if r.URL.Path != "/demo-agent" {
			http.NotFound(w, r)
			return
		}
		about["hasInstallScript"] = true
		about["dist"] = map[string]string{"tarball": server.URL + "/demo-agent.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": "demo-agent", "dist-tags": map[string]string{"latest": "1.2.3"}, "versions": map[string]any{"1.2.3": about},
		})
	}))
	defer server.Close()
	registry := filepath.Join(home, "registry.json")
	if err := os.WriteFile(registry, []byte(`{"agents": [{"id": "demo-acp", "name": "Demo", "version": "1.2.3", "distribution": {"npx": {"package": "demo-agent@1.2.3", "args": ["--acp"]}}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "agents", "add", "demo-acp", "--registry", registry, "--yes")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "npm_config_registry=" + server.URL}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "not run: demo-agent (postinstall): touch ") {
		t.Fatalf("%v\n%s", err, out)
	}
	var agents struct {
		Agents map[string]struct {
			ACP struct {
				Command []string `json:"command"`
			} `json:"acp"`
		} `json:"agents"`
	}
	text, err := os.ReadFile(filepath.Join(home, ".config", "dragoman", "agents.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &agents); err != nil {
		t.Fatal(err)
	}
	command := agents.Agents["demo"].ACP.Command
	if len(command) != 3 || filepath.Base(command[1]) != "demo-agent" {
		t.Fatalf("%q", command)
	}
	if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil || string(out) != "demo --acp\n" {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(home, "evil")); err == nil {
		t.Error("the package's script has run")
	}
}
