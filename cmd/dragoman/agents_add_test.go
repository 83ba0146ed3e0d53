package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"dragoman/bridge/agent/agenttest"
	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/registry"
)

// tarBz2 is a tar.bz2 with the program bin/agent. The standard library writes none.
const tarBz2 = "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\x5a\x69\xd1\xd5\x00\x00\x72\xdb\x80\xca\x90\xe8\x00\xde\x80\x00\x80\x7a\xe1\x9e\x10\x08\x08\x20\x00\x74\x1a\x4d\x43\x26\x8d\x0d\x01\xb5\x01\x9a\x82\x4a\x80\xd0\x03\x46\x80\x32\x34\x8c\x2e\x25\x42\x06\x4e\x84\x23\x17\xb6\xa1\xb6\xd6\xc4\x08\x90\x1b\xd4\xc3\xf3\x8c\x1d\x23\xab\x13\x18\x08\x48\xc8\x1a\xef\x08\xe4\xc4\x0d\x71\x24\x90\xe1\xea\x7d\xe5\x27\x31\x40\xee\x9b\x72\xc9\xea\xf8\x91\x10\x1f\x8b\xb9\x22\x9c\x28\x48\x2d\x34\xe8\xea\x80"

// regexpSums matches SHA-256.
var regexpSums = regexp.MustCompile(`[0-9a-fA-F]{64}`)

// store is a registry of agents and a server with its archives, for tests.
type store struct {
	t      *testing.T
	p      *place
	server *httptest.Server
	files  map[string][]byte
	agents []map[string]any
}

// newStore returns an empty store.
func newStore(t *testing.T, p *place) *store {
	t.Helper()
	s := &store{t: t, p: p, files: map[string][]byte{}}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := s.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.server.Close)
	return s
}

// serve serves a file, and returns its address and its SHA-256.
func (s *store) serve(name string, data []byte) (address, sum string) {
	s.files["/"+name] = data
	h := sha256.Sum256(data)
	return s.server.URL + "/" + name, hex.EncodeToString(h[:])
}

// add adds an agent with a distribution.
func (s *store) add(id, version string, distribution map[string]any) {
	s.agents = append(s.agents, map[string]any{
		"id": id, "name": strings.ToUpper(id), "version": version, "description": "The agent " + id, "license": "MIT", "repository": "https://example.com/" + id,
		"distribution": distribution, "extra": 1,
	})
}

// binary adds an agent that is an archive for this system; an empty sum is left out.
func (s *store) binary(id, version, address, sum, cmd string) {
	is := map[string]any{"archive": address, "cmd": cmd, "args": []string{}, "env": map[string]string{"GREETING": "hello"}}
	if sum != "" {
		is["sha256"] = sum
	}
	s.add(id, version, map[string]any{"binary": map[string]any{registry.Platform(runtime.GOOS, runtime.GOARCH): is}})
}

// file writes the registry, and returns its path.
func (s *store) file() string {
	s.t.Helper()
	data, err := json.Marshal(map[string]any{"version": "1.0.0", "agents": s.agents, "extensions": []any{}})
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.p.home, "registry.json")
	s.p.write(s.t, path, string(data))
	return path
}

// script is a program that is an agent.
func script() string {
	return "#!/bin/sh\nexport " + agenttest.Variable + "='" + agenttest.Options{Load: true}.Value() + "'\nexec '" + binary + "' scripted-agent\n"
}

