package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"dragoman/core/child"
)

// TestMain runs the tests again as an ordinary user if root runs them: much works for root that fails
// for every user, and the other way round. Where bubblewrap is installed it runs them again through that.
func TestMain(m *testing.M) {
	probeMain()
	code := m.Run()
	if os.Getenv(againVar) != "" {
		os.Exit(code)
	}
	type run struct {
		user    bool
		through string
	}
	var runs []run
	if os.Getuid() == 0 {
		runs = append(runs, run{user: true})
	}
	for _, path := range append(bubblewraps, os.Getenv(wrapVar)) {
		if _, err := os.Stat(path); err == nil {
			runs = append(runs, run{through: path}, run{os.Getuid() == 0, path})
			break
		}
	}
	for _, r := range slices.Compact(runs) {
		if code == 0 {
			code = runAgain(r.user, r.through)
		}
	}
	os.Exit(code)
}

const (
	againVar = "SANDBOX_TEST_AGAIN"
	wrapVar  = "SANDBOX_TEST_BUBBLEWRAP" // a bubblewrap that is somewhere else
)

// newSystem returns a system, to which namespaces of its own are refused when bubblewrap is tested.
func newSystem() *System {
	s := New()
	if path := os.Getenv(wrapVar); path != "" && os.Getenv(againVar) != "" {
		s.full.tried, s.full.err = true, errors.New("refused by a test")
		s.bubblewraps = []string{path}
	}
	return s
}

const nobody = 65534

// runAgain runs this test program again, as a user without rights or through bubblewrap.
func runAgain(user bool, through string) int {
	dir, err := os.MkdirTemp("", "sandbox")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "sandbox.test")
	home := filepath.Join(dir, "home")
	for _, step := range []func() error{
		func() error { return os.Chmod(dir, 0o755) },
		func() error { return os.Mkdir(home, 0o700) },
		func() error {
			if !user {
				return nil
			}
			return os.Chown(home, nobody, nobody)
		},
		func() error { return exec.Command("cp", "/proc/self/exe", program).Run() },
		func() error { return exec.Command("cp", os.Args[0], program).Run() },
	} {
		if err := step(); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	var args []string
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-test.testlogfile") && !strings.HasPrefix(arg, "-test.outputdir") &&
			!strings.HasPrefix(arg, "-test.coverprofile") && !strings.HasPrefix(arg, "-test.gocoverdir") {
			args = append(args, arg)
		}
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = home
	cmd.Env = []string{againVar + "=1", wrapVar + "=" + through, "HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if user {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if err := cmd.Run(); err != nil {
		fmt.Printf("as an ordinary user: %v, through %q: %v\n", user, through, err)
		return 1
	}
	return 0
}

// levels are those that this machine can have. The tests must see both.
func levels(t *testing.T) []child.Level {
	t.Helper()
	if level, why := newSystem().Level(child.Full); level != child.Full {
		t.Fatalf("level %s: %s", level, why)
	}
	if level, why := newSystem().Level(child.Files); level != child.Files {
		t.Fatalf("level %s: %s", level, why)
	}
	return []child.Level{child.Full, child.Files}
}

// place is a session in a workspace for one test.
type place struct {
	t       *testing.T
	level   child.Level
	root    string
	home    string
	session *Session
	w       Workspace
	aside   []Aside
}

// newPlace makes a session whose workspace is in a home folder.
func newPlace(t *testing.T, level child.Level, change ...func(*Workspace)) *place {
	t.Helper()
	home := resolve(t.TempDir())
	p := &place{t: t, level: level, home: home, root: filepath.Join(home, "project")}
	p.mkdir(p.root)
	data := filepath.Join(home, ".local/share/dragoman")
	p.mkdir(data)
	p.w = Workspace{Roots: []string{p.root}, Home: home, Env: func(string) string { return "" }, Hidden: []string{data}, Most: level}
	for _, f := range change {
		f(&p.w)
	}
	s, release := NewSessions(newSystem(), filepath.Join(data, "sandbox")).Hold("session", func() Workspace { return p.w })
	t.Cleanup(release)
	s.OnAside(func(list []Aside) { p.aside = append(p.aside, list...) })
	p.session = s
	return p
}

