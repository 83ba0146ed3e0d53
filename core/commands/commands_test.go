package commands_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/commands"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// texts is a guide with one command of a file in addition to the built-in ones.
type texts struct{}

func (texts) List() []core.Command {
	list := []core.Command{{Kind: core.CommandCustom, Name: "release"}}
	for _, b := range commands.Table() {
		list = append(list, b.Command)
	}
	return list
}

func (g texts) Find(name string) (c core.Command, prompts, ok bool) {
	for _, c := range g.List() {
		if c.Name == name {
			return c, c.Kind == core.CommandCustom, true
		}
	}
	return core.Command{}, false, false
}

func (texts) Expand(name, args string) (string, error) {
	return "text of " + name + " with " + args, nil
}

func (texts) Sections(string, string) iter.Seq2[string, string] {
	return func(func(string, string) bool) {}
}

func (texts) ShowRules(agent, model string) string { return "rules for " + agent + " and " + model }

func (texts) ShowSkills() string { return "skills" }

// offline is a model that is never asked.
type offline struct{ id string }

// Stream implements inference.Model. Commands ask no model.
func (offline) Stream(context.Context, *inference.Request) iter.Seq2[inference.Delta, error] {
	return nil
}

func (m offline) Info() inference.ModelInfo { return inference.ModelInfo{ID: m.id} }

func table() *commands.Commands {
	return &commands.Commands{
		Guide: func(_ context.Context, roots []string) commands.Guide {
			if roots[0] == "/unreadable" {
				return nil
			}
			return texts{}
		},
		ServerPrompt: func(_ context.Context, _ core.Meta, name, args string, _ func(string)) (string, bool, error) {
			return "a server's " + name + " with " + args, name == "docs:find", nil
		},
		Load: func() (commands.Profile, error) {
			return commands.Profile{
				Config: func() string { return "model: some/model\n" },
			}, nil
		},
		Gateway: func() *core.Gateway { return nil },
		People:  func() bool { return true },
		Doctor:  func(context.Context, *core.Turn) string { return "all is well" },
		Suggest: func(word string, candidates []string) string {
			for _, c := range candidates {
				if strings.HasPrefix(c, word[:2]) {
					return c
				}
			}
			return ""
		},
	}
}

// run carries out a text in a turn of a session.
func run(t *testing.T, m core.Meta, text string) string {
	t.Helper()
	said := make(chan string, 1) // the turn never waits
	b := &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		res, ok, err := table().Run(ctx, turn, text)
		said <- fmt.Sprintf("%v %+v %v", ok, res, err)
		return core.StopEnd, nil
	}}
	prof := &core.Profile{
		Agents: []core.Agent{{Name: "code", Model: "some/model", Backend: b}},
		Models: inference.Models{Default: "other/model", Find: func(_ context.Context, id string) (inference.Model, error) { return offline{id}, nil }},
	}
	g := core.New(core.Config{
		Store: coretest.NewMemory(), Node: "test",
		Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
	})
	m.Principal = core.Local
	s, err := g.Create(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	prompt := core.Prompt{Blocks: []core.Block{core.Text{Text: text}}}
	if _, err := s.Attach(core.Client{Name: "test"}).Prompt(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
	got := <-said
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRun(t *testing.T) {
	const text = "false {Prompt: Answer: Compact:false Focus:} <nil>"
	for _, c := range []struct{ text, want string }{
		{"/release now please", "true {Prompt:text of release with now please Answer: Compact:false Focus:} <nil>"},
		{"/docs:find x", "true {Prompt:a server's docs:find with x Answer: Compact:false Focus:} <nil>"},
		{"/compact the names", "true {Prompt: Answer: Compact:true Focus:the names} <nil>"},
		{"/doctor", "true {Prompt: Answer:all is well Compact:false Focus:} <nil>"},
		{"/rules", "true {Prompt: Answer:rules for  and some/model Compact:false Focus:} <nil>"},
		{"/fork", "true {Prompt: Answer: Compact:false Focus:} there are no sessions here"},
		{"/rename  The   harbour plan", "true {Prompt: Answer:This session is now called “The harbour plan”.\n Compact:false Focus:} <nil>"},
		{"/rename", "Answer:Write the new title behind the command: /rename TITLE. This session is called “/rename”."},
		{"/relaese", "Answer:There is no command /relaese here. Did you mean /release?"},
		{"/etc/passwd is a file", text},
		{"/tmp is full", text},
		{"/tmp/x", text},
		{"/zzz zzz", text},
		{"/zzz", "Answer:There is no command /zzz here. The list that opens after a slash has the commands; in \"dragoman chat\" it is /help.\n\nNothing was sent to the model."},
		{"/quitt", "Did you mean /quit?"},
		{"/undo", "Answer:There is no command /undo here. Going back"},
		{"/skill-create x of y", "Answer:There is no command /skill-create here. A skill is"},
		{"/", text},
	} {
		if got := run(t, core.Meta{Cwd: "/w"}, c.text); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	for _, m := range []core.Meta{{Cwd: "/w", Parent: "p"}, {Cwd: "/unreadable"}} {
		if got := run(t, m, "/release"); got != text {
			t.Errorf("%+v: %s", m, got)
		}
	}
}

// The title is recorded as a user's choice, not as the program's.
func TestRenameIsTheUsersChoice(t *testing.T) {
	titles := make(chan core.TitleChanged, 8) // the turn never waits
	g := coretest.Gateway(coretest.NewMemory(), func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
		defer close(titles)
		if _, _, err := table().Run(ctx, turn, "/rename Harbour"); err != nil {
			t.Error(err)
		}
		for rec, err := range turn.Records(ctx, core.Pos{}) {
			if err != nil {
				t.Error(err)
			}
			if e, ok := rec.Event.(core.TitleChanged); ok {
				titles <- e
			}
		}
		return core.StopEnd, nil
	}, nil)
	s, err := g.Create(t.Context(), core.Meta{Cwd: "/w", Principal: core.Local})
	if err != nil {
		t.Fatal(err)
	}
	prompt := core.Prompt{Blocks: []core.Block{core.Text{Text: "/rename Harbour"}}}
	if _, err := s.Attach(core.Client{Name: "test"}).Prompt(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
	var last core.TitleChanged
	for last = range titles {
	}
	if last != (core.TitleChanged{Title: "Harbour"}) {
		t.Errorf("the last title is %+v", last)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestExpand(t *testing.T) {
	for name, want := range map[string]string{
		"release": "text of release with x true <nil>", "docs:find": "a server's docs:find with x true <nil>", "costs": " false <nil>",
	} {
		text, ok, err := table().Expand(t.Context(), []string{"/w"}, name, "x")
		if got := fmt.Sprint(text, " ", ok, " ", err); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
