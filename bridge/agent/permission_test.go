package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/bridge/agent"
	"dragoman/bridge/agent/agenttest"
	"dragoman/core"
	"dragoman/core/child"
)

// permitted answers with the option of an id, and counts the questions.
func permitted(option string) func(core.Ask) core.Reply {
	return func(core.Ask) core.Reply { return core.Reply{Outcome: core.OutcomeDecided, Option: option} }
}

func TestPermissions(t *testing.T) {
	for _, test := range []struct {
		name   string
		rules  []rule
		prompt string
		answer func(core.Ask) core.Reply
		asked  int
		want   string
	}{
		{"allowed", nil, `permission {"title":"make","kind":"execute","rawInput":{"command":"make"}}`, permitted("allow"), 1, "selected allow"},
		{"allowed by a client that knows only yes and no", nil, `permission {"title":"make","kind":"execute","rawInput":{"command":"make"}}`, always(allow), 1, "selected allow"},
		{"always, by a person who saw it", nil, `permission {"title":"make","kind":"execute","rawInput":{"command":"make"}}`, permitted("allow_always"), 1, "selected allow_always"},
		{"rejected", nil, `permission {"title":"make","kind":"execute","rawInput":{"command":"make"}}`, always(reject), 1, "selected reject"},
		{"denied by a rule", []rule{{Effect: core.Deny, Command: "make *"}}, `permission {"title":"nice","kind":"execute","rawInput":{"command":"make all"}}`, nil, 0, "selected reject"},
		{"allowed by a rule", []rule{{Effect: core.Allow, Tool: "shell_command", Command: "make *"}}, `permission {"title":"nice","kind":"execute","rawInput":{"command":"make all"}}`, nil, 0, "selected allow"},
		{"another command than the rule's", []rule{{Effect: core.Allow, Tool: "shell_command", Command: "make *"}}, `permission {"title":"make all","kind":"execute","rawInput":{"command":"rm -rf x"}}`, always(reject), 1, "selected reject"},
		{"nothing is offered", nil, `permission {"title":"t","kind":"execute","rawInput":{"command":"make"},"options":[]}`, nil, 0, "cancelled"},
		{"an unknown kind never allows", []rule{{Effect: core.Allow}}, `permission {"title":"t","kind":"execute","rawInput":{"command":"make"},"options":[{"optionId":"x","name":"X","kind":"allow_everything"}]}`, always(reject), 1, "cancelled"},
		{"an option of an unknown kind is not passed on", nil, `permission {"title":"t","kind":"execute","rawInput":{"command":"make"},"options":[{"optionId":"x","name":"Yes","kind":"allow_everything"},{"optionId":"n","name":"No","kind":"reject_once"}]}`, permitted("x"), 1, "selected n"},
		{"a no under the id of a yes", []rule{{Effect: core.Deny}}, `permission {"title":"t","kind":"execute","rawInput":{"command":"make"},"options":[{"optionId":"x","name":"Yes","kind":"allow_once"},{"optionId":"x","name":"No","kind":"reject_once"}]}`, nil, 0, "cancelled"},
		{"once under the id of always", []rule{{Effect: core.Allow}}, `permission {"title":"t","kind":"execute","rawInput":{"command":"make"},"options":[{"optionId":"x","name":"Always","kind":"allow_always"},{"optionId":"x","name":"Once","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}`, nil, 0, "cancelled"},
		{"always is a person's", []rule{{Effect: core.Allow}}, `permission {"title":"t","kind":"execute","rawInput":{"command":"make"},"options":[{"optionId":"x","name":"X","kind":"allow_always"},{"optionId":"n","name":"N","kind":"reject_once"}]}`, permitted("x"), 1, "selected x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{})}, test.rules...).begin("")
			c.answer = test.answer
			c.says(test.prompt, test.want+"\n")
			if len(c.asked) != test.asked {
				t.Errorf("%d questions: %+v", len(c.asked), c.asked)
			}
		})
	}
}