func tarGz(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, name, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// scriptedNode puts a node, an npm and a uv into PATH, which do what those would do for one package.
func (p *place) scriptedNode(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{
		"node": "#!/bin/sh\n[ \"$1\" = --version ] && echo v22.4.0 && exit\nexec /bin/sh \"$@\"\n",
		"npm": `#!/bin/sh
echo "npm $*" >> "$HOME/npm.log"
case "$1" in
view)
	case "$2" in
	*needs-new*) engines='{"node": ">=24"}' ;;
	*) engines='{"node": ">=22"}' ;;
	esac
	echo '{"name": "@s/npm-agent", "version": "1.2.3", "license": "Apache-2.0", "bin": {"npm-agent": "dist/index.js"}, "engines": '"$engines"', "scripts": {"postinstall": "node evil.js"}, "dist": {"integrity": "sha512-abc", "tarball": "https://r.example/x.tgz"}}' ;;
install)
	case " $* " in *" --ignore-scripts "*) ;; *) echo "scripts would run" >&2; exit 1 ;; esac
	top=node_modules/@s/npm-agent
	mkdir -p $top/dist node_modules/.bin
	echo '{"name": "@s/npm-agent", "version": "1.2.3", "bin": {"npm-agent": "dist/index.js"}, "scripts": {"postinstall": "node evil.js"}}' > $top/package.json
	cat "$HOME/agent.sh" > $top/dist/index.js
	ln -s ../@s/npm-agent/dist/index.js node_modules/.bin/npm-agent
	echo '{"packages": {"node_modules/@s/npm-agent": {"version": "1.2.3", "hasInstallScript": true}}}' > node_modules/.package-lock.json ;;
rebuild) echo built > node_modules/built ;;
esac
`,
		"uv": `#!/bin/sh
[ "$1" = --version ] && echo "uv 0.9.0" && exit
echo "uv $*" >> "$HOME/npm.log"
mkdir -p "$UV_TOOL_BIN_DIR" "$UV_TOOL_DIR/py-agent/lib"
echo lib > "$UV_TOOL_DIR/py-agent/lib/x.py"
cat "$HOME/agent.sh" > "$UV_TOOL_BIN_DIR/py-agent"
chmod 755 "$UV_TOOL_BIN_DIR/py-agent"
`,
	} {
		path := filepath.Join(p.home, "bin", name)
		p.write(t, path, text)
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.write(t, filepath.Join(p.home, "agent.sh"), script())
	p.env["PATH"] = filepath.Join(p.home, "bin") + ":/usr/bin:/bin"
}

// Agents of every kind are installed from a registry file, shown before, and work.
func TestAgentsAdd(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.scriptedNode(t)
	s := newStore(t, p)
	url, sum := s.serve("gz-1.0.0.tar.gz", tarGz(t, "bin/agent", script()))
	s.binary("gz", "1.0.0", url, sum, "./bin/agent")
	url, sum = s.serve("zip.zip", zipped(t, "agent", script()))
	s.binary("zip", "1.0.0", url, strings.ToUpper(sum), "agent")
	url, sum = s.serve("bz2.tbz2", []byte(tarBz2))
	s.binary("bz2", "1.0.0", url, sum, "bin/agent")
	url, _ = s.serve("raw-agent", []byte(script()))
	s.binary("raw", "1.0.0", url, "", "raw-agent")
	s.add("npm-agent-acp", "1.2.3", map[string]any{"npx": map[string]any{"package": "@s/npm-agent@1.2.3", "args": []string{"--acp"}}})
	s.add("py-agent", "0.5.0", map[string]any{"uvx": map[string]any{"package": "py-agent==0.5.0"}})
	file := s.file()

	o := p.run(t, "", "agents", "add", "gz", "--registry", file)
	if o.code != program.ExitFailed || !strings.Contains(o.errs, "there is no terminal to ask at; --yes approves without asking") {
		t.Errorf("without a person: %+v", o)
	}
	shown := strings.NewReplacer(s.server.URL, "SERVER", sum, "SUM").Replace(o.out)
	for _, id := range []string{"gz", "zip", "bz2", "raw", "npm-agent-acp", "py-agent"} {
		o := p.run(t, "", "agents", "add", id, "--registry", file, "--yes")
		if o.code != program.ExitOK {
			t.Fatalf("%s: %+v", id, o)
		}
		shown += strings.ReplaceAll(o.out, s.server.URL, "SERVER") + strings.ReplaceAll(o.errs, p.home, "HOME")
	}
	shown = regexpSums.ReplaceAllString(shown, "SUM")
	p.golden(t, "agents_add.txt", shown, file, "REGISTRY")
	for _, name := range []string{"gz", "zip", "raw", "npm-agent", "py-agent"} {
		if out := p.well(t, "", "run", "--agent", name, "say hello"); out == "" {
			t.Errorf("%s says nothing", name)
		}
	}
	list := p.well(t, "", "agents", "list")
	for _, want := range []string{"npm-agent", "1.2.3", "registry"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %s in\n%s", want, list)
		}
	}
	log, err := os.ReadFile(filepath.Join(p.home, "npm.log"))
	if err != nil || strings.Contains(string(log), "rebuild") || strings.Contains(string(log), "npx") || !strings.Contains(string(log), "uv tool install --compile-bytecode --no-build py-agent==0.5.0") {
		t.Errorf("%v\n%s", err, log)
	}
	if out := p.run(t, "", "agents", "doctor", "gz"); out.code != program.ExitOK || !strings.Contains(out.out, "gz 1.0.0 from the registry, 1 file as installed at") {
		t.Errorf("%+v", out)
	}
	// Scripts run if that is wanted.
	p.well(t, "", "agents", "update", "npm-agent", "--scripts", "--yes", "--registry", file)
	if log, err := os.ReadFile(filepath.Join(p.home, "npm.log")); err != nil || !strings.Contains(string(log), "npm rebuild --ignore-scripts=false") {
		t.Errorf("%v\n%s", err, log)
	}
	if out := p.well(t, "", "config", "show"); !strings.Contains(out, "# from "+filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "agents.json")) {
		t.Errorf("config show:\n%s", out)
	}
}