func (p *place) mkdir(path string) {
	p.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) write(path, text string) {
	p.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.root, path)
	}
	p.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(path string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.root, path))
	if errors.Is(err, os.ErrNotExist) {
		return "missing"
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// run runs a line in the sandbox, and returns what it printed and its exit code.
func (p *place) run(line string) (string, int) {
	p.t.Helper()
	g, out := p.start(line)
	g.Await()
	g.Spare()
	how := g.Close()
	return strings.TrimSpace(out.String()), how.Code
}

func (p *place) start(line string) (*child.Group, *bytes.Buffer) {
	p.t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = p.root, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "ROOT=" + p.root}
	cmd.Stdout, cmd.Stderr = &out, &out
	g, err := p.session.Start(cmd)
	if err != nil {
		p.t.Fatal(err)
	}
	return g, &out
}

// Programs change what is in the workspace and in /tmp, and nothing else; what is hidden cannot be
// read.
func TestFiles(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t, level, func(w *Workspace) { w.Hidden = append(w.Hidden, filepath.Join(w.Roots[0], ".env")) })
			p.write(".env", "SECRET")
			p.write("main.go", "package main")
			p.write(filepath.Join(p.home, ".ssh/id_rsa"), "KEY")
			p.write(filepath.Join(p.home, ".local/share/dragoman/log"), "OURS")
			p.write(filepath.Join(p.home, "notes"), "notes")
			for line, want := range map[string]bool{
				"echo x > $ROOT/new && cat $ROOT/new":                                   true,
				"mkdir -p $ROOT/a/b && mv $ROOT/a/b $ROOT/c":                            true,
				"t=$(mktemp) && echo x > $t && rm $t":                                   true,
				"cat $HOME/notes $ROOT/main.go":                                         true,
				"ls $HOME && ls / && cat /proc/self/status":                             true,
				"echo x > /dev/null; head -c1 /dev/urandom":                             true,
				"echo x > $HOME/notes":                                                  false,
				"echo x > $HOME/new":                                                    false,
				"rm $HOME/notes":                                                        false,
				"mv $HOME/notes $ROOT/notes":                                            false,
				"ln $HOME/notes $ROOT/link":                                             false,
				"chmod 777 $HOME/notes && test -w $HOME/notes && echo x >> $HOME/notes": false,
				"echo x > /etc/new":                                                     false,
				"cat $HOME/.ssh/id_rsa":                                                 false,
				"test -s $ROOT/.env && cat $ROOT/.env":                                  level == child.Files, // nothing can be excepted from what is writable
				"cat $HOME/.local/share/dragoman/log":                                   false,
				"ln -s $HOME/.ssh/id_rsa k; cat k":                                      false,
				"cat /proc/self/root$HOME/.ssh/id_rsa":                                  false,
				"echo x > /proc/sys/kernel/core_pattern":                                false,
				"echo x > /proc/self/root/etc/new":                                      false,
			} {
				if out, code := p.run(line); (code == 0) != want {
					t.Errorf("%s: exit %d: %s", line, code, out)
				}
			}
			if text, err := os.ReadFile(filepath.Join(p.home, "notes")); err != nil || string(text) != "notes" {
				t.Errorf("notes: %q %v", text, err)
			}
		})
	}
}

// A program has no right that its user does not have, and cannot get one.
func TestRights(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t, level)
			status, _ := p.run("cat /proc/self/status")
			for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb"} {
				if !strings.Contains(status, set+":\t0000000000000000") {
					t.Errorf("%s is not empty: %s", set, status)
				}
			}
			if level == child.Full && !strings.Contains(status, "CapBnd:\t0000000000000000") {
				t.Errorf("the bounding set is not empty: %s", status)
			}
			for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
				if !strings.Contains(status, want) {
					t.Errorf("%s is missing in %s", want, status)
				}
			}
			for _, line := range []string{
				"mount -t tmpfs x /mnt", "mount -o remount,rw /", "umount /proc", "umount -l /dev", "unshare -Ur true", "unshare -m true",
				"nsenter -t 1 -m true", "chroot / true", "cat /proc/1/environ", "cat /proc/1/mem", "cat /proc/1/maps", "readlink /proc/1/fd/0", "ls /proc/1/cwd/",
				"kill -9 1; sleep 0.1; kill -0 1 && exit 1",
				"mknod $ROOT/null c 1 3",
			} {
				if out, code := p.run(line); code == 0 {
					t.Errorf("%s: works: %s", line, out)
				}
			}
		})
	}
}