// Two lists of options with the same kinds are two questions: a person sees the labels.
func TestOptionsOfEqualKindsKeepTheirLabels(t *testing.T) {
	c := one(t, agenttest.Options{})
	const list = `permission {"title":"echo","kind":"other","options":[{"optionId":"server","name":"All tools of %s","kind":"allow_always"},{"optionId":"tool","name":"This tool","kind":"allow_always"},{"optionId":"once","name":"Once","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}`
	for _, name := range []string{"one", "two"} {
		c.asked = nil
		c.answer = permitted("tool")
		c.says(fmt.Sprintf(list, name), "selected tool\n")
		if len(c.asked) != 1 || c.asked[0].Fits() {
			t.Fatalf("%+v", c.asked)
		}
		var labels []string
		for _, o := range c.asked[0].Options {
			labels = append(labels, o.ID+"="+o.Label)
		}
		if got, want := strings.Join(labels, ", "), "server=All tools of "+name+", tool=This tool, once=Once, no=No"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A permission also covers the requests of the same call for what it showed, and nothing else.
func TestOneEffectIsAskedAboutOnce(t *testing.T) {
	for _, test := range []struct {
		name, prompt string
		asked        int
		want         string
	}{
		{"the same file", `permission {"title":"Write a.txt","kind":"edit","locations":[{"path":"DIR/a.txt"}],"rawInput":{"file_path":"DIR/a.txt"}}` + "\nwrite DIR/a.txt x", 1, "selected allow\nwritten DIR/a.txt\n"},
		{"another file", `permission {"title":"Write a.txt","kind":"edit","locations":[{"path":"DIR/a.txt"}]}` + "\nwrite DIR/b.txt x", 2, "selected allow\nwritten DIR/b.txt\n"},
		{"the same command", `permission {"title":"echo hi","kind":"execute","rawInput":{"command":"echo hi"}}` + "\nrun echo hi", 1, "selected allow\nhi\nexit 0\n"},
		{"another command", `permission {"title":"echo hi","kind":"execute","rawInput":{"command":"echo hi"}}` + "\nrun echo ho", 2, "selected allow\nho\nexit 0\n"},
		{"after the end of a call that was asked about twice", `permission {"toolCallId":"A","title":"echo hi","kind":"execute","rawInput":{"command":"echo hi"}}` + "\nend\n" +
			`permission {"toolCallId":"A","bare":true,"title":"echo hi","kind":"execute","rawInput":{"command":"echo hi"}}` + "\n" +
			`update {"sessionUpdate":"tool_call_update","toolCallId":"A","status":"completed"}` + "\nrun echo hi", 3, "selected allow\nselected allow\nhi\nexit 0\n"},
		{"after the call's end", `permission {"title":"echo hi","kind":"execute","rawInput":{"command":"echo hi"}}` + "\nend\nrun echo hi", 2, "selected allow\nhi\nexit 0\n"},
		{"reading is not writing", `permission {"title":"Read","kind":"read","locations":[{"path":"DIR/../out.txt"}]}` + "\nwrite DIR/../out.txt x", 2, "selected allow\nwritten DIR/../out.txt\n"},
		{"without a permission", "write DIR/c.txt x\nrun echo hi", 2, "written DIR/c.txt\nhi\nexit 0\n"},
		{"reading in the workspace", "write DIR/c.txt x\nread DIR/c.txt", 1, "written DIR/c.txt\nx\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := one(t, agenttest.Options{})
			in := strings.NewReplacer("DIR", c.dir)
			c.answer = always(allow)
			c.says(in.Replace(test.prompt), in.Replace(test.want))
			if len(c.asked) != test.asked {
				t.Errorf("%d questions: %+v", len(c.asked), c.asked)
			}
		})
	}
}

// noting is a sandbox that confines nothing and has something to say.
type noting struct {
	child.Guard
	notes []string
}

func (*noting) Level() child.Level { return child.Full }

func (n *noting) Notes() []string {
	notes := n.notes
	n.notes = nil
	return notes
}

// What the sandbox has refused stands at the end of a terminal's output, so that the agent learns why its
// command failed.
func TestNotesOfTheSandboxStandInTheOutput(t *testing.T) {
	box := &noting{notes: []string{"example.com was refused", "a\x1b[2Jb"}}
	c := one(t, agenttest.Options{}, func(o *agent.Options) {
		o.Sandbox = func(core.Meta, core.Host) (agent.Sandbox, func()) { return box, box.Close }
	})
	c.answer = always(allow)
	c.says("run echo hi", "hi\n[example.com was refused]\n[a⟨U+001B⟩[2Jb]\nexit 0\n")
	c.says("run echo ho", "ho\nexit 0\n")
}

// The last record of a call says when it began, and who has allowed it.
func TestEndedCallsKeepTheirDecision(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.answer = always(allow)
	c.says("write c.txt x\nrun echo hi\n"+`permission {"title":"look","kind":"execute","rawInput":{"command":"ls"}}`+"\nend", "written c.txt\nhi\nexit 0\nselected allow\n")
	ended := 0
	for _, ev := range c.events {
		e, ok := ev.(core.CallChanged)
		if !ok || !e.Call.State.Ended() {
			continue
		}
		if ended++; e.Call.Start.IsZero() || e.Call.Why != "allowed by the user" {
			t.Errorf("%s: began %v, %q", e.Call.Title, e.Call.Start, e.Call.Why)
		}
	}
	if ended != 3 {
		t.Errorf("%d calls have ended: %q", ended, c.calls())
	}
}

// A permission of one turn means nothing in the next one.
func TestPermissionsEndWithTheirTurn(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.answer = always(allow)
	c.says(`permission {"title":"echo hi","kind":"execute","rawInput":{"command":"echo hi"}}`, "selected allow\n")
	c.says("run echo hi", "hi\nexit 0\n")
	if len(c.asked) != 2 {
		t.Errorf("%+v", c.asked)
	}
}

// Nor does one that was given in the background.
func TestPermissionsOfTheBackgroundEndWithTheirTurn(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.answer = always(allow)
	c.prompt(`background-permission {"title":"echo hi","kind":"execute","rawInput":{"command":"echo hi"}}`)
	c.until(func(core.Event) bool { return c.text() != "" })
	c.says("run echo hi", "hi\nexit 0\n")
	if len(c.asked) != 2 {
		t.Errorf("%+v", c.asked)
	}
}

// When the user has stopped a turn, the agent neither asks nor does anything in it any more, also what it
// has a permission for.
func TestNothingHappensInAStoppedTurn(t *testing.T) {
	c := one(t, agenttest.Options{})
	in := strings.NewReplacer("DIR", c.dir)
	c.answer = always(allow)
	id := c.prompt(in.Replace(`permission {"title":"t","kind":"execute","rawInput":{"command":"touch DIR/ran"}}
permission {"title":"t","kind":"edit","locations":[{"path":"DIR/written"}]}
after-cancel
run touch DIR/ran
write DIR/written x
permission {"title":"make","kind":"execute","rawInput":{"command":"make"}}
write DIR/more x`))
	c.until(func(core.Event) bool { return strings.Count(c.text(), "selected") == 2 })
	if err := c.at.Cancel(c.ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	if end := c.ended(id); end.Stop != core.StopCanceled {
		t.Errorf("%+v", end)
	}
	c.says("say again", "again\n") // the agent has ended the turn before
	if len(c.asked) != 2 {
		t.Errorf("%d questions: %+v", len(c.asked), c.asked)
	}
	for _, name := range []string{"ran", "written", "more"} {
		if _, err := os.Stat(filepath.Join(c.dir, name)); err == nil {
			t.Errorf("%s was made after the stop", name)
		}
	}
}

// Who may change a file does not get to see what a rule forbids to read.
func TestPermissionToWriteIsNoneToReadWhatIsForbidden(t *testing.T) {
	c := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{})}, rule{Effect: core.Deny, Tool: "read_file", Path: "secret.txt"}).begin("")
	path := filepath.Join(c.dir, "secret.txt")
	if err := os.WriteFile(path, []byte("swordfish"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.answer = always(allow)
	said, _ := c.say(`permission {"title":"Write","kind":"edit","locations":[{"path":"` + path + `"}]}` + "\nread " + path)
	if !strings.HasPrefix(said, "selected allow\nerror ") {
		t.Error(said)
	}
}

// A file of the workspace that has another name, which may be outside, is asked about however it is read.
func TestFilesWithOtherNamesAreAskedAbout(t *testing.T) {
	c := one(t, agenttest.Options{})
	outside, inside := filepath.Join(t.TempDir(), "secret"), filepath.Join(c.dir, "inside.txt")
	if err := os.WriteFile(outside, []byte("swordfish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(outside, inside); err != nil {
		t.Fatal(err)
	}
	c.answer = always(reject)
	if said, _ := c.say("read " + inside); strings.Contains(said, "swordfish") {
		t.Error(said)
	}
	c.says(`permission {"kind":"read","rawInput":{"path":"`+inside+`"}}`, "selected reject\n")
	if len(c.asked) != 2 {
		t.Errorf("%+v", c.asked)
	}
}

// What an agent calls by no name cannot be allowed for the session: the next such call may be anything.
func TestNamelessCallsAreAllowedOnce(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.answer = always(core.Reply{Outcome: core.OutcomeDecided, Decision: core.AllowSession})
	c.says(`permission {"title":"Update the todo list","kind":"other","rawInput":{"todos":["a"]}}`, "selected allow\n")
	c.says(`permission {"title":"Wipe","kind":"other","rawInput":["rm","-rf","/"]}`, "selected allow\n")
	if len(c.asked) != 2 || c.asked[0].Remember != "" {
		t.Fatalf("%+v", c.asked)
	}
	shown := false
	for _, ev := range c.events {
		e, ok := ev.(core.CallChanged)
		shown = shown || ok && e.Call.State == core.Awaiting && strings.Contains(string(e.Call.Args), `["rm","-rf","/"]`)
	}
	if !shown {
		t.Errorf("the input was not shown: %q", c.calls())
	}
}

// An agent that works in the background asks too.
func TestPermissionOutsideOfATurn(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.answer = permitted("allow")
	c.prompt(`background-permission {"title":"touch it","kind":"execute","rawInput":{"command":"touch it"}}`)
	c.until(func(core.Event) bool { return c.text() != "" })
	if got := c.text(); got != "selected allow\n" || len(c.asked) != 1 {
		t.Errorf("%q, %+v", got, c.asked)
	}
	c.says("say done", "done\n")
}

// A rejected request changes nothing.
func TestRejectedRequests(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.answer = always(reject)
	said, _ := c.say("write no.txt x\nrun touch no.txt")
	if strings.Count(said, "error ") != 2 {
		t.Error(said)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "no.txt")); err == nil {
		t.Error("it was written")
	}
}

// Cancelling a turn with an open question answers the agent with cancelled, and the turn ends so.
func TestCancelWithAnOpenPermission(t *testing.T) {
	c := one(t, agenttest.Options{Record: newRecord(t).path})
	c.answer = func(core.Ask) core.Reply {
		if err := c.at.Cancel(c.ctx, "", nil); err != nil {
			t.Error(err)
		}
		return core.Reply{}
	}
	if _, end := c.say(`permission {"title":"t","kind":"execute","rawInput":{"command":"make"}}` + "\nwait"); end.Stop != core.StopCanceled {
		t.Errorf("%+v", end)
	}
	c.answer = nil
	c.says("say again", "again\n")
}

// What an agent edits itself is a call with its diff.
func TestOwnEditsAreShown(t *testing.T) {
	c := one(t, agenttest.Options{})
	c.says("edit x.txt one\nedit x.txt two", "")
	var diffs []string
	for _, ev := range c.events {
		e, ok := ev.(core.CallChanged)
		if !ok || e.Call.State != core.Succeeded {
			continue
		}
		for _, b := range e.Call.Content {
			if d, ok := b.(core.Diff); ok {
				diffs = append(diffs, fmt.Sprintf("%+v", d))
			}
		}
	}
	if len(diffs) != 2 || !has(diffs, "two") || !has(diffs, filepath.Join(c.dir, "x.txt")) {
		t.Errorf("%q", diffs)
	}
}

// manyFiles lists more files of a folder than a call may have, in JSON.
func manyFiles(dir string) string {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "%q,", filepath.Join(dir, fmt.Sprint(i)))
	}
	return b.String()
}

