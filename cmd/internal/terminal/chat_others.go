package terminal

import (
	"cmp"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// maxName limits the shown name of a client, in bytes.
const maxName = 60

// follow notes which turn runs, and who has prompted it.
func (c *chat) follow(ev core.Event) {
	switch e := any(ev).(type) {
	case core.TurnStarted:
		c.running, c.by = e.Turn, e.Origin.Client
	case core.TurnEnded:
		if e.Turn == c.running {
			c.running = ""
		}
	}
}

// whose names the turn that runs by its client, or else in words.
func (c *chat) whose(words, suffix string) string {
	if c.by == "" || c.by == c.name() {
		return words
	}
	return display.Line(c.by, maxName) + suffix
}

// began shows a turn that begins, unless its prompt was typed here just now.
func (c *chat) began(e core.TurnStarted) {
	c.running, c.by = e.Turn, e.Origin.Client
	c.usage = core.Usage{}
	_, own := c.own[e.Turn]
	if !own || c.waiting[e.Turn] {
		c.quiet()
	}
	switch {
	case own && !c.waiting[e.Turn]:
	case len(e.Prompt) == 0:
		c.screen.line(c.screen.Faint("A turn begins that nobody here has prompted."))
	case own:
		delete(c.waiting, e.Turn)
		c.screen.said("", e.Prompt)
	default:
		c.screen.said(cmp.Or(e.Origin.Client, "another client"), e.Prompt)
	}
}

// queued shows a prompt of another client that waits.
func (c *chat) queued(e core.PromptQueued) {
	if _, own := c.own[e.Turn]; own {
		return
	}
	who := display.Line(cmp.Or(e.Origin.Client, "another client"), maxName)
	c.screen.line(c.screen.Faint(who + " has queued: " + promptHead(e.Prompt)))
}

// steered shows a message that the running turn has taken up.
func (c *chat) steered(e core.Steered) {
	if e.Origin.Client == c.name() && len(c.steers) > 0 {
		c.screen.line(c.screen.Faint("The turn has taken up: " + heads(c.steers[:1])))
		c.steers = c.steers[1:]
		return
	}
	c.screen.said(cmp.Or(e.Origin.Client, "another client")+", meanwhile", e.Prompt)
}

// promptHead quotes the beginning of a prompt.
func promptHead(prompt []core.Block) string {
	for _, b := range prompt {
		if t, ok := b.(core.Text); ok {
			return `"` + display.Line(t.Text, 60) + `"`
		}
	}
	return "a prompt without text"
}

// present shows which other clients are attached: all of them at first, and then who comes and
// leaves.
func (c *chat) present() {
	if c.options.Present == nil || !c.tty {
		return
	}
	names := c.options.Present(c.att)
	if c.others == nil {
		if len(names) == 0 { // the owner of the session may not have said it yet
			return
		}
		c.screen.line(c.screen.Faint(alsoHere(names)))
	} else {
		for _, name := range without(names, c.others) {
			c.screen.line(c.screen.Faint(display.Line(name, maxName) + " has come."))
		}
		for _, name := range without(c.others, names) {
			c.screen.line(c.screen.Faint(display.Line(name, maxName) + " has left."))
		}
	}
	c.others = append([]string{}, names...)
}

// alsoHere lists the other clients of a session.
func alsoHere(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = display.Line(name, maxName)
	}
	return "also here: " + strings.Join(list, ", ")
}

// without returns the names of a list that another one lacks; a name may be there several times.
func without(list, other []string) (rest []string) {
	other = slices.Clone(other)
	for _, name := range list {
		if i := slices.Index(other, name); i >= 0 {
			other = slices.Delete(other, i, i+1)
		} else {
			rest = append(rest, name)
		}
	}
	return rest
}