// What cannot be installed leaves nothing, and the reason says what to do.
func TestAgentsAddRefused(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.scriptedNode(t)
	s := newStore(t, p)
	url, _ := s.serve("a.tar.gz", tarGz(t, "bin/agent", "x"))
	s.binary("wrong-sum", "1.0.0", url, strings.Repeat("0", 64), "bin/agent")
	_, sum := s.serve("a.tar.gz", tarGz(t, "bin/agent", "x"))
	s.binary("no-cmd", "1.0.0", url, sum, "bin/other")
	s.binary("missing", "1.0.0", s.server.URL+"/gone.zip", "", "x")
	evil, sum := s.serve("evil.tar.gz", tarGz(t, "../../../evil", "x"))
	s.binary("evil", "1.0.0", evil, sum, "evil")
	s.binary("plain", "1.0.0", "http://example.com/a.zip", "", "x")
	s.binary("path", "1.0.0", url, sum, "../../bin/sh")
	s.add("elsewhere", "1.0.0", map[string]any{"binary": map[string]any{"plan9-mips": map[string]any{"archive": url, "cmd": "x"}, "darwin-aarch64": map[string]any{"archive": url, "cmd": "x"}}})
	s.add("new-node", "1.2.3", map[string]any{"npx": map[string]any{"package": "needs-new@1.2.3"}})
	s.add("tag", "latest", map[string]any{"npx": map[string]any{"package": "x@latest"}})
	s.add("flag", "1.0.0", map[string]any{"npx": map[string]any{"package": "--global@1.0.0"}})
	s.add("git", "1.0.0", map[string]any{"npx": map[string]any{"package": "git+ssh://x/y@1.0.0"}})
	s.add("code-acp", "1.0.0", map[string]any{"npx": map[string]any{"package": "x@1.0.0"}})
	s.add("../../up", "1.0.0", map[string]any{"npx": map[string]any{"package": "x@1.0.0"}})
	s.add("version", "../../x", map[string]any{"npx": map[string]any{"package": "x@1.0.0"}})
	s.add("xz", "1.0.0", map[string]any{"binary": map[string]any{registry.Platform(runtime.GOOS, runtime.GOARCH): map[string]any{"archive": "https://x.example/a.tar.xz", "cmd": "x"}}})
	file := s.file()
	for id, want := range map[string]string{
		"wrong-sum": "its SHA-256 is", "no-cmd": "there is no bin/other in it", "missing": "the server answered 404 Not Found", "evil": "leads out of the folder",
		"plain": "does not begin with https://", "path": "is no path in the archive", "elsewhere": "there is darwin-aarch64, plan9-mips", "new-node": "needs node >=24, and ",
		"tag": `has no exact version, but "latest"`, "flag": "is no name of a package", "git": "is no name of a package", "code-acp": "code is a built-in agent; --as NAME",
		"../../up": "its id is not made of", "version": "its version", "xz": "in a form that is not unpacked here", "wrongsum": `did you mean "wrong-sum"?`,
	} {
		o := p.run(t, "", "agents", "add", id, "--registry", file, "--yes")
		if o.code == program.ExitOK || !strings.Contains(o.errs, want) {
			t.Errorf("%s: want %s\n%+v", id, want, o)
		}
	}
	for _, dir := range []string{"*/*", "../evil", "../../evil"} {
		left, err := filepath.Glob(filepath.Join(p.data, "agents", dir))
		if err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	if _, err := os.Stat(filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "agents.json")); err == nil {
		t.Error("agents.json was written")
	}
	p.env["PATH"] = "/nowhere"
	s.add("py", "1.0", map[string]any{"uvx": map[string]any{"package": "py==1.0"}})
	if o := p.run(t, "", "agents", "add", "py", "--registry", s.file(), "--yes"); !strings.Contains(o.errs, "uv is not there; install it") {
		t.Errorf("without uv: %+v", o)
	}
	if o := p.run(t, "", "agents", "add", "new-node", "--registry", file, "--yes"); !strings.Contains(o.errs, "install Node.js, version 22 or later") {
		t.Errorf("without Node: %+v", o)
	}
}

