package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func init() { plays["intruder"] = intrude }

// intrude plays a program that connects to the socket of a process, which it is given with its key, its
// configuration and a session, and allows whatever waits there. It says what came of that.
func intrude() {
	path, key, config, session := os.Getenv("SOCKET"), os.Getenv("KEY"), os.Getenv("CONFIG"), os.Getenv("SESSION")
	conn, err := net.Dial("unix", path)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(20 * time.Second))
	}
	if err != nil {
		fmt.Println("it cannot connect:", err)
		return
	}
	in := bufio.NewReader(conn)
	for i, m := range []object{
		{"method": "hello", "params": object{"version": 1, "key": key, "config": config, "node": "intruder"}},
		{"method": "open", "params": object{"principal": "local", "session": session}},
		{"method": "attach", "params": object{"id": "x", "name": "Intruder", "principal": "local", "role": "decide", "asks": true}},
		{"method": "do", "params": object{
			"client": "x", "key": "k", "until": "2099-01-01T00:00:00Z",
			"settle": object{"ask": os.Getenv("ASK"), "reply": object{"outcome": "decided", "decision": "allow_once"}},
		}},
	} {
		m["jsonrpc"], m["id"] = "2.0", i+1
		line, _ := json.Marshal(m) // it is JSON
		answer := []byte{}
		if _, err = conn.Write(append(line, '\n')); err == nil {
			for err == nil && !strings.Contains(string(answer), fmt.Sprintf(`"id":%d`, i+1)) {
				answer, err = in.ReadBytes('\n')
			}
		}
		if err != nil || strings.Contains(string(answer), `"error"`) {
			fmt.Printf("it is refused at %s: %v %s\n", m["method"], err, answer)
			return
		}
	}
	fmt.Println("it is ADMITTED")
}

// ownedBy reads where the owner of a session can be reached.
func (p *place) ownedBy(t testing.TB, pid int) (socket, key string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.data, "sessions", "??", "*.owner"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		var o struct {
			PID     int
			Address string
		}
		text, err := os.ReadFile(filepath.Clean(name))
		if err == nil && json.Unmarshal(text, &o) == nil && o.PID == pid {
			socket, key, _ = strings.Cut(o.Address, " ")
			return socket, key
		}
	}
	t.Fatalf("process %d owns no session", pid)
	return "", ""
}

// No program that a gateway has started, no other user and no sandbox gets to the socket of a process, even if it
// knows the key. share's attack_test.go has what those would say who may connect.
func TestAttack34(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			p := sharedPlace(t)
			config := p.config(t, "policy: {sandbox: "+level+"}\n")
			intruder := filepath.Join(p.work, "intruder")
			copyFile(t, os.Args[0], intruder)
			victim := p.acpClientOf(t, quickly(t), object{}, true, "--config", config)
			victim.permission = "hold"
			id := victim.session()
			end := victim.begin("session/prompt", promptOf(id, "run touch pwned"))
			victim.read("a question", func() bool { return len(victim.held) == 1 })
			socket, key := p.ownedBy(t, victim.cmd.Process.Pid)
			var ask struct{ Ask struct{ ID string } }
			log := p.logOf(t, id)
			log[slices.IndexFunc(log, func(r logged) bool { return r.Kind == "asked" })].into(t, &ask)
			env := []string{
				playVar + "=intruder", "SOCKET=" + socket, "KEY=" + key, "CONFIG=" + config, "SESSION=" + id, "ASK=" + ask.Ask.ID,
			}
			line := strings.Join(env, " ") + " " + intruder

			elsewhere := *p // its sockets are in another folder
			elsewhere.env = append(slices.Clone(p.env), "XDG_RUNTIME_DIR="+p.home)
			for where, at := range map[string]*place{"another process": p, "a process with other sockets": &elsewhere} {
				c := at.acpClientOf(t, quickly(t), object{}, true, "--config", config)
				mine := c.session()
				for _, run := range []string{line, "rm -f said; (" + line + " >said 2>&1 & ); while [ ! -s said ]; do sleep 0.05; done; cat said", "rm -f said; setsid -f " + line + " >said 2>&1; while [ ! -s said ]; do sleep 0.05; done; cat said"} {
					if run = strings.ReplaceAll(run, "setsid -f "+line, "setsid -f env "+line); level != "none" && run != line {
						continue
					}
					c.forget()
					c.prompt(mine, "run "+run)
					if said := c.said(mine); !strings.Contains(said, "it cannot connect") && !strings.Contains(said, "it is refused") || strings.Contains(said, "ADMITTED") {
						t.Errorf("a command of %s, %.20s: %s", where, run, said)
					}
				}
				c.stop()
			}
			victim.permission = "allow_once" // of the process itself
			other := victim.session()
			victim.prompt(other, "run "+line)
			if said := victim.said(other); !strings.Contains(said, "it cannot connect") && !strings.Contains(said, "it is refused") {
				t.Errorf("a command of the process itself: %s", said)
			}
			if os.Getuid() == 0 {
				cmd := exec.Command(intruder)
				cmd.Env = env
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
				out, err := cmd.CombinedOutput()
				if strings.Contains(string(out), "ADMITTED") || err == nil && !strings.Contains(string(out), "it cannot connect") {
					t.Errorf("another user: %s %v", out, err)
				}
			}
			absent(t, filepath.Join(p.work, "pwned"), "an intruder has allowed it")
			if _, ok := victim.answers[end]; ok {
				t.Error("the turn has ended")
			}
			cmd := exec.Command(intruder) // as an editor's gateway would
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "ADMITTED") {
				t.Errorf("a process of the user: %s %v", out, err)
			}
			victim.end(end)
			if _, err := os.Stat(filepath.Join(p.work, "pwned")); errors.Is(err, fs.ErrNotExist) {
				t.Error("the answer that counts has no effect")
			}
			victim.stop()
		})
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	if os.Link(from, to) == nil {
		return
	}
	b, err := os.ReadFile(filepath.Clean(from))
	if err == nil {
		err = os.WriteFile(to, b, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
}