// A deny rule holds for every file that a call names, whatever the call is said to be.
func TestForbiddenFiles(t *testing.T) {
	c := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{})},
		rule{Effect: core.Deny, Path: "denied/**"}, rule{Effect: core.Allow, Tool: "shell_command", Command: "true"}, rule{Effect: core.Allow, Server: "friendly"},
	).begin("")
	for _, call := range []string{
		`{"kind":"read","rawInput":{"file_path":"DIR/denied/x"}}`,
		`{"kind":"other","rawInput":{"file_path":"DIR/denied/x"}}`,
		`{"kind":"think","rawInput":{"file_path":"DIR/denied/x"}}`,
		`{"kind":"fetch","rawInput":{"file_path":"DIR/denied/x"}}`,
		`{"kind":"execute","rawInput":{"command":"true","file_path":"DIR/denied/x"}}`,
		`{"kind":"execute","rawInput":{"command":"true"},"locations":[{"path":"DIR/denied/x"}]}`,
		`{"kind":"edit","locations":[{"path":"DIR/denied/x"}],"rawInput":{"server":"friendly","tool":"x"}}`,
		`{"kind":"move","locations":[{"path":"DIR/a"}],"rawInput":{"from":"DIR/a","to":"DIR/denied/x"}}`,
		`{"kind":"edit","locations":[{"path":"DIR/a"}],"rawInput":{"changes":{"DIR/a":{"update":{"move_path":"DIR/denied/x"}}}}}`,
	} {
		c.says("permission "+strings.ReplaceAll(call, "DIR", c.dir), "selected reject\n")
	}
}

