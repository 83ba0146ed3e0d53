package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/cmd/internal/program/programtest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
)

// room is a test environment: the real profiles and gateway over a store in memory, with the
// offline demo as the model.
type room struct {
	t        *testing.T
	profiles *Client
	gateway  *core.Gateway
	dir      string
	session  *core.Session
	att      *core.Attachment

	answer func(core.Ask) core.Reply // nil: nobody can be asked
	events []core.Event              // of the last turn
}

func newRoom(t *testing.T, env, texts map[string]string) *room {
	t.Helper()
	dir, err := filepath.EvalSymlinks(folderWith(t, texts))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	all := map[string]string{"HOME": home, "USERPROFILE": home, "XDG_CONFIG_HOME": filepath.Join(home, "config")}
	for k, v := range env {
		all[k] = v
	}
	r := &room{t: t, profiles: profilesOf(t, all), dir: dir}
	r.gateway = core.New(core.Config{Store: coretest.NewMemory(), Profiles: r.profiles, Listing: r.profiles.process.board})
	r.profiles.process.Join(r.gateway)
	t.Cleanup(func() {
		if err := r.gateway.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r.begin()
	return r
}

// writtenBy sets whether people write the prompts.
func (r *room) writtenBy(people bool) {
	r.profiles.mu.Lock()
	defer r.profiles.mu.Unlock()
	r.profiles.layLocked(func(l *overlay) { l.people = people })
}

// host returns that of a session whose turn has just looked at the profile.
func (r *room) host() core.ToolHost {
	return looked{meta: core.Meta{Cwd: r.dir, Roots: []string{r.dir}}, of: r.profiles}
}

type looked struct {
	core.ToolHost

	meta core.Meta
	of   *Client
}

func (l looked) Meta() core.Meta { return l.meta }

func (l looked) Profile(ctx context.Context) (*core.Profile, error) {
	return l.of.Profile(ctx, l.meta.Roots)
}

// begin creates another session.
func (r *room) begin() {
	r.t.Helper()
	s, err := r.gateway.Create(r.t.Context(), core.Meta{Principal: core.Local, Cwd: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	r.enter(s)
}

func (r *room) enter(s *core.Session) {
	r.session = s
	r.att = s.Attach(core.Client{Name: "test"})
	r.t.Cleanup(r.att.Close)
}

// say prompts and returns the agent's answer, or the error of the turn.
func (r *room) say(text string) string {
	r.t.Helper()
	att := r.att
	if r.answer != nil {
		att = r.session.Attach(core.Client{Name: "test", Asks: true, Questions: true})
		defer att.Close()
	}
	reader := att.Read(att.Head())
	defer reader.Close()
	id, err := att.Prompt(r.t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: text}}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.events = nil
	var b strings.Builder
	for {
		recs, err := reader.Next(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, rec := range recs {
			r.events = append(r.events, rec.Event)
			switch e := rec.Event.(type) {
			case core.TextDelta:
				b.WriteString(e.Text)
			case core.Asked:
				if err := att.Answer(r.t.Context(), e.Ask.ID, r.answer(e.Ask)); err != nil {
					r.t.Error(err)
				}
			case core.TurnEnded:
				if e.Turn == id {
					return b.String() + e.Err
				}
			default:
			}
		}
	}
}

// moved returns the session to which the last turn moved the user; empty: none.
func (r *room) moved() core.SessionID {
	for _, ev := range r.events {
		if e, ok := ev.(core.Moved); ok {
			return e.To
		}
	}
	return ""
}

func (r *room) wants(text string, parts ...string) {
	r.t.Helper()
	got := r.say(text)
	for _, part := range parts {
		if !strings.Contains(got, part) {
			r.t.Errorf("%s: no %q in\n%s", text, part, got)
		}
	}
}

func TestModelCommand(t *testing.T) {
	r := newRoom(t, map[string]string{"GROQ_API_KEY": "k"}, nil)
	r.wants("/model", "`groq/openai/gpt-oss-120b` (this session's) (the default)", "`offline/demo`")
	r.wants("/model offline/dmeo", "There is no model `offline/dmeo`; did you mean `offline/demo`?")
	r.wants("/model groqq/x", "There is no model `groqq/x`", "did you mean \"groq\"?")
	r.wants("/model nonsense", "There is no model `nonsense`")
	r.wants("/model mistral/x", "The model was not changed: there is no key for mistral", "dragoman login mistral")
	if set := r.att.State().Settings; set.Model != "" {
		t.Errorf("what is wrong was set: %+v", set)
	}
	r.wants("/model offline/demo", "From now on this session uses `offline/demo`.")
	if set := r.att.State().Settings; set.Model != "offline/demo" {
		t.Errorf("settings: %+v", set)
	}
	r.wants("/model OPENAI/gpt-oss-120b", "`groq/openai/gpt-oss-120b`")
	r.wants("/model groq/brand-new", "`groq/brand-new`", "not among the models that are known here")
}

func TestMistypedCommandGetsASuggestion(t *testing.T) {
	r := newRoom(t, nil, map[string]string{"a.txt": "x\n", ".dragoman/commands/release.md": "read a.txt\n"})
	r.wants("/modle groq/x", "There is no command /modle here. Did you mean /model?")
	r.wants("/relase", "Did you mean /release?")
	r.wants("/tmp", "There is no command /tmp here.", "Nothing was sent to the model.")
	for _, text := range []string{"/etc/passwd is a file", "/tmp is full", "/usr/modle", "/", "/ model"} {
		if got := r.say(text); strings.Contains(got, "no command") || !strings.Contains(got, "offline demo") {
			t.Errorf("%s did not go to the model: %s", text, got)
		}
	}
	r.wants("/release", "`read a.txt` returned:")
}

// A fork is the session before the command, and the user is moved there.
func TestForkCommand(t *testing.T) {
	r := newRoom(t, nil, map[string]string{"a.txt": "x\n"})
	r.wants("/fork", "There is nothing to copy yet.")
	r.begin()
	r.say("read a.txt")
	r.wants("/fork", "A copy of this session")
	id := r.moved()
	if id == "" || id == r.session.Meta().ID {
		t.Fatalf("moved to %q", id)
	}
	s, err := r.gateway.Open(t.Context(), core.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	if st := s.State(); st.Turn != "" || st.Messages != 2 || !strings.HasPrefix(st.Title, "read a.txt") || st.Title == "read a.txt" {
		t.Errorf("the copy: %+v", st)
	}
	r.enter(s)
	r.wants("/costs", "Costs of this session")
}

func TestResumeCommand(t *testing.T) {
	r := newRoom(t, nil, map[string]string{"a.txt": "x\n"})
	r.wants("/resume", "There are no earlier sessions")
	first := r.session.Meta().ID
	other, err := r.gateway.Create(t.Context(), core.Meta{Principal: core.Local, ID: "zz-elsewhere", Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	here := r.session
	r.enter(other)
	r.say("hello")
	r.enter(here)
	r.say("read a.txt")
	r.begin()
	got := r.say("/resume")
	if !strings.Contains(got, string(first)) || strings.Contains(got, "zz-elsewhere") || strings.Contains(got, string(r.session.Meta().ID)) {
		t.Errorf("listed: %s", got)
	}
	r.wants("/resume latest", string(first))
	if r.moved() != first {
		t.Errorf("latest moved to %q", r.moved())
	}
	r.say("/resume zz-e")
	if r.moved() != "zz-elsewhere" {
		t.Errorf("an id cut short moved to %q", r.moved())
	}
	r.wants("/resume nowhere", "There is no session `nowhere`", string(first))
	if r.moved() != "" {
		t.Error("moved to nowhere")
	}
}

// Another agent prompts from its own folders, so /resume shows it no session elsewhere.
func TestResumeCommandOfOtherAgents(t *testing.T) {
	r := newRoom(t, nil, map[string]string{"a.txt": "x\n"})
	elsewhere := t.TempDir()
	for _, m := range []core.Meta{
		{ID: "zz-elsewhere", Cwd: elsewhere},
		{ID: "zz-partly", Cwd: r.dir, Roots: []string{r.dir, elsewhere}},
		{ID: "zz-here", Cwd: r.dir, Roots: []string{r.dir}},
	} {
		m.Principal = core.Local
		s, err := r.gateway.Create(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		r.enter(s)
		r.say("title of " + string(m.ID))
	}
	r.begin()
	r.writtenBy(false)
	for _, id := range []string{"zz-elsewhere", "zz-partly"} {
		got := r.say("/resume " + id)
		if !strings.Contains(got, "There is no session `"+id+"`") || strings.Contains(got, "title of "+id) {
			t.Errorf("/resume %s: %s", id, got)
		}
		if to := r.moved(); to != "" {
			t.Errorf("/resume %s moved to %q", id, to)
		}
	}
	if got := r.say("/resume"); !strings.Contains(got, "zz-here") || strings.Contains(got, "zz-partly") {
		t.Errorf("listed: %s", got)
	}
	r.wants("/resume zz", "zz-here")
}

func TestExportCommand(t *testing.T) {
	outside := t.TempDir()
	r := newRoom(t, nil, map[string]string{"a.txt": "first\n", "docs/x.md": "there"})
	r.say("read a.txt")
	r.wants("/export docs/talk.md", "The session is written in `"+filepath.Join(r.dir, "docs", "talk.md")+"`")
	text, err := os.ReadFile(filepath.Join(r.dir, "docs", "talk.md"))
	if err != nil || !strings.Contains(string(text), "# read a.txt") || !strings.Contains(string(text), "first") || strings.Contains(string(text), "/export") {
		t.Errorf("%s, %v", text, err)
	}
	r.wants("/export docs/talk.md", "was not written", "already exists")
	r.wants("/export talk.jsonl", "is written")
	lines, err := os.ReadFile(filepath.Join(r.dir, "talk.jsonl"))
	if err != nil || !strings.HasPrefix(string(lines), `{"e":`) || strings.Contains(string(lines), "/export talk.jsonl") {
		t.Errorf("%s, %v", lines, err)
	}
	r.wants("/export", filepath.Join(r.dir, "read-a-txt-"))
	for name, why := range map[string]string{
		"../x.md": "outside of the workspace", filepath.Join(outside, "x.md"): "outside of the workspace", ".git/x.md": "hidden", "docs/.x.md": "hidden",
		"run.sh": "must end in", "docs": "must end in", "AGENTS.md": "read by agents as instructions", "no/such/x.md": "there is no folder", "a\x00b.md": "invisible characters",
	} {
		r.wants("/export "+name, "was not written", why)
	}
	if err := os.Symlink(outside, filepath.Join(r.dir, "link")); err == nil {
		r.wants("/export link/x.md", "was not written")
	}
	if found, _ := os.ReadDir(outside); len(found) > 0 {
		t.Errorf("something was written outside: %v", found)
	}
}

// A link does not circumvent the limits of an export: neither for hidden places nor for a name
// that only seems free.
func TestExportThroughLinks(t *testing.T) {
	r := newRoom(t, nil, map[string]string{".github/prompts/x.md": "there", "docs/x.md": "there"})
	for name, to := range map[string]string{"notes": ".github/prompts", "alias": "docs", "free.md": "docs/new.md"} {
		if err := os.Symlink(to, filepath.Join(r.dir, name)); err != nil {
			t.Skipf("no symbolic links: %v", err) // Windows, without the right to make them
		}
	}
	r.say("hello")
	r.wants("/export notes/talk.md", "was not written", "hidden")
	r.wants("/export free.md", "was not written", "already exists")
	r.wants("/export alias/talk.md", "is written")
	for name, want := range map[string]bool{".github/prompts/talk.md": false, "docs/new.md": false, "docs/talk.md": true} {
		if _, err := os.Stat(filepath.Join(r.dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A rule that forbids writing also forbids an export; a program needs a rule that allows it, and
// neither trust nor its own request is one.
func TestExportIsBoundByThePolicy(t *testing.T) {
	r := newRoom(t, nil, map[string]string{"a.txt": "x\n"})
	conf := filepath.Join(r.profiles.process.env.Getenv("XDG_CONFIG_HOME"), "dragoman", "config.yaml")
	programtest.Write(t, conf, "policy: {deny: [{path: secret.md}, {path: \"**/kept/**\"}], allow: [{tool: write_file, path: \"out/**\"}]}\n")
	r.wants("/export secret.md", "was not written", "denied by")
	for _, dir := range []string{"kept", "seen"} {
		if err := os.Mkdir(filepath.Join(r.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../kept", filepath.Join(r.dir, "seen", "link")); err == nil {
		r.wants("/export seen/link/x.md", "was not written", "denied by")
	}
	r.writtenBy(false)
	r.wants("/export mine.md", "was not written", "a program cannot give it")
	if err := os.Mkdir(filepath.Join(r.dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.wants("/export out/mine.md", "is written")
	r.wants("/login groq", "Nobody can be asked")
}

// A task that a model writes is never a command.
func TestNothingIsACommandInATask(t *testing.T) {
	r := newRoom(t, nil, nil)
	s, err := r.gateway.Create(t.Context(), core.Meta{Principal: core.Local, Cwd: r.dir, Parent: r.session.Meta().ID})
	if err != nil {
		t.Fatal(err)
	}
	r.enter(s)
	for _, text := range []string{"/export x.md", "/model offline/demo", "/config", "/init"} {
		if got := r.say(text); !strings.Contains(got, "offline demo") {
			t.Errorf("%s was taken for a command: %s", text, got)
		}
	}
	if _, err := os.Stat(filepath.Join(r.dir, "x.md")); err == nil {
		t.Error("a task wrote a file")
	}
}

func TestDoctorCommand(t *testing.T) {
	r := newRoom(t, map[string]string{"GROQ_API_KEY": "sk-never-shown"}, map[string]string{
		".dragoman/agents/code.md": "---\ndescription: x\n---\nTake over.", ".eca/agents/odd.md": "---\nmodel: nobody/x\n---\nx",
	})
	got := r.say("/doctor")
	for _, part := range []string{"**Program**", "GROQ_API_KEY is set", "**Files for the agent**", "there already is an agent code", "nobody/x is not among those that are offered"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	if strings.Contains(got, "never-shown") {
		t.Error("a key is shown")
	}
}

// A key that a person gives is stored, used, and visible nowhere else.
func TestLoginCommand(t *testing.T) {
	const key = "sk-hunter2-0123456789"
	r := newRoom(t, nil, nil)
	r.wants("/login groq", "Write it as your next message")
	r.wants("two words", "That is no key: it has blanks.")
	r.wants("/login", "`groq`: no key", "`ollama`: needs no key")
	r.wants("/login grok", "did you mean \"groq\"?")
	r.wants("/login ollama", "needs no key")
	r.wants("/login groq "+"oops", "Write only the provider's name")
	var asked core.Ask
	r.answer = func(a core.Ask) core.Reply {
		asked = a
		return core.Reply{Outcome: core.OutcomeAnswered, Text: " " + key + " "}
	}
	since := uint64(0)
	before, since, err := r.profiles.process.board.Next(t.Context(), since)
	if err != nil || len(before) == 0 {
		t.Fatal(err)
	}
	r.wants("/login groq", "The key of Groq is kept ")
	if !asked.Secret || !strings.Contains(asked.Text, "auth.json") {
		t.Errorf("asked: %+v", asked)
	}
	posted, _, err := r.profiles.process.board.Next(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, p := range posted {
		kinds = append(kinds, p.Topic.Kind)
		if item, ok := p.Item.(board.Account); ok && (item.Account.Provider != "groq" || item.Account.Source != "login" || !item.Account.Configured) {
			t.Errorf("posted %+v", item)
		}
		if item, ok := p.Item.(board.Models); ok && item.Default != "groq/openai/gpt-oss-120b" {
			t.Errorf("posted the default model %s", item.Default)
		}
	}
	for _, want := range []string{"models", "agents", "account"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("%s was not posted: %v", want, kinds)
		}
	}
	for _, ev := range r.events {
		if strings.Contains(fmt.Sprintf("%+v", ev), "hunter2") {
			t.Errorf("the log holds the key: %T", ev)
		}
	}
	made, err := r.profiles.Load()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := made.Config.Key(t.Context(), "groq", r.profiles.process.env.Lookup, r.profiles.process.logins, nil); got != key || err != nil {
		t.Errorf("the key in use: %q, %v", got, err)
	}
	for _, text := range []string{fmt.Sprintf("%+v %v", made.Config, made.Finder.Choice), r.say("/config"), r.say("/doctor"), r.say("/login")} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("the key shows:\n%s", text)
		}
	}
	r.answer = func(core.Ask) core.Reply { return core.Reply{Outcome: core.OutcomeAnswered, Text: "two words " + key} }
	if got := r.say("/login groq"); !strings.Contains(got, "Nothing was kept") || strings.Contains(got, "hunter2") {
		t.Errorf("a key of several words: %s", got)
	}
	r.answer = func(core.Ask) core.Reply { return core.Reply{Outcome: core.OutcomeDeclined} }
	r.wants("/login groq", "nothing was changed")
	if err := r.profiles.Accounts().Logout(t.Context(), "groq"); err != nil {
		t.Fatal(err)
	}
	if r.profiles.process.logins.Has("groq") {
		t.Error("the key is still kept")
	}
}

func TestCompactCommand(t *testing.T) {
	r := newRoom(t, nil, map[string]string{"a.txt": "x\n"})
	r.say("/model offline/demo")
	r.say("read a.txt")
	got := r.say("/compact the file")
	compacted := slices.ContainsFunc(r.events, func(ev core.Event) bool { _, ok := ev.(core.Compacted); return ok })
	if !compacted {
		t.Errorf("nothing was compacted: %s", got)
	}
}