// Every mount but those of the profile is read-only, and none has devices or set-user-id programs.
func TestMounts(t *testing.T) {
	levels(t)
	p := newPlace(t, child.Full)
	list, _ := p.run("cat /proc/self/mountinfo")
	writable := []string{p.root, "/tmp", "/var/tmp", "/run", "/dev/shm"}
	devices := []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts"}
	seen := 0
	mounts := map[string]string{} // of several at one place, the last is seen
	for line := range strings.Lines(list) {
		f := strings.Fields(line)
		mounts[f[4]] = f[5]
	}
	for at, said := range mounts {
		options := strings.Split(said, ",")
		if slices.Contains(devices, at) {
			continue
		}
		seen++
		if !slices.Contains(options, "nosuid") || !slices.Contains(options, "nodev") {
			t.Errorf("%s: %s", at, options)
		}
		out, code := p.run("touch '" + at + "/probe' && rm '" + at + "/probe'")
		if works := code == 0; works != (slices.Contains(writable, at) || strings.HasPrefix(at, "/run/caches/")) {
			t.Errorf("%s (%s): writable is %v: %s", at, said, works, out)
		}
	}
	if seen < 8 {
		t.Errorf("%d mounts: %s", seen, list)
	}
}

// Nothing outside can be reached through a socket: no port of this machine, no Unix socket.
func TestSockets(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t, level)
			probe := p.probing()
			for _, path := range []string{filepath.Join(p.home, "a.sock"), filepath.Join(p.root, "b.sock"), filepath.Join(os.TempDir(), fmt.Sprint("c", os.Getpid(), ".sock"))} {
				l, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				if out, code := p.run(probe + "connect unix " + path); code == 0 || !strings.HasPrefix(out, "failed:") {
					t.Errorf("%s: exit %d: %s", path, code, out)
				}
			}
			tcp, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer tcp.Close()
			for _, args := range []string{
				"connect tcp " + tcp.Addr().String(), "send 192.0.2.1:53", "send [2001:db8::1]:53",
				fmt.Sprint("socket ", unix.AF_PACKET, unix.SOCK_RAW, 0), fmt.Sprint("socket ", unix.AF_VSOCK, unix.SOCK_STREAM, 0),
				fmt.Sprint("socket ", unix.AF_INET, unix.SOCK_RAW, 1), fmt.Sprint("socket ", unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
			} {
				if out, code := p.run(probe + args); code == 0 || !strings.HasPrefix(out, "failed:") {
					t.Errorf("%s: exit %d: %s", args, code, out)
				}
			}
			if out, code := p.run(probe + "pair"); code != 0 {
				t.Errorf("socketpair: %s", out)
			}
			if out, code := p.run(probe + fmt.Sprint("socket ", unix.AF_NETLINK, unix.SOCK_RAW, 0)); code != 0 {
				t.Errorf("netlink: %s", out)
			}
		})
	}
}

// The system calls that lead out of a sandbox are refused, or unknown.
func TestCalls(t *testing.T) {
	for _, level := range levels(t) {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t, level)
			probe := p.probing()
			for want, list := range map[string][]uintptr{"EPERM": barred, "ENOSYS": missing} {
				for _, nr := range list {
					if out, _ := p.run(probe + fmt.Sprint("call ", nr)); out != "failed: "+want {
						t.Errorf("call %d: %s, want %s", nr, out, want)
					}
				}
			}
		})
	}
}

// The commands of a session see each other's processes and servers, at level full nobody else's.
func TestOneSandbox(t *testing.T) {
	levels(t)
	p := newPlace(t, child.Full)
	probe := p.probing()
	job, _ := p.start("echo kept > /tmp/file; " + probe + "serve 127.0.0.1:8765")
	defer job.Close()
	out, code := p.run("until curl -sf http://127.0.0.1:8765/file; do :; done; ls -d /proc/[0-9]* | wc -l")
	if code != 0 || !strings.HasPrefix(out, "kept\n") {
		t.Errorf("exit %d: %s", code, out)
	}
	if n := strings.TrimPrefix(out, "kept\n"); len(n) > 1 {
		t.Errorf("%s processes are seen", n)
	}
	if text, err := os.ReadFile(filepath.Join(p.session.Tmp(), "file")); err != nil || string(text) != "kept\n" {
		t.Errorf("%q %v", text, err)
	}
}

