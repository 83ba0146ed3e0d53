package commands

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"

	"dragoman/core"
	"dragoman/core/control"
	"dragoman/core/display"
	"dragoman/core/inference"
)

// Commands carries out slash commands. All fields are required. Goroutines may share it.
type Commands struct {
	// Guide returns the guidance of a workspace; nil: its folders cannot be read, and
	// there are no commands there.
	Guide func(ctx context.Context, roots []string) Guide
	// ServerPrompt expands a prompt of an MCP server; ok is false if there is none
	// with that name. waiting is called with the server's name if its start must be awaited.
	ServerPrompt func(
		ctx context.Context, m core.Meta, name, args string, waiting func(server string),
	) (text string, ok bool, err error)
	// Load returns the configuration in use. Its error is for the user.
	Load func() (Profile, error)
	// Accounts returns the keys of the providers.
	Accounts func() Accounts
	// Agents returns the logins of the agents behind the gateway.
	Agents func() AgentLogins
	// Gateway returns the gateway of the sessions; nil: there is none.
	Gateway func() *core.Gateway
	// People reports whether people write the prompts, and not other agents.
	People func() bool
	// Doctor examines the program and the files of the turn's workspace.
	Doctor func(context.Context, *core.Turn) string
	// Export writes a session to a file, without the turn that requests it, and returns its
	// path.
	Export func(ctx context.Context, s *core.Session, t *core.Turn, name string) (string, error)
	// Suggest returns the candidate that a mistyped word most likely means, or "".
	Suggest func(word string, candidates []string) string
}

// Guide has the commands of a workspace and of its user, including the built-in ones,
// and the instructions for agents. A guide.Guide is one.
type Guide interface {
	List() []core.Command
	// Find finds a command by its name. prompts reports whether Expand makes a prompt
	// of it.
	Find(name string) (c core.Command, prompts, ok bool)
	Expand(name, args string) (string, error)
	// Sections yields the instructions in every request, by their kinds.
	Sections(agent, model string) iter.Seq2[string, string]
	ShowRules(agent, model string) string
	ShowSkills() string
}

// Profile is the configuration in use, in the form for commands. Agents and models are in the turn's
// own profile.
type Profile struct {
	// CheckKey returns an error if the provider of a model needs a key and has none.
	CheckKey func(model string) error
	// CheckModel returns an error if no provider has a model with this name.
	CheckModel func(name string) error
	// Config returns the configuration as text, without secrets.
	Config      func() string
	ConfigFiles []string // the files of the configuration
}

// Accounts are the keys of the providers.
type Accounts interface {
	control.Accounts
	// Find returns the provider that a person has named. Its error is for the user.
	Find(name string) (control.Account, error)
}

// Run implements core.Profile.Command. A command replaces the prompt by a text of the
// workspace or the user, answers it, or acts. A path is text, and so are several words of which the
// first is no command; a single word gets an answer that says what it is here. An agent's own command wins over
// ours of the same name if ours gives way. In the session of a task there are no
// commands, because a model writes the prompts there.
func (c *Commands) Run(ctx context.Context, t *core.Turn, text string) (core.CommandResult, bool, error) {
	m := t.Meta()
	have := c.Guide(ctx, m.Roots)
	name, args := commandLine(text)
	if have == nil || name == "" || m.Parent != "" {
		return core.CommandResult{}, false, nil
	}
	found, prompts, ok := have.Find(name)
	own, known := t.Offers(name)
	if own && (!ok || found.GivesWay()) {
		return core.CommandResult{}, false, nil
	}
	if !ok {
		starting := func(server string) {
			_ = t.Emit(ctx, core.Phase{Turn: t.ID(), Kind: core.PhaseStarting, Tool: server}) // a stopped turn shows in ctx
		}
		if prompt, ok, err := c.ServerPrompt(ctx, m, name, args, starting); ok {
			return core.CommandResult{Prompt: prompt}, true, err
		}
		if !known && lacks(t.Can(ctx, core.CanCompact)) != nil {
			return core.CommandResult{}, false, nil // it may be the agent's, which has not listed its commands yet
		}
		answer := c.unknown(name, args == "", have)
		return core.CommandResult{Answer: answer}, answer != "", nil
	}
	if prompts {
		prompt, err := have.Expand(name, args)
		return core.CommandResult{Prompt: prompt}, true, err
	}
	if found.Needs != "" {
		if err := lacks(t.Can(ctx, found.Needs)); err != nil && found.GivesWay() {
			return core.CommandResult{}, false, nil
		} else if err != nil {
			return core.CommandResult{Answer: "/" + found.Name + " is not possible: " + err.Error() + ".\n"}, true, nil
		}
	}
	is, err := c.act(ctx, t, have, found.Name, args)
	return is, true, err
}