// Names that agents had before lead to the present one. A program that is installed already is offered.
// Commands of the user's own are added as they are.
func TestAgentsAddByOtherNames(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	s := newStore(t, p)
	url, sum := s.serve("a.tar.gz", tarGz(t, "claude-agent-acp", script()))
	s.binary("claude-acp", "1.0.0", url, sum, "claude-agent-acp")
	file := s.file()
	out := p.well(t, "", "agents", "add", "@zed-industries/claude-code-acp@0.16.0", "--registry", file, "--yes")
	if !strings.Contains(out, "the package @zed-industries/claude-code-acp has another name today; it is agent claude-acp of the registry.") || !strings.Contains(out, "wrote the agent claude to ") || !strings.Contains(out, "DISABLE_AUTOUPDATER=1") {
		t.Errorf("%s", out)
	}
	if o := p.run(t, "", "agents", "add", "claude", "--registry", file, "--yes"); o.code == program.ExitOK || !strings.Contains(o.errs, "there is an agent claude already; --replace changes it") {
		t.Errorf("%+v", o)
	}
	p.env["PATH"] = filepath.Join(p.home, "bin") + ":/usr/bin:/bin"
	gemini := filepath.Join(p.home, "bin", "gemini")
	p.write(t, gemini, script())
	if err := os.Chmod(gemini, 0o700); err != nil {
		t.Fatal(err)
	}
	if out := p.well(t, "", "agents", "add", "gemini", "--registry", file, "--yes"); !strings.Contains(out, "gemini is installed already. It would be started by:\n  "+gemini+" --acp\n") {
		t.Errorf("%s", out)
	}
	if out := p.well(t, "", "agents", "add", "--registry", file); !strings.Contains(out, gemini) || !strings.Contains(out, "claude-acp  1.0.0") {
		t.Errorf("%s", out)
	}
	p.well(t, "", "agents", "add", "mine", "--env", "KEY=${env:HOME}", "--", gemini, "--acp", "$${x}")
	p.well(t, "", "agents", "add", "--as", "other", "--", gemini)
	text, err := os.ReadFile(filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "agents.json"))
	if err != nil || !strings.Contains(string(text), `"command": ["`+gemini+`", "--acp", "$${x}"],
        "env": {
          "KEY": "${env:HOME}"
        }`) || !strings.Contains(string(text), `"other": {`) {
		t.Errorf("%v\n%s", err, text)
	}
	p.config(t, "agents: {yaml: {acp: {command: x}}}\ndefault_agent: mine\n")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"is configured at ", []string{"add", "yaml", "--", "y"}},
		{"which no command changes", []string{"remove", "yaml", "--yes"}},
		{"is the default_agent at ", []string{"remove", "mine", "--yes"}},
		{`did you mean "other"?`, []string{"remove", "othr", "--yes"}},
		{"code is a built-in agent", []string{"add", "code", "--", "x"}},
		{"was not installed from the registry", []string{"update", "other"}},
		{"--env belongs to a command of your own", []string{"add", "claude", "--env", "A=b"}},
	} {
		if o := p.run(t, "", append([]string{"agents"}, c.args...)...); o.code == program.ExitOK || !strings.Contains(o.errs, c.want) {
			t.Errorf("%v: %+v, want %s", c.args, o, c.want)
		}
	}
}

