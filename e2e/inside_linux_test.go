package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inside is a session whose user has set nothing but that commands need no approval. They run in the
// session's sandbox, and nobody lets one out of it.
type inside struct {
	*acpClient
	id string
}

// ran is how a command ended.
type ran struct {
	text string // all that the model is told
	code int    // its exit code
}

// homes are where a user may have the home folder. Programs in a sandbox have a /tmp of their own.
var homes = []string{"outside of /tmp", "in /tmp"}

// newHome is newPlace with the workspace in the home folder, and with the caches of Go that this machine
// has: to compile the standard library takes minutes.
func newHome(t *testing.T, where string) *place {
	t.Helper()
	base := "/tmp"
	if where == homes[0] {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		base = filepath.Join(cache, "dragoman-e2e")
		if err := os.MkdirAll(base, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	home, err := os.MkdirTemp(base, "inside-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { clean(t, home) })
	p := &place{home: home, data: filepath.Join(home, ".local/state/dragoman"), work: filepath.Join(home, "src/project")}
	if err := os.MkdirAll(p.work, 0o700); err != nil {
		t.Fatal(err)
	}
	p.env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
	out, err := exec.Command("go", "env", "-json", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	var values map[string]string
	if err == nil {
		err = json.Unmarshal(out, &values)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range values {
		p.env = append(p.env, name+"="+value)
	}
	p.put(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Me\n\temail = me@example.com\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n")
	return p
}

// clean removes a folder, also one that a tool has made read-only.
func clean(t *testing.T, dir string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // of our own folder
		}
		return nil
	})
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// outside runs a line as the user does, in the workspace.
func (p *place) outside(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-ec", line)
	cmd.Dir, cmd.Env = p.work, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// listing lists all that is in the workspace, with what can be seen from outside of a file.
func (p *place) listing(t *testing.T) (list []string) {
	t.Helper()
	err := filepath.WalkDir(p.work, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			line := fmt.Sprint(path, " ", info.Mode(), " ", info.Size())
			if info.Mode().IsRegular() {
				line += fmt.Sprint(" ", info.ModTime().UnixNano())
			}
			list = append(list, line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// inside starts the binary and a session. policy is added to the settings.
func (p *place) inside(t *testing.T, policy string) *inside {
	t.Helper()
	config := p.config(t, newPuppet(t).config()+fmt.Sprintf("policy: {allow: [{tool: shell_command}]%s}\n", policy))
	in := &inside{acpClient: p.acpClientOf(t, quickly(t), object{}, true, "--config", config)}
	in.permission, in.wary = "allow_once", true // to what a rule has us ask
	in.id = in.session()
	return in
}

// call has the model run a line with more arguments.
func (in *inside) call(line string, more object) ran {
	in.t.Helper()
	if more == nil {
		more = object{}
	}
	more["command"] = line
	args, err := json.Marshal(more)
	if err != nil {
		in.t.Fatal(err)
	}
	in.forget()
	if end := in.prompt(in.id, "shell_command "+string(args)); end != "end_turn" {
		in.t.Fatalf("%s: %s", line, end)
	}
	i := slices.IndexFunc(in.updates, func(u acpUpdate) bool { return u.Status == "completed" || u.Status == "failed" })
	if i < 0 {
		in.t.Fatalf("%s: no call has ended\n%s", line, in.tail())
	}
	var u struct {
		Content   []struct{ Content struct{ Text string } }
		RawOutput struct {
			ExitCode int `json:"exit_code"`
		}
	}
	if err := json.Unmarshal([]byte(in.updates[i].raw), &u); err != nil {
		in.t.Fatal(err)
	}
	r := ran{code: u.RawOutput.ExitCode}
	for _, c := range u.Content {
		r.text += c.Content.Text + "\n"
	}
	if in.updates[i].Status == "failed" && r.code == 0 {
		r.code = -1 // it was not run
	}
	return r
}

// run runs a line that works, and returns what it printed.
func (in *inside) run(line string) string {
	in.t.Helper()
	r := in.call(line, nil)
	if r.code != 0 || strings.Contains(r.text, "sandbox") {
		in.t.Errorf("%s: exit code %d\n%s", line, r.code, r.text)
	}
	return r.text
}

// says runs a line that works, and holds what it prints against a text.
func (in *inside) says(line, want string) {
	in.t.Helper()
	frame := strings.NewReplacer("```console\n", "", "```\n", "", "exit status 0\n", "")
	if got := strings.TrimSpace(frame.Replace(in.run(line))); got != want {
		in.t.Errorf("%s:\n%s\nwant\n%s", line, got, want)
	}
}

// fails runs a line that the sandbox stops, and holds what the model is told against a text.
func (in *inside) fails(line, because string) string {
	in.t.Helper()
	r := in.call(line, nil)
	if r.code == 0 || !strings.Contains(r.text, "[probably the sandbox: "+because+"]") {
		in.t.Errorf("%s: exit code %d\n%s", line, r.code, r.text)
	}
	return r.text
}

// job starts a line that goes on behind the session.
func (in *inside) job(line string) {
	in.t.Helper()
	if r := in.call(line, object{"background": true}); r.code != 0 || !strings.Contains(r.text, "started in the background") {
		in.t.Fatalf("%s: %s", line, r.text)
	}
}

// inHomes runs a test in some kinds of home folders.
func inHomes(t *testing.T, kinds []string, test func(t *testing.T, p *place)) {
	t.Parallel()
	for _, where := range kinds {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			test(t, newHome(t, where))
		})
	}
}

// A module is built and tested, also one that needs another one which is in the user's cache. Nothing is
// written to the caches of the user.
func TestInsideGo(t *testing.T) {
	inHomes(t, homes[:1], func(t *testing.T, p *place) {
		p.write(t, "go.mod", "module example.com/tiny\n\ngo 1.26.0\n")
		p.write(t, "tiny.go", "package tiny\n\nfunc Twice(n int) int { return 2 * n }\n")
		p.write(t, "tiny_test.go", "package tiny\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n\tif Twice(2) != 4 {\n\t\tt.Fatal(Twice(2))\n\t}\n}\n")
		in := p.inside(t, "")
		wantText(t, "go test", in.run("go build ./... && go test ./..."), "ok", "example.com/tiny")

		ours, err := os.ReadFile("../go.mod")
		if err != nil {
			t.Fatal(err)
		}
		sums, err := os.ReadFile("../go.sum")
		if err != nil {
			t.Fatal(err)
		}
		_, version, _ := strings.Cut(string(ours), "golang.org/x/sync ")
		p.write(t, "go.mod", "module example.com/tiny\n\ngo 1.26.0\n\nrequire golang.org/x/sync "+strings.Fields(version)[0]+"\n")
		p.write(t, "go.sum", string(sums))
		p.write(t, "tiny.go", "package tiny\n\nimport \"golang.org/x/sync/singleflight\"\n\nvar group singleflight.Group\n\nfunc Twice(n int) int { group.Forget(\"\"); return 2 * n }\n")
		wantText(t, "go test", in.run("go build ./... && go test ./... && go vet ./..."), "ok", "example.com/tiny")
	})
}

// A server of one command is reached by the next one.
func TestInsideServer(t *testing.T) {
	needInstalled(t, "node", "curl")
	inHomes(t, homes[:1], func(t *testing.T, p *place) {
		p.write(t, "server.mjs", "import http from 'node:http'\nhttp.createServer((q, r) => r.end('hello ' + q.url)).listen(8080, '127.0.0.1')\n")
		in := p.inside(t, "")
		in.job("node server.mjs")
		in.says("curl -s --retry 100 --retry-delay 0 --retry-connrefused http://127.0.0.1:8080/me", "hello /me")
		in.says("curl -s http://localhost:8080/you", "hello /you")
	})
}

// Programs that use several processes, and what they share, work.
func TestInsidePython(t *testing.T) {
	needInstalled(t, "python3")
	inHomes(t, homes[1:], func(t *testing.T, p *place) {
		p.write(t, "pool.py", `import multiprocessing
def twice(n): return 2 * n
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool:
        print(sum(pool.map(twice, range(10))))
`)
		in := p.inside(t, "")
		in.says("python3 pool.py", "90")
		in.says("python3 -m venv --without-pip .venv && .venv/bin/python -c 'import sys; print(sys.prefix)'", filepath.Join(p.work, ".venv"))
	})
}
