package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// AgentLogins are the logins of the agents behind the gateway.
type AgentLogins interface {
	// Methods lists the ways to log in to an agent, under its own ids. An agent that has not listed
	// them is started for that.
	Methods(ctx context.Context, agent string) ([]AgentLogin, error)
	// Authenticate logs in to an agent with one of its methods. It blocks until the user has done so.
	// show gets what the agent says meanwhile, and pages that it wants opened; it may be called until
	// Authenticate returns.
	Authenticate(ctx context.Context, agent, method string, show func(text, page string)) error
}

// AgentLogin is a way to log in to an agent behind the gateway.
type AgentLogin struct {
	ID, Name string
	Terminal bool   // the agent's program asks for it in a terminal
	Instead  string // what the user does in place of it; "": it can be carried out
}

// externals lists the agents behind the gateway that a turn's user can choose.
func externals(t *core.Turn) (names []string) {
	for _, a := range t.Profile().Agents {
		if a.External {
			names = append(names, a.Name)
		}
	}
	return names
}

// loginAgent logs in to an agent behind the gateway, if there is one way to do that here or the user
// has named one, and otherwise lists the ways.
func (c *Commands) loginAgent(ctx context.Context, t *core.Turn, agent string, words []string) (string, error) {
	command := "dragoman agents login " + agent
	switch {
	case len(words) > 1:
		return "Write only the agent's name and one of its ways to log in after /login. If the rest was a key, it is now in this session's log: revoke it and create another one.\n", nil
	case !c.People():
		return "Nobody can log in from here. Run \"" + command + "\" in a terminal.\n", nil
	}
	list, err := c.Agents().Methods(ctx, agent)
	switch {
	case err != nil:
		return "Agent " + agent + " does not tell how to log in: " + err.Error() + "\n", nil
	case len(list) == 0:
		return "Agent " + agent + " offers no way to log in. It may need none, or a key in its environment.\n", nil
	}
	at := 0
	if len(words) == 1 {
		at = slices.IndexFunc(list, func(m AgentLogin) bool { return m.ID == words[0] })
	}
	if at < 0 || len(words) == 0 && len(list) > 1 {
		return waysText(agent, list), nil
	}
	m := list[at]
	if m.Terminal {
		return m.label() + ": agent " + agent + " asks for it in a terminal. Run \"" + command + " " + m.shown() + "\" there, and then send the prompt again.\n", nil
	}
	if m.Instead != "" {
		return m.label() + ": " + m.Instead + ", and then send the prompt again.\n", nil
	}
	note := core.Notice{Severity: core.Info, Text: m.label() + ": waiting for agent " + agent + ", which may open a page in your browser."}
	if err := t.Emit(ctx, note); err != nil {
		return "", err
	}
	show := func(text, page string) {
		if page != "" {
			text = strings.TrimSpace(text + "\n\nOpen this page to log in: " + page)
		}
		_ = t.Emit(ctx, core.Notice{Severity: core.Info, Text: text}) // a stopped turn shows in ctx
	}
	if err := c.Agents().Authenticate(ctx, agent, m.ID, show); err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "The login to agent " + agent + " failed: " + err.Error() + "\n", nil
	}
	return "Logged in to agent " + agent + ". Send the prompt again.\n", nil
}

// shown returns the id of a way to log in, which an agent wrote, on one line.
func (m AgentLogin) shown() string { return display.Line(m.ID, 100) }

func (m AgentLogin) label() string {
	if name := display.Line(m.Name, 200); name != "" {
		return name
	}
	return m.shown()
}

// waysText lists the ways to log in to an agent.
func waysText(agent string, list []AgentLogin) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Ways to log in to agent %s**\n\n", agent)
	for _, m := range list {
		how := "/login " + agent + " " + m.shown()
		switch {
		case m.Instead != "":
			how = m.Instead
		case m.Terminal:
			how = "`dragoman agents login " + agent + " " + m.shown() + "` in a terminal"
		}
		fmt.Fprintf(&b, "- %s: %s\n", m.label(), how)
	}
	return b.String()
}
