package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// tarball is a package of npm with one module, and its checksum.
func tarball(t *testing.T) (text []byte, sum string) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{
		"package/package.json": `{"name": "tiny", "version": "1.0.0", "scripts": {"postinstall": "echo built > built"}}`, "package/index.js": "module.exports = 42\n",
	} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
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
	digest := sha512.Sum512(b.Bytes())
	return b.Bytes(), "sha512-" + base64.StdEncoding.EncodeToString(digest[:])
}

// Packages are installed, with their scripts, from a registry that runs in the sandbox.
func TestInsideNpm(t *testing.T) {
	needInstalled(t, "node", "npm")
	inHomes(t, homes[:1], func(t *testing.T, p *place) {
		text, sum := tarball(t)
		p.write(t, "registry/tiny-1.0.0.tgz", string(text))
		p.write(t, "registry.mjs", "import http from 'node:http'\nimport fs from 'node:fs'\nhttp.createServer((q, r) => {\n"+
			"\tif (q.url === '/tiny-1.0.0.tgz') r.end(fs.readFileSync('registry' + q.url))\n\telse r.writeHead(404).end()\n}).listen(4873, '127.0.0.1')\n")
		p.write(t, "package.json", `{"name": "me", "version": "1.0.0", "dependencies": {"tiny": "1.0.0"}}`)
		p.write(t, "package-lock.json", fmt.Sprintf(`{"name": "me", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
	"": {"name": "me", "version": "1.0.0", "dependencies": {"tiny": "1.0.0"}},
	"node_modules/tiny": {"version": "1.0.0", "resolved": "http://127.0.0.1:4873/tiny-1.0.0.tgz", "integrity": %q, "hasInstallScript": true}}}`, sum))
		in := p.inside(t, "")
		in.job("node registry.mjs")
		in.run("npm ci --no-audit --no-fund --fetch-retries 5 --fetch-retry-mintimeout 50 --fetch-retry-maxtimeout 200")
		in.says("cat node_modules/tiny/built && node -p 'require(\"tiny\")'", "built\n42")
	})
}

// What commands write to the caches of the user stays in the workspace's own layer. The next session of
// the workspace has it, and nobody else.
func TestInsideCaches(t *testing.T) {
	inHomes(t, homes, func(t *testing.T, p *place) {
		store := filepath.Join(p.home, "store")
		p.env = append(slices.DeleteFunc(p.env, func(kv string) bool { return strings.HasPrefix(kv, "GO") }), "GOMODCACHE="+store)
		p.put(t, filepath.Join(p.home, ".cache/tool/old"), "old\n")
		p.put(t, filepath.Join(store, "module"), "module\n")
		const places = "~/.cache/tool ~/.cache/go-build $GOMODCACHE $npm_config_cache"
		first := p.inside(t, "")
		first.says("cat ~/.cache/tool/old $GOMODCACHE/module", "old\nmodule")
		first.run("rm ~/.cache/tool/old && for d in " + places + "; do mkdir -p $d && echo new > $d/new || exit; done")
		again := "cat ~/.cache/tool/new ~/.cache/go-build/new $GOMODCACHE/new $npm_config_cache/new && ls ~/.cache/tool $GOMODCACHE | xargs"
		want := "new\nnew\nnew\nnew\n" + filepath.Join(p.home, ".cache/tool") + ": new " + store + ": module new"
		first.says(again, want)
		first.leave()

		second := p.inside(t, "")
		second.says(again, want)
		second.leave()
		if got := p.outside(t, "cat ~/.cache/tool/old; ls ~/.cache/tool $GOMODCACHE; test ! -e ~/.npm; test ! -e ~/.cache/go-build"); strings.Contains(got, "new") || !strings.HasPrefix(got, "old\n") {
			t.Error(got)
		}
		p.work = filepath.Join(p.home, "src/another")
		p.write(t, "file", "")
		other := p.inside(t, "")
		other.says("cat ~/.cache/tool/old; ls "+places+" 2>/dev/null | grep -c new; true", "old\n0")
	})
}

// A command may take its own folder away, and one may run outside of the workspace, where it changes
// nothing.
func TestInsideFolders(t *testing.T) {
	inHomes(t, homes, func(t *testing.T, p *place) {
		elsewhere := filepath.Join(p.home, "src/other")
		if strings.HasPrefix(p.home, "/tmp/") {
			elsewhere = "/etc" // in the system's /tmp nothing is seen but the home folder
		}
		p.write(t, "sub/file", "")
		p.put(t, filepath.Join(p.home, "src/other/file"), "other\n")
		in := p.inside(t, "")
		if r := in.call("rm -r ../sub && pwd", object{"cwd": "sub"}); r.code != 0 {
			t.Errorf("%d %s", r.code, r.text)
		}
		if r := in.call("pwd", object{"cwd": "sub"}); r.code == 0 || !strings.Contains(r.text, "sub") {
			t.Errorf("%d %s", r.code, r.text)
		}
		in.says("pwd", p.work)
		if r := in.call("pwd && ls", object{"cwd": elsewhere}); r.code != 0 || !strings.Contains(r.text, elsewhere+"\n") {
			t.Errorf("%d %s", r.code, r.text)
		}
		in.fails("echo x > ../other/file", "a file outside of the workspace, or one that decides what runs later, cannot be changed")
	})
}

// A workspace that was replaced by another folder of the same name is the new one for the next command.
func TestInsideReplaced(t *testing.T) {
	inHomes(t, homes[:1], func(t *testing.T, p *place) {
		p.write(t, "file", "old\n")
		in := p.inside(t, "")
		in.says("cat file", "old")
		p.outside(t, "mv ../project ../before && mkdir ../project && echo new > ../project/file")
		in.says("cat file && echo newer > file", "new")
		if got := p.outside(t, "cat ../before/file ../project/file"); got != "old\nnewer\n" {
			t.Error(got)
		}
	})
}

// Nothing is left in a workspace when the program is killed, at whatever moment of a command.
func TestInsideKilled(t *testing.T) {
	needInstalled(t, "git")
	t.Parallel()
	const rounds = 20
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := newHome(t, homes[i%len(homes)])
			p.repository(t)
			a := p.alive(t)
			before := p.listing(t)
			in := p.inside(t, denyEnv)
			in.begin("session/prompt", promptOf(in.id, fmt.Sprintf(`shell_command {"command": %q}`, a.command)))
			if i%2 == 0 { // the sandbox is being made
				bomb := time.AfterFunc(rand.N(100*time.Millisecond), in.kill)
				defer bomb.Stop()
			} else {
				a.begun()
				in.kill()
			}
			in.drain()
			in.left(patience)
			a.gone()
			if after := p.listing(t); !slices.Equal(before, after) {
				t.Errorf("before\n%s\nafter\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
			if got := p.outside(t, "git status --porcelain --ignored"); got != "!! .env\n" {
				t.Error(got)
			}
			if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), p.home) {
				t.Errorf("%v\n%s", err, mounts)
			}
		})
	}
}
