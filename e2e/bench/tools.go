package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// wide makes a folder of 50,000 files.
func (b *bench) wide() string {
	dir := filepath.Join(b.tmp, "wide")
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	for i := range 500 {
		sub := filepath.Join(dir, fmt.Sprintf("part_%d", i/25), fmt.Sprintf("folder_%d", i))
		check(os.MkdirAll(sub, 0o700))
		for j := range 100 {
			check(os.WriteFile(filepath.Join(sub, fmt.Sprintf("file_%d.go", i*100+j)), []byte("package wide\n"), 0o600))
		}
	}
	return dir
}

// called calls a tool in a turn, and returns how long it took from the model's side.
func (b *bench) called(c *client, session, tool string, args object) (s sample) {
	text, err := json.Marshal(args)
	check(err)
	b.model.tools()
	c.turn(session, "tool "+tool+" "+string(text))
	for _, d := range b.model.tools() {
		s.took(d)
	}
	if len(s) != 1 {
		check(fmt.Errorf("%s was called %d times", tool, len(s)))
	}
	return s
}

// ran runs a program in a folder and returns how long that took.
func ran(dir string, args ...string) (s sample) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	began := time.Now()
	_ = cmd.Run() // 1 is a search that finds nothing
	s.took(time.Since(began))
	return s
}

// search is grep and glob beside ripgrep, where that is installed.
func (b *bench) search() {
	_, err := exec.LookPath("rg")
	installed := err == nil
	out, err := exec.Command("go", "env", "GOROOT").Output()
	check(err)
	goroot, wide := filepath.Join(strings.TrimSpace(string(out)), "src"), b.wide()
	home, _ := b.home("")
	cases := []struct {
		what, dir, tool string
		args            object
		peer            []string
	}{
		{"grep, GOROOT/src", goroot, "grep", object{"pattern": "ErrNoProgress"}, []string{"rg", "-n", "ErrNoProgress"}},
		{"grep, case ignored", goroot, "grep", object{"pattern": "ErrNoProgress", "ignore_case": true}, []string{"rg", "-n", "-i", "ErrNoProgress"}},
		{"grep, a regular expression", goroot, "grep", object{"pattern": `func \(.*\) MarshalJSON`}, []string{"rg", "-n", `func \(.*\) MarshalJSON`}},
		{"glob, GOROOT/src", goroot, "glob", object{"pattern": "**/bytes.go"}, []string{"rg", "--files"}},
		{"grep, 50,000 files", wide, "grep", object{"pattern": "ErrNoProgress"}, []string{"rg", "-n", "ErrNoProgress"}},
		{"glob, 50,000 files", wide, "glob", object{"pattern": "**/file_49999.go"}, []string{"rg", "--files"}},
	}
	rows := [][]string{row("", "ms", "rg, ms", "× rg")}
	clients, ids := map[string]*client{}, map[string]string{}
	for _, dir := range []string{goroot, wide} {
		clients[dir] = b.start(b.serving("acp"), home, dir)
		ids[dir] = clients[dir].begin()
		clients[dir].turn(ids[dir], small)
	}
	for _, k := range cases {
		var ours, theirs sample
		for range rounds * 5 {
			ours = append(ours, b.called(clients[k.dir], ids[k.dir], k.tool, k.args)...)
			if installed {
				theirs = append(theirs, ran(k.dir, k.peer...)...)
			}
		}
		rows = append(rows, row(k.what, ours.both(), theirs.both(), times(ours.median(), theirs.median())))
	}
	for _, c := range clients {
		b.stop(c)
	}
	note := ""
	if !installed {
		note = " ripgrep is not installed here."
	}
	b.heading("Search", "Tools of a turn in ACP, from the model's call to the request with the result (n = 10), beside ripgrep as a program of its own."+note)
	b.table(rows...)
}

// complete is the completion of file names in ECA.
func (b *bench) complete() {
	wide := b.wide()
	home, _ := b.home("")
	keys := []string{"f", "fi", "fil", "file_499", "nothing_such"}
	took := make([]sample, len(keys))
	for range 9 {
		c := b.start(b.serving("eca"), home, wide)
		id := c.begin()
		for i, key := range keys {
			began := time.Now()
			c.ask("chat/queryContext", object{"chatId": id, "query": key, "contexts": []any{}})
			took[i].took(time.Since(began))
		}
		b.stop(c)
	}
	rows := [][]string{row("typed", "ms")}
	for i, key := range keys {
		rows = append(rows, row("`@"+key+"`", took[i].both()))
	}
	b.heading("Completion", "ECA's `chat/queryContext` in a folder of 50,000 files, one after the other in a new process (n = 9).")
	b.table(rows...)
}

// shell is a command that does nothing.
func (b *bench) shell() {
	var bash sample
	names := []string{"without a sandbox", "in the session's sandbox"}
	took, clients, ids := make([]sample, 2), make([]*client, 2), make([]string, 2)
	for i, level := range []string{"none", "full"} {
		home, work := b.home("policy: {default: allow, unattended: anywhere, sandbox: " + level + "}\n")
		clients[i] = b.start(b.serving("acp"), home, work)
		ids[i] = clients[i].begin()
		b.called(clients[i], ids[i], "shell_command", object{"command": "true"}) // starts the sandbox
	}
	for range rounds * 15 {
		bash = append(bash, ran(b.tmp, "bash", "-c", "true")...)
		for i, c := range clients {
			took[i] = append(took[i], b.called(c, ids[i], "shell_command", object{"command": "true"})...)
		}
	}
	rows := [][]string{row("", "ms", "× bash"), row("bash -c true", bash.both(), "1")}
	for i, c := range clients {
		b.stop(c)
		rows = append(rows, row(names[i], took[i].both(), times(took[i].median(), bash.median())))
	}
	b.heading("Commands", "The tool `shell_command` with `true` (n = 30), beside `bash -c true` of the program that measures. Where the system has no sandbox, both rows are the same.")
	b.table(rows...)
}

// idle is what programs do when there is nothing to do.
func (b *bench) idle() {
	var clients []*client
	for _, protocol := range []string{"acp", "eca", "mcp"} {
		home, work := b.home("")
		c := b.start(b.serving(protocol), home, work)
		c.turn(c.begin(), small)
		clients = append(clients, c)
	}
	time.Sleep(8 * time.Second) // by then everything is stored, and the services were asked for their models
	before := make([]time.Duration, len(clients))
	for i, c := range clients {
		before[i] = cpuOf(c.pid())
	}
	time.Sleep(10 * time.Second)
	rows := [][]string{row("", "CPU in 10 s, ms")}
	for i, c := range clients {
		used := cpuOf(c.pid()) - before[i]
		rows = append(rows, row(c.name, fmt.Sprintf("%.2f", float64(used.Microseconds())/1000)))
		b.stop(c)
	}
	b.heading("Idle", "Eight seconds after a turn, when everything is stored and the services were asked for their models.")
	b.table(rows...)
}