// A change of what is started is asked about, and without a person the agent is not started.
func TestChangedAgentIsNotStarted(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	p.env["PATH"] = filepath.Join(p.home, "bin") + ":/usr/bin:/bin"
	own := filepath.Join(p.home, "bin", "own-agent")
	write := func(text string) {
		t.Helper()
		p.write(t, own, text)
		if err := os.Chmod(own, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(script())
	s := newStore(t, p)
	url, sum := s.serve("a.tar.gz", tarGz(t, "agent", script()))
	s.binary("demo", "1.0.0", url, sum, "agent")
	p.well(t, "", "agents", "add", "demo", "--registry", s.file(), "--yes")
	p.well(t, "", "agents", "add", "own", "--", "own-agent")
	installed := filepath.Join(p.data, "agents", "demo", "1.0.0", "agent")
	for name, change := range map[string]func(){
		"own":  func() { write(script() + "# changed\n") },
		"demo": func() { p.write(t, installed, script()+"# changed\n") },
	} {
		p.well(t, "", "run", "--agent", name, "hello")
		p.well(t, "", "run", "--agent", name, "hello")
		change()
		for _, args := range [][]string{{"run", "--agent", name, "hello"}, {"agents", "sessions", name}, {"agents", "login", name}, {"agents", "doctor", name}, {"agents", "approve", name}} {
			if o := p.run(t, "", args...); o.code != program.ExitFailed || !strings.Contains(o.out+o.errs, map[bool]string{true: "no terminal to ask at", false: "has changed, and is not started"}[args[1] == "approve"]) {
				t.Errorf("%v: %+v", args, o)
			}
		}
		if out := p.well(t, "", "agents", "approve", name, "--yes"); !strings.Contains(out, "before: ") || !strings.Contains(out, "The program of agent "+name+" is used from now on.") {
			t.Errorf("%s", out)
		}
		if out := p.well(t, "", "agents", "approve", name); !strings.Contains(out, "has not changed") {
			t.Errorf("%s", out)
		}
		p.well(t, "", "run", "--agent", name, "hello")
	}
	p.write(t, filepath.Join(filepath.Dir(installed), "lib", "evil.js"), "x")
	if o := p.run(t, "", "agents", "doctor", "demo"); o.code != program.ExitFailed || !strings.Contains(o.out, "it is not as it was installed: 1 new: lib/evil.js") {
		t.Errorf("the doctor: %+v", o)
	}
}

// An update installs beside, and names the new version; what runs keeps its folder. A removed agent
// leaves nothing but what runs.
func TestAgentsUpdateAndRemove(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	s := newStore(t, p)
	url, sum := s.serve("1.tar.gz", tarGz(t, "agent", script()))
	s.binary("demo", "1.0.0", url, sum, "agent")
	p.well(t, "", "agents", "add", "demo", "--registry", s.file(), "--yes")
	path := filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "agents.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, path, strings.Replace(string(text), `"description"`, "// mine\n      \"description\"", 1))
	if out := p.well(t, "", "agents", "update", "--registry", s.file()); !strings.Contains(out, "demo 1.0.0 is up to date.") {
		t.Errorf("%s", out)
	}
	old := filepath.Join(p.data, "agents", "demo", "1.0.0")
	runs := exec.CommandContext(t.Context(), "cat", filepath.Join(old, "agent"), "-") // a process of the folder, until its input ends
	in, err := runs.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runs.Start(); err != nil {
		t.Fatal(err)
	}
	s.agents = nil
	url, sum = s.serve("2.tar.gz", tarGz(t, "agent", script()+"# two\n"))
	s.binary("demo", "2.0.0", url, sum, "agent")
	file := s.file()
	if o := p.run(t, "", "agents", "update", "--registry", file); o.code != program.ExitFailed || !strings.Contains(o.out, "demo: 1.0.0 → 2.0.0\n") {
		t.Errorf("without a person: %+v", o)
	}
	out := p.well(t, "", "agents", "update", "demo", "--registry", file, "--yes")
	if runtime.GOOS == "linux" && !strings.Contains(out, old+" is still in use") {
		t.Errorf("%s", out)
	}
	if _, err := os.Stat(filepath.Join(old, "agent")); err != nil {
		t.Errorf("the folder of what runs: %v", err)
	}
	text, err = os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), "// mine") || !strings.Contains(string(text), filepath.Join(p.data, "agents", "demo", "2.0.0", "agent")) {
		t.Errorf("%v\n%s", err, text)
	}
	p.well(t, "", "run", "--agent", "demo", "hello")
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	_ = runs.Wait()
	// A damaged one is installed again, in another folder.
	p.write(t, filepath.Join(p.data, "agents", "demo", "2.0.0", "evil"), "x")
	if out := p.well(t, "", "agents", "update", "--registry", file, "--yes"); !strings.Contains(out, "differs from what was installed (1 new: evil)") {
		t.Errorf("%s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(p.data, "agents", "demo", "*")); runtime.GOOS == "linux" && len(left) != 2 || !strings.HasSuffix(left[0], "2.0.0-2") {
		t.Errorf("%v", left)
	}
	if o := p.run(t, "", "agents", "remove", "demo"); o.code != program.ExitFailed || !strings.Contains(o.errs, "--yes") {
		t.Errorf("without a person: %+v", o)
	}
	p.well(t, "", "agents", "remove", "demo", "--yes")
	if left, _ := filepath.Glob(filepath.Join(p.data, "agents", "demo*")); runtime.GOOS == "linux" && len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// The registry that was fetched last is used without a connection, which is said.
func TestAgentsRegistryOffline(t *testing.T) {
	p := newPlace(t)
	p.env["HTTPS_PROXY"] = "http://127.0.0.1:1" // nothing listens there
	if o := p.run(t, "", "agents", "add", "claude"); o.code != program.ExitFailed || !strings.Contains(o.errs, "the registry of agents is not reached") || !strings.Contains(o.errs, "--registry FILE") {
		t.Errorf("%+v", o)
	}
	p.write(t, filepath.Join(p.data, "agent-registry.json"), `{"agents": [{"id": "demo", "version": "1", "distribution": {"npx": {"package": "x@1.0.0"}}}]}`)
	if o := p.run(t, "", "agents", "add"); o.code != program.ExitOK || !strings.Contains(o.errs, "this is the registry of ") || !strings.Contains(o.out, "demo") {
		t.Errorf("%+v", o)
	}
}

// Agents are taken over from the user's own settings of editors, and never from a project's.
func TestAgentsImport(t *testing.T) {
	unixOnly(t)
	p := newPlace(t)
	s := newStore(t, p)
	url, sum := s.serve("a.tar.gz", tarGz(t, "agent", script()))
	s.binary("demo-acp", "1.0.0", url, sum, "agent")
	file := s.file()
	p.write(t, filepath.Join(p.env["XDG_CONFIG_HOME"], "zed", "settings.json"), `// mine
{
  "agent_servers": {
    "Claude Old": {"type": "custom", "command": "npx", "args": ["@zed-industries/claude-code-acp"], "env": {"KEY": "${env:NOT_A_REFERENCE}"}, "default_mode": "plan", "favorite_models": []},
    "demo-acp": {"type": "registry", "env": {"A": "b"}},
    "dragoman": {"command": "/usr/bin/dragoman", "args": ["acp"]},
    "Nothing": {"type": "custom"},
    "code": {"command": "x"},
    "old": {"command": {"path": "/opt/old", "args": ["acp"]}}, // of before
  }
}`)
	p.write(t, filepath.Join(p.home, ".jetbrains", "acp.json"), `{"agent_servers": {"gem": {"command": "gemini", "args": ["--acp"], "use_idea_mcp": true}}}`)
	p.write(t, filepath.Join(p.work, ".zed", "settings.json"), `{"agent_servers": {"evil": {"command": "evil"}}}`)
	o := p.run(t, "", "agents", "import")
	if o.code != program.ExitFailed || !strings.Contains(o.errs, "no terminal to ask at") || strings.Contains(o.out, "evil") {
		t.Errorf("without a person: %+v", o)
	}
	o = p.run(t, "", "agents", "import", "--dry-run")
	if o.code != program.ExitFailed || !strings.Contains(o.out, `"command": ["/opt/old", "acp"]`) {
		t.Errorf("%+v", o)
	}
	o = p.run(t, "", "agents", "import", "--yes", "--registry", file)
	shown := regexpSums.ReplaceAllString(strings.ReplaceAll(o.out+"--\n"+o.errs, s.server.URL, "SERVER"), "SUM")
	p.golden(t, "agents_import.txt", shown, file, "REGISTRY")
	text, err := os.ReadFile(filepath.Join(p.env["XDG_CONFIG_HOME"], "dragoman", "agents.json"))
	if err != nil {
		t.Fatal(err)
	}
	p.golden(t, "agents_imported.json", string(text))
	if o := p.run(t, "", "agents", "import", "zedd"); o.code != program.ExitUsage || !strings.Contains(o.errs, `did you mean "zed"?`) {
		t.Errorf("%+v", o)
	}
}

// A workspace's files define no agent, whatever they are called.
func TestWorkspaceDefinesNoAgent(t *testing.T) {
	p := newPlace(t)
	for _, name := range []string{"agents.json", ".dragoman/agents.json"} {
		p.write(t, filepath.Join(p.work, name), `{"agents": {"evil": {"acp": {"command": ["evil"]}}}}`)
	}
	p.write(t, filepath.Join(p.work, ".dragoman", "config.yaml"), "agents: {evil: {acp: {command: evil}}}\n")
	if out := p.well(t, "", "agents", "list"); strings.Contains(out, "evil") {
		t.Errorf("%s", out)
	}
}
