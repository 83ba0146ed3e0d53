package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"dragoman/core"
	"dragoman/core/control"
	"dragoman/core/display"
)

// login asks for a provider's key, or explains where to set it, or logs in to an agent behind the
// gateway. Of a provider and an agent of one name it is the agent: keys have other ways.
func (c *Commands) login(ctx context.Context, t *core.Turn, args string) (string, error) {
	words := strings.Fields(args)
	agents := externals(t)
	if len(words) > 0 && slices.Contains(agents, words[0]) {
		return c.loginAgent(ctx, t, words[0], words[1:])
	}
	acc := c.Accounts()
	switch {
	case len(words) == 0:
		return accountsText(acc.List(ctx), agents), nil
	case len(words) > 1:
		return "Write only the provider's name after /login. If the rest was a key, it is now in this session's log: revoke it and create another one.\n", nil
	}
	is, err := acc.Find(words[0])
	if err != nil {
		return c.noLogin(ctx, words[0], agents, err), nil
	}
	step, err := acc.Login(ctx, is.Provider, "", nil)
	if err != nil {
		return err.Error() + "\n", nil
	}
	if len(step.Fields) == 0 {
		return step.Message + "\n", nil
	}
	elsewhere := "Nobody can be asked for a key here. Run \"dragoman login " + is.Provider + "\" in a terminal"
	if is.EnvVar != "" {
		elsewhere += ", or set " + is.EnvVar + " where dragoman is started"
	}
	if !c.People() {
		return elsewhere + ".\n", nil // a program has no key to give
	}
	keep := func(ctx context.Context, key string) string {
		return keepKey(ctx, acc, is.Provider, step.Fields[0].Key, key)
	}
	r, err := t.Ask(ctx, core.Ask{Text: step.Message, Freeform: true, Secret: true})
	switch {
	case err != nil:
		return "", err
	case r.Outcome == core.OutcomeAlone && t.TakeNext(keep):
		return step.Message + "\n\nWrite it as your next message: that is taken as the key, and neither sent to a model nor kept in this session. A command in its place changes nothing.\n", nil
	case r.Outcome == core.OutcomeAlone:
		return elsewhere + ".\n", nil
	case r.Outcome != core.OutcomeAnswered:
		return noKey, nil
	}
	return keep(ctx, r.Text), nil
}

const noKey = "No key was given; nothing was changed.\n"

// keepKey stores the key of a provider, and returns what the user is told.
func keepKey(ctx context.Context, acc Accounts, provider, field, key string) string {
	switch key = strings.TrimSpace(key); {
	case key == "":
		return noKey
	case strings.ContainsFunc(key, unicode.IsSpace):
		return "That is no key: it has blanks. Nothing was kept or sent; /login " + provider + " asks again.\n"
	}
	step, err := acc.Login(ctx, provider, "", map[string]string{field: key})
	if err != nil {
		return "The key was not kept: " + err.Error() + "\n"
	}
	return step.Message + "\n"
}

// noLogin answers a name that neither a provider nor an agent has. err names the providers.
func (c *Commands) noLogin(ctx context.Context, name string, agents []string, err error) string {
	var providers []string
	for _, a := range c.Accounts().List(ctx) {
		providers = append(providers, a.Provider)
	}
	if meant := c.Suggest(name, slices.Concat(agents, providers)); slices.Contains(agents, meant) {
		return fmt.Sprintf("There is no agent and no provider `%s`; did you mean /login %s?\n", display.Line(name, 60), meant)
	}
	text := "The key was not asked for: " + err.Error()
	if len(agents) > 0 {
		text += "; there are also the agents " + strings.Join(agents, ", ")
	}
	return text + "\n"
}

// accountsText lists the providers and the sources of their keys, and the agents behind the gateway.
func accountsText(list []control.Account, agents []string) string {
	var b strings.Builder
	b.WriteString("**Providers**\n\n")
	for _, a := range list {
		fmt.Fprintf(&b, "- `%s`: %s\n", a.Provider, KeySource(a))
	}
	b.WriteString("\n/login PROVIDER asks for its key.\n")
	if len(agents) > 0 {
		b.WriteString("\n**Agents**\n\n")
		for _, name := range agents {
			b.WriteString("- `" + name + "`\n")
		}
		b.WriteString("\n/login AGENT logs in to it, in its own way.\n")
	}
	return b.String()
}

// KeySource describes the source of a provider's key.
func KeySource(a control.Account) string {
	switch a.Source {
	case "config":
		if !a.Configured {
			return "the configuration refers to a key that cannot be read"
		}
		return "the key comes from the configuration"
	case "env":
		return "the key comes from " + a.EnvVar
	case "login":
		return "the key was given"
	}
	if a.Local || a.Configured {
		return "needs no key"
	}
	return "no key"
}
