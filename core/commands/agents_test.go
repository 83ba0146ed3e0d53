package commands_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/commands"
	"dragoman/core/control"
	"dragoman/core/coretest"
)

// logins are those of the agents of a test, by the agent.
type logins map[string][]commands.AgentLogin

func (l logins) Methods(_ context.Context, agent string) ([]commands.AgentLogin, error) {
	if agent == "broken" {
		return nil, errors.New("no such program")
	}
	return l[agent], nil
}

func (l logins) Authenticate(_ context.Context, agent, method string, show func(text, page string)) error {
	if method == "key" {
		return &core.SignInError{Agent: agent, Text: "no key is set"}
	}
	if method == "oauth" {
		show("Log in with Google", "https://login.example/x")
	}
	return nil
}

// keys are the accounts of one provider.
type keys struct{ commands.Accounts }

func (keys) List(context.Context) []control.Account { return []control.Account{{Provider: "openai"}} }

func (keys) Find(name string) (control.Account, error) {
	return control.Account{}, errors.New("there is no provider " + name + "; there are openai")
}

// /login of an agent behind the gateway takes the one way that there is, or the named one; the others
// are listed, and one for a terminal is told. Where a program prompts nobody logs in.
func TestLoginOfAnAgent(t *testing.T) {
	have := logins{
		"codex":  {{ID: "chatgpt", Name: "ChatGPT"}, {ID: "key", Name: "API key"}, {ID: "tui", Terminal: true}, {ID: "env", Name: "Variable", Instead: "set KEY"}},
		"claude": {{ID: "claude-login", Name: "Log in with Claude", Terminal: true}},
		"gemini": {{ID: "oauth"}},
		"plain":  {},
	}
	for _, c := range []struct {
		text, want string
		program    bool // a program prompts
	}{
		{text: "/login codex", want: "**Ways to log in to agent codex**\n\n- ChatGPT: /login codex chatgpt\n- API key: /login codex key\n- tui: `dragoman agents login codex tui` in a terminal\n- Variable: set KEY\n"},
		{text: "/login codex env", want: "Variable: set KEY, and then send the prompt again.\n"},
		{text: "/login codex nonsense", want: "**Ways to log in to agent codex**"},
		{text: "/login codex chatgpt", want: "ChatGPT: waiting for agent codex, which may open a page in your browser.|Logged in to agent codex. Send the prompt again.\n"},
		{text: "/login codex key", want: "The login to agent codex failed: agent codex wants a login: no key is set"},
		{text: "/login codex tui", want: `tui: agent codex asks for it in a terminal. Run "dragoman agents login codex tui" there, and then send the prompt again.`},
		{text: "/login codex chatgpt sk-1", want: "revoke it"},
		{text: "/login claude", want: `Log in with Claude: agent claude asks for it in a terminal. Run "dragoman agents login claude claude-login" there`},
		{text: "/login gemini", want: "oauth: waiting for agent gemini, which may open a page in your browser.|Log in with Google\n\nOpen this page to log in: https://login.example/x|Logged in to agent gemini."},
		{text: "/login plain", want: "Agent plain offers no way to log in."},
		{text: "/login broken", want: "Agent broken does not tell how to log in: no such program\n"},
		{text: "/login clad", want: "There is no agent and no provider `clad`; did you mean /login claude?\n"},
		{text: "/login opnai", want: "The key was not asked for: there is no provider opnai; there are openai; there are also the agents "},
		{text: "/login gemini", program: true, want: `Nobody can log in from here. Run "dragoman agents login gemini" in a terminal.`},
	} {
		said := make(chan string, 1) // the turn never waits
		slash := table()
		slash.Agents = func() commands.AgentLogins { return have }
		slash.Accounts = func() commands.Accounts { return keys{} }
		slash.People = func() bool { return !c.program }
		b := &coretest.Backend{Run: func(ctx context.Context, turn *core.Turn) (core.StopReason, error) {
			res, _, err := slash.Run(ctx, turn, c.text)
			if err != nil {
				t.Error(err)
			}
			notice := ""
			for rec, err := range turn.Records(ctx, core.Pos{}) {
				if n, ok := rec.Event.(core.Notice); ok && err == nil {
					notice += n.Text + "|"
				}
			}
			said <- notice + res.Answer
			return core.StopEnd, nil
		}}
		prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: b}}}
		for name := range have {
			prof.Agents = append(prof.Agents, core.Agent{Name: name, External: true, Backend: &coretest.Backend{}})
		}
		prof.Agents = append(prof.Agents, core.Agent{Name: "broken", External: true, Backend: &coretest.Backend{}})
		g := core.New(core.Config{
			Store: coretest.NewMemory(), Node: "test", NewID: func() string { return "s1" },
			Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil }),
		})
		s, err := g.Create(t.Context(), core.Meta{Cwd: "/w", Principal: core.Local})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Attach(core.Client{Name: "test"}).Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: c.text}}}); err != nil {
			t.Fatal(err)
		}
		if got := <-said; !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.text, got, c.want)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