// lacks returns the *core.UnsupportedError in err; nil: there is none.
func lacks(err error) error {
	if e, ok := errors.AsType[*core.UnsupportedError](err); ok {
		return e
	}
	return nil
}

// Expand returns the text of a command in a workspace; ok is false for a command that
// shows something or acts.
func (c *Commands) Expand(
	ctx context.Context, roots []string, name, args string,
) (text string, ok bool, err error) {
	have := c.Guide(ctx, roots)
	if have == nil {
		return "", false, nil
	}
	switch _, prompts, ok := have.Find(name); {
	case !ok:
		return c.ServerPrompt(ctx, core.Meta{Roots: roots}, name, args, func(string) {})
	case !prompts:
		return "", false, nil
	}
	text, err = have.Expand(name, args)
	return text, true, err
}

// commandLine splits a command's name from its arguments.
func commandLine(text string) (name, args string) {
	name = strings.TrimPrefix(text, "/")
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 {
		name, args = name[:i], strings.TrimSpace(name[i:])
	}
	return name, args
}

// act carries out a command.
func (c *Commands) act(
	ctx context.Context, t *core.Turn, have Guide, name, args string,
) (core.CommandResult, error) {
	said := func(answer string, err error) (core.CommandResult, error) {
		return core.CommandResult{Answer: answer}, err
	}
	switch name {
	case "agent":
		return said(c.chooseAgent(ctx, t, args))
	case "model":
		return said(c.chooseModel(ctx, t, args))
	case "compact":
		return core.CommandResult{Compact: true, Focus: args}, nil
	case "rename":
		return said(rename(ctx, t, args))
	case "fork":
		return said(c.fork(ctx, t))
	case "resume":
		return said(c.resume(ctx, t, args))
	case "export":
		return said(c.export(ctx, t, args))
	case "doctor":
		return said(c.Doctor(ctx, t), nil)
	case "login":
		return said(c.login(ctx, t, args))
	case core.CommandAllow:
		return said(c.allow(ctx, t, args), nil)
	}
	state, err := c.state(t)
	if err != nil {
		return core.CommandResult{}, err
	}
	if text, ok := Show(have, name, state); ok {
		return said(text, nil)
	}
	return core.CommandResult{}, fmt.Errorf("/%s cannot be done here", name)
}

// state collects the data that commands show.
func (c *Commands) state(t *core.Turn) (State, error) {
	made, err := c.Load()
	if err != nil {
		return State{}, err
	}
	s := State{
		Session:     t.State(),
		Agent:       t.Settings().Agent,
		Config:      made.Config(),
		ConfigFiles: made.ConfigFiles,
	}
	if _, ok := external(t); ok {
		return s, nil
	}
	s.Model = inference.ModelsOf(t.Profile()).Info(inference.Next(t.Profile(), t.Settings()))
	return s, nil
}

// rename gives the session a title from the user.
func rename(ctx context.Context, t *core.Turn, args string) (string, error) {
	title := strings.Join(strings.Fields(args), " ")
	if title == "" {
		return "Write the new title behind the command: /rename TITLE. " +
			"This session is called “" + display.Visible(t.State().Title) + "”.\n", nil
	}
	if err := t.Emit(ctx, core.TitleChanged{Title: title}); err != nil {
		return "", err
	}
	return "This session is now called “" + display.Visible(title) + "”.\n", nil
}

// export writes the session to a file.
func (c *Commands) export(ctx context.Context, t *core.Turn, name string) (string, error) {
	s, err := c.session(ctx, t)
	if err != nil {
		return "", err
	}
	return c.Export(ctx, s, t, name)
}
