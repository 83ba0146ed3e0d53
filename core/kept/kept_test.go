package kept_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dragoman/core"
	"dragoman/core/kept"
	"dragoman/core/policy"
)

// world is a policy over a file of answers, and two folders.
type world struct {
	kept.Policy

	file, here, there string
}

func newWorld(t *testing.T, rules ...policy.Rule) world {
	t.Helper()
	p, err := policy.New(policy.Options{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := world{file: filepath.Join(dir, "conf", "policy.json"), here: filepath.Join(dir, "here"), there: filepath.Join(dir, "there")}
	for _, folder := range []string{w.here, w.there} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	roles := []policy.Role{{Name: "code", Primary: true}, {Name: "helper", Sub: true}, {Name: "guest", Primary: true, Foreign: true}}
	w.Policy = kept.Policy{Rules: policy.Rights{Rules: p, Strict: p, Roles: roles, Default: "code"}, Store: kept.Open(w.file)}
	return w
}

func (w world) run(line string) core.Check {
	return core.Check{
		Call:   core.Call{Server: core.Native, Tool: "shell_command"},
		Spec:   core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute},
		Access: []core.Access{{Op: core.OpRun, Path: w.here, Command: line}},
		Meta:   core.Meta{Cwd: w.here, Roots: []string{w.here}},
		Origin: core.Origin{Client: "Zed", Principal: core.Local},
	}
}

// keep asks about a check and keeps the answer.
func (w world) keep(t *testing.T, c core.Check) core.Verdict {
	t.Helper()
	v := w.Decide(c)
	if v.Effect != core.MustAsk || v.Keep == nil {
		t.Fatalf("it is not offered for good: %+v", v)
	}
	if err := v.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}

// An answer that is kept counts for the same scope, folders, agent and principal, and for nothing else.
func TestKept(t *testing.T) {
	w := newWorld(t, policy.Rule{Effect: core.Deny, Command: "git push *"}, policy.Rule{Effect: core.MustAsk, Command: "go test ./secret"})
	w.keep(t, w.run("go test ./a"))
	for name, test := range map[string]struct {
		change func(*core.Check)
		want   core.Effect
	}{
		"the same":               {func(*core.Check) {}, core.Allow},
		"another package":        {func(c *core.Check) { c.Access[0].Command = "go test -v ./b" }, core.Allow},
		"another client":         {func(c *core.Check) { c.Origin.Client = "Emacs" }, core.Allow},
		"the agent by its name":  {func(c *core.Check) { c.Settings.Agent = "code" }, core.Allow},
		"where nobody is asked":  {func(c *core.Check) { c.Origin.Approvals = core.ApprovalsDeny }, core.Allow},
		"an agent that prompts":  {func(c *core.Check) { c.Origin.Caller = "mcp" }, core.Allow},
		"another command":        {func(c *core.Check) { c.Access[0].Command = "go vet ./a" }, core.MustAsk},
		"an option that runs":    {func(c *core.Check) { c.Access[0].Command = "go test -exec x ./a" }, core.MustAsk},
		"an ask rule":            {func(c *core.Check) { c.Access[0].Command = "go test ./secret" }, core.MustAsk},
		"another folder":         {func(c *core.Check) { c.Meta.Cwd, c.Meta.Roots = w.there, []string{w.there} }, core.MustAsk},
		"one folder more":        {func(c *core.Check) { c.Meta.Roots = append(c.Meta.Roots, w.there) }, core.MustAsk},
		"another agent":          {func(c *core.Check) { c.Settings.Agent = "helper" }, core.MustAsk},
		"the agent's task":       {func(c *core.Check) { c.Settings.Agent, c.Meta.Parent, c.Meta.ParentAgent = "helper", "p", "code" }, core.MustAsk},
		"an agent that it works": {func(c *core.Check) { c.Meta.Parent, c.Meta.ParentAgent = "p", "helper" }, core.Allow},
		"a workspace's agent":    {func(c *core.Check) { c.Settings.Agent = "guest" }, core.MustAsk},
		"another principal":      {func(c *core.Check) { c.Origin.Principal = "other" }, core.MustAsk},
		"no principal":           {func(c *core.Check) { c.Origin.Principal = "" }, core.MustAsk},
		"a turn that reads":      {func(c *core.Check) { c.Origin.Approvals = core.ApprovalsReadOnly }, core.Deny},
		"the home folder":        {func(c *core.Check) { c.Access[0].Wide = true }, core.MustAsk},
	} {
		c := w.run("go test ./a")
		test.change(&c)
		if v := w.Decide(c); v.Effect != test.want {
			t.Errorf("%s: %s, %q; want %s", name, v.Effect, v.Why, test.want)
		}
	}
	rejected := w.run("go test ./a")
	rejected.Remembered = map[string]core.Decision{newWorld(t).Decide(rejected).Remember: core.RejectAlways}
	if v := w.Decide(rejected); v.Effect != core.Deny || len(rejected.Remembered) != 1 {
		t.Errorf("rejected for the session: %s, %q, %v", v.Effect, v.Why, rejected.Remembered)
	}
	if v := w.Decide(w.run("go test ./a")); !strings.Contains(v.Why, "allowed for good in this folder: `go test` commands") {
		t.Errorf("why: %q", v.Why)
	}
	link := filepath.Join(filepath.Dir(w.here), "link")
	if err := os.Symlink(w.here, link); err == nil {
		c := w.run("go test ./a")
		c.Meta.Cwd, c.Meta.Roots = link, []string{link}
		if v := w.Decide(c); v.Effect != core.Allow {
			t.Errorf("the folder by a link: %s, %q", v.Effect, v.Why)
		}
	}
}

// What must not last is not offered.
func TestNotOffered(t *testing.T) {
	w := newWorld(t, policy.Rule{Effect: core.MustAsk, Command: "make *"})
	for _, line := range []string{"make x", "cp a .git/hooks/x", "echo 'a", "crontab x"} {
		if v := w.Decide(w.run(line)); v.Effect != core.MustAsk || v.Keep != nil {
			t.Errorf("%s: %s, offered %t", line, v.Effect, v.Keep != nil)
		}
	}
	for name, change := range map[string]func(*core.Check){
		"a workspace's agent": func(c *core.Check) { c.Settings.Agent = "guest" },
		"the home folder":     func(c *core.Check) { c.Access[0].Wide = true },
		"no folder":           func(c *core.Check) { c.Meta.Cwd = "" },
	} {
		c := w.run("go vet")
		change(&c)
		if v := w.Decide(c); v.Effect != core.MustAsk || v.Keep != nil {
			t.Errorf("%s: %s, offered %t", name, v.Effect, v.Keep != nil)
		}
	}
	w.Store = kept.Open("")
	if v := w.Decide(w.run("go vet")); v.Keep != nil {
		t.Error("it is offered where nothing can be kept")
	}
	if err := w.Store.Add(t.Context(), kept.Rule{}); err == nil {
		t.Error("a store without a place keeps something")
	}
}

// A file with a mistake allows nothing, and is not replaced.
func TestFileWithAMistake(t *testing.T) {
	w := newWorld(t)
	offered := w.keep(t, w.run("go vet"))
	if err := os.WriteFile(w.file, []byte(`{"always": [`), 0o600); err != nil {
		t.Fatal(err)
	}
	if v := w.Decide(w.run("go vet")); v.Effect != core.MustAsk || v.Keep != nil {
		t.Errorf("%s, offered %t", v.Effect, v.Keep != nil)
	}
	if err := offered.Keep(t.Context()); err == nil {
		t.Error("it is written to")
	}
	if _, err := w.Store.List(); err == nil || !strings.Contains(err.Error(), w.file) {
		t.Errorf("the list: %v", err)
	}
	if got, err := os.ReadFile(w.file); err != nil || string(got) != `{"always": [` {
		t.Errorf("the file: %q, %v", got, err)
	}
}

// Answers are listed in words and forgotten, by all processes at once.
func TestForget(t *testing.T) {
	w := newWorld(t)
	twice := w.keep(t, w.run("go vet"))
	w.keep(t, w.run("make x > y"))
	if err := twice.Keep(t.Context()); err != nil {
		t.Error(err)
	}
	other := w
	other.Store = kept.Open(w.file)
	list, err := other.Store.List()
	if err != nil || len(list) != 2 || list[0].Allows != "`go vet` commands" || list[1].Allows != "exactly `make x > y`" ||
		list[0].Agent != "code" || list[0].Client != "Zed" || list[0].ID == list[1].ID || list[0].Given.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	if info, err := os.Stat(w.file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	if _, err := other.Store.Forget(t.Context(), list[0].ID, "nothing"); err == nil {
		t.Error("an unknown ID is no error")
	}
	if v := w.Decide(w.run("go vet")); v.Effect != core.Allow {
		t.Errorf("after an error: %s", v.Effect)
	}
	if gone, err := other.Store.Forget(t.Context(), list[0].ID); err != nil || len(gone) != 1 {
		t.Errorf("%v, %v", gone, err)
	}
	if v := w.Decide(w.run("go vet")); v.Effect != core.MustAsk {
		t.Errorf("after it was forgotten: %s, %q", v.Effect, v.Why)
	}
	if gone, err := other.Store.ForgetAll(t.Context()); err != nil || len(gone) != 1 {
		t.Errorf("%v, %v", gone, err)
	}
	if list, err := w.Store.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// Answers given at the same time are all kept.
func TestAnswersAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	errs := make(chan error, 20)
	for i := range 20 {
		v := w.Decide(w.run("make x > " + strings.Repeat("y", i+1)))
		store := v.Keep
		all.Go(func() { errs <- store(t.Context()) })
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	ids := map[string]bool{}
	list, err := w.Store.List()
	for _, r := range list {
		ids[r.ID] = true
	}
	if err != nil || len(ids) != 20 {
		t.Errorf("%d rules, %v", len(ids), errors.Join(err))
	}
}