// A call is judged by everything that it says about its effects, even if some of it looks harmless or is
// in a form that nobody uses.
func TestHarmlessDescriptionsAllowNothing(t *testing.T) {
	rules := []rule{
		{Effect: core.Allow, Tool: "shell_command", Command: "ls"},
		{Effect: core.Allow, Tool: "shell_command", Command: "bash"},
		{Effect: core.Allow, Server: "friendly"},
		{Effect: core.Allow, Tool: "web_fetch", URL: "https://ok.example/*"},
		{Effect: core.Allow, Tool: "web_search"},
	}
	c := newRoom(t, []core.Agent{scripted(t, "scripted", agenttest.Options{})}, rules...).begin("")
	c.answer = always(reject)
	if err := os.Symlink(filepath.Dir(t.TempDir()), filepath.Join(c.dir, "link")); err != nil {
		t.Fatal(err)
	}
	in := strings.NewReplacer("DIR", c.dir, "MANY", strings.TrimSuffix(manyFiles(c.dir), ","))
	for _, test := range []struct {
		name, call string
		asked      int
	}{
		{"what the rules allow", `{"kind":"execute","rawInput":{"command":"ls"}}`, 0},
		{"a second command", `{"kind":"execute","rawInput":{"command":"ls","cmd":"rm -rf x"}}`, 1},
		{"a member in another case", `{"kind":"execute","rawInput":{"command":"rm -rf x","COMMAND":"ls"}}`, 1},
		{"arguments apart", `{"kind":"execute","rawInput":{"command":"bash","args":["-c","rm -rf x"]}}`, 1},
		{"a list with more than texts", `{"kind":"execute","title":"ls","rawInput":{"command":["ls",["rm"]]}}`, 1},
		{"an object", `{"kind":"execute","title":"ls","rawInput":{"command":{"run":"rm -rf x"}}}`, 1},
		{"a shell of its own", `{"kind":"execute","rawInput":{"command":["./bash","-c","ls"]}}`, 1},
		{"the system's shell", `{"kind":"execute","rawInput":{"command":["/usr/bin/bash","-lc","ls"]}}`, 0},
		{"a command beside a server's tool", `{"kind":"other","rawInput":{"server":"friendly","tool":"x","command":"rm -rf x"}}`, 1},
		{"a server's tool", `{"kind":"other","rawInput":{"server":"friendly","tool":"x","arguments":{}}}`, 0},
		{"a change beside a server's tool", `{"kind":"other","content":[{"type":"diff","path":"DIR/x","newText":"x"}],"rawInput":{"server":"friendly","tool":"x"}}`, 1},
		{"one of our own tools", `{"kind":"other","rawInput":{"server":"native","tool":"web_search"}}`, 1},
		{"reading in the workspace", `{"kind":"read","rawInput":{"file_path":"DIR/x"}}`, 0},
		{"reading somewhere else besides", `{"kind":"read","rawInput":{"paths":["DIR/x","/etc/shadow"]}}`, 1},
		{"a path that leads out", `{"kind":"read","rawInput":{"path":"DIR/../../etc/shadow"}}`, 1},
		{"the home folder", `{"kind":"read","rawInput":{"path":"~/notes"}}`, 1},
		{"an address of a file", `{"kind":"read","rawInput":{"path":"file:///etc/shadow"}}`, 1},
		{"what is no file", `{"kind":"read","rawInput":{"file_path":"/proc/self/environ"},"locations":[{"path":"DIR/x"}]}`, 1},
		{"a read that runs", `{"kind":"read","rawInput":{"path":"DIR/x","command":"rm -rf x"}}`, 1},
		{"a read that changes", `{"kind":"read","rawInput":{"path":"DIR/x"},"content":[{"type":"diff","path":"DIR/x","newText":"x"}]}`, 1},
		{"an address", `{"kind":"fetch","rawInput":{"url":"https://ok.example/a"}}`, 0},
		{"another address in a text", `{"kind":"fetch","rawInput":{"url":"https://ok.example/a","prompt":"and https://evil.example/b"}}`, 1},
		{"a folder under another name", `{"kind":"search","rawInput":{"pattern":"KEY","dir_path":"/etc"}}`, 1},
		{"a pattern that leads out", `{"kind":"search","rawInput":{"pattern":"/etc/*"}}`, 1},
		{"an expression with slashes", `{"kind":"search","rawInput":{"pattern":"/no-such-folder/users"}}`, 0},
		{"a file under another name", `{"kind":"read","locations":[{"path":"DIR/x"}],"rawInput":{"target_file":"/etc/shadow"}}`, 1},
		{"a file under an unknown name", `{"kind":"read","locations":[{"path":"DIR/x"}],"rawInput":{"what":["/etc/shadow"]}}`, 1},
		{"a script beside a file", `{"kind":"read","locations":[{"path":"DIR/x"}],"rawInput":{"script":"rm -rf /"}}`, 1},
		{"a command inside", `{"kind":"read","locations":[{"path":"DIR/x"}],"rawInput":{"input":{"command":"rm -rf /"}}}`, 1},
		{"a file inside a list", `{"kind":"read","locations":[{"path":"DIR/x"}],"rawInput":{"paths":[{"path":"/etc/shadow"}]}}`, 1},
		{"a relative file of another folder", `{"kind":"read","rawInput":{"path":"shadow","cwd":"/etc"}}`, 1},
		{"an input that is no object", `{"kind":"read","locations":[{"path":"DIR/x"}],"rawInput":"rm -rf /"}`, 1},
		{"an input that is a list", `{"kind":"read","locations":[{"path":"DIR/x"}],"rawInput":[{"path":"/etc/shadow"}]}`, 1},
		{"a title beside a script", `{"kind":"execute","title":"ls","rawInput":{"script":"rm -rf x"}}`, 1},
		{"a title beside a text", `{"kind":"execute","title":"ls","rawInput":"rm -rf x"}`, 1},
		{"a title beside an unknown member", `{"kind":"execute","title":"ls","rawInput":{"code":"rm -rf x"}}`, 1},
		{"a title alone", `{"kind":"execute","title":"ls","rawInput":{}}`, 0},
		{"variables", `{"kind":"execute","rawInput":{"command":"ls","env":{"LD_PRELOAD":"evil.so"}}}`, 1},
		{"variables in another form", `{"kind":"execute","rawInput":{"command":"ls","env":["LD_PRELOAD=evil.so"]}}`, 1},
		{"another folder", `{"kind":"execute","rawInput":{"command":"ls","directory":"/"}}`, 1},
		{"a second folder", `{"kind":"execute","rawInput":{"command":"ls","cwd":"DIR","workdir":"/"}}`, 1},
		{"arguments under another name", `{"kind":"execute","rawInput":{"command":"ls","arguments":["/etc"]}}`, 1},
		{"arguments in another form", `{"kind":"execute","rawInput":{"command":"ls","args":{"0":"/etc"}}}`, 1},
		{"what Codex says besides", `{"kind":"execute","rawInput":{"command":["bash","-lc","ls"],"cwd":"DIR","parsed_cmd":[{"type":"list_files","cmd":"ls -l"}]}}`, 0},
		{"a change inside a list", `{"kind":"read","rawInput":{"path":"DIR/x","changes":[{"path":"/etc/passwd"}]}}`, 1},
		{"a blank in front", `{"kind":"read","rawInput":{"path":" /etc/shadow"}}`, 1},
		{"a broken address of a file", `{"kind":"read","rawInput":{"path":"file:///etc/%zz"}}`, 1},
		{"an address of another kind", `{"kind":"read","rawInput":{"path":"vscode-file:///etc/shadow"}}`, 1},
		{"somebody's home folder", `{"kind":"read","rawInput":{"path":"~root/.ssh/id_rsa"}}`, 1},
		{"a variable", `{"kind":"read","rawInput":{"path":"$HOME/.ssh/id_rsa"}}`, 1},
		{"the folder above a link's target", `{"kind":"read","rawInput":{"path":"DIR/link/../secret"}}`, 1},
		{"the folder above", `{"kind":"read","rawInput":{"path":"DIR/sub/../x"}}`, 0},
		{"more files than are looked at", `{"kind":"read","rawInput":{"paths":[MANY]}}`, 1},
		{"another address behind a short title", `{"kind":"fetch","title":"https://ok.example/a …","rawInput":{"prompt":"https://ok.example/a https://evil.example/b"}}`, 1},
	} {
		c.asked = nil
		want := "selected allow\n"
		if test.asked > 0 {
			want = "selected reject\n"
		}
		said, _ := c.say("permission " + in.Replace(test.call))
		if said != want || len(c.asked) != test.asked {
			t.Errorf("%s: %q, want %q; %d questions: %+v", test.name, said, want, len(c.asked), c.asked)
		}
	}
}