// What decides what runs later cannot be changed unnoticed, whether it existed before or not.
func TestControlFiles(t *testing.T) {
	for _, level := range append(levels(t), child.None) {
		t.Run(string(level), func(t *testing.T) {
			p := newPlace(t, level)
			p.write("AGENTS.md", "be good")
			p.write(".git/HEAD", "ref: refs/heads/main\n")
			p.mkdir(filepath.Join(p.root, ".git/objects"))
			p.write(".git/config", "[core]\n")
			p.write(".git/hooks/pre-commit.sample", "exit 0\n")
			p.write(".config/fish/config.fish", "true\n")
			p.write("sub/AGENTS.md", "be good")
			for _, c := range []struct{ line, path, want string }{
				{"echo evil > AGENTS.md", "AGENTS.md", "be good"},
				{"rm -f AGENTS.md", "AGENTS.md", "be good"},
				{"rm -f AGENTS.md; ln -s /etc/passwd AGENTS.md", "AGENTS.md", "be good"},
				{"echo evil > .git/hooks/pre-commit", ".git/hooks/pre-commit", "missing"},
				{"git config core.fsmonitor evil", ".git/config", "[core]\n"},
				{"mv .git/hooks .git/old; mkdir .git/hooks; echo evil > .git/hooks/post-commit", ".git/hooks/post-commit", "missing"},
				{"mkdir .vscode; echo evil > .vscode/tasks.json", ".vscode/tasks.json", "missing"},
				{"mkdir -p .dragoman; echo evil > .dragoman/config.yaml", ".dragoman/config.yaml", "missing"},
				{"mv .config x; mkdir -p .config/fish; echo evil > .config/fish/config.fish", ".config/fish/config.fish", "true\n"},
				{"mv .git x; mkdir -p .git/hooks; mv x/HEAD x/objects .git; echo evil > .git/hooks/pre-commit", ".git/hooks/pre-commit", "missing"},
				{"mv .vscode v; mkdir evil; echo evil > evil/tasks.json; ln -s evil .vscode", ".vscode/tasks.json", "missing"},
				{"mkdir e2; mv .git w; ln -s e2 .git; echo evil > e2/config", ".git/config", "[core]\n"},
				{"mkdir -p e3/fish; mv .config x3; ln -s e3 .config; echo evil > e3/fish/config.fish", ".config/fish/config.fish", "true\n"},
				{"mkdir q; mv .git q/g; echo gitdir: q/g > .git", ".git/config", "[core]\n"},
				{"mv .git y; mkdir .git; mv y/HEAD y/objects .git; echo evil > .git/config", ".git/config", "[core]\n"},
			} {
				p.aside = nil
				_, _ = p.run(c.line)
				if got := p.read(c.path); got != c.want {
					t.Errorf("%s: %s is %q", c.line, c.path, got)
				}
			}
			if level == child.Full { // elsewhere only what is in folders of settings is compared
				_, _ = p.run("mv sub z; mkdir sub; echo evil > sub/AGENTS.md")
				if got := p.read("sub/AGENTS.md"); got != "be good" {
					t.Errorf("a folder was moved away: sub/AGENTS.md is %q", got)
				}
			}
			p.aside = nil
			if _, code := p.run("echo mine > .mcp.json"); code != 0 || len(p.aside) != 1 || p.aside[0].Change != Appeared {
				t.Fatalf("exit %d: %+v", code, p.aside)
			}
			if err := p.aside[0].TakeBack(); err != nil || p.read(".mcp.json") != "mine\n" {
				t.Errorf("taken back: %q %v", p.read(".mcp.json"), err)
			}
		})
	}
}

// The proxy's listener is inside, and we serve it from outside, also after the sandbox has come to
// rest; at level files there is none.
func TestProxy(t *testing.T) {
	levels(t)
	served, ended := make(chan net.Listener, 4), make(chan bool, 4)
	p := newPlace(t, child.Full, func(w *Workspace) {
		w.Serve = func(l net.Listener) func() {
			served <- l
			var all sync.WaitGroup
			all.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved"))
					c.Close()
				}
			})
			return func() {
				l.Close()
				all.Wait()
				ended <- true
			}
		}
	})
	for range 2 {
		if out, code := p.run("curl -s http://example.invalid/; curl -s --noproxy '*' -m 2 http://127.0.0.1:1/ || echo no other way"); code != 0 || out != "servedno other way" {
			t.Errorf("exit %d: %s", code, out)
		}
		l := <-served
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			c.Close()
			t.Errorf("%s can be reached from outside", l.Addr())
		}
		for rests := false; !rests; { // a process may be about to end
			p.session.Rest()
			select {
			case <-ended:
				rests = true
			default:
			}
		}
	}
}
