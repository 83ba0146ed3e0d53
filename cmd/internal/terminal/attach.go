package terminal

import (
	"cmp"

	"dragoman/core/display"
)

// greetAttached says which session this is and what can be done here.
func (c *chat) greetAttached() {
	s, st := c.screen, c.att.State()
	s.line(s.Strong("dragoman") + " " + c.options.Program.Version + " · " +
		display.Line(cmp.Or(st.Title, "a session without a title"), 60) + " · " + display.Line(st.Meta.Cwd, 200))
	what := "/help lists the commands and keys. Ctrl-C stops a turn that you have prompted here, and otherwise leaves; what others run goes on."
	if c.options.ReadOnly {
		what = "You watch this session. Ctrl-C leaves."
	}
	s.line(s.Faint(what))
}

// leaveAttached says what goes on without this client.
func (c *chat) leaveAttached() error {
	if !c.tty {
		return c.screen.flush()
	}
	again := "dragoman attach " + display.Line(string(c.session.Meta().ID), 64)
	hosts := c.options.Hosts != nil && c.options.Hosts(c.session.Meta().ID)
	switch {
	case c.running != "" && hosts:
		c.screen.line(c.screen.Warm("The turn ran in this process and ends with it. Come back with: " + again))
	case c.running != "":
		c.screen.line(c.screen.Faint("You have left, and " + c.whose("the turn", "'s turn") + " goes on. Come back with: " + again))
	default:
		c.screen.line(c.screen.Faint("You have left. Come back with: " + again))
	}
	return c.screen.flush()
}
