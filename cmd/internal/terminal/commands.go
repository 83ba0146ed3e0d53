package terminal

import (
	"context"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// localCommand is a command of the chat itself. No agent and no model sees it.
type localCommand struct {
	core.Command
	run func(c *chat, ctx context.Context, args string) error
}

// localCommands lists the commands of the chat. They come before all others of the same name.
func localCommands() []localCommand {
	command := func(name, description string) core.Command {
		return core.Command{Name: name, Description: description}
	}
	return []localCommand{
		{command("help", "List the commands and keys"), (*chat).help},
		{command("agents", "List the agents, or choose one: /agents NAME"), (*chat).agents},
		{command("clear", "Begin a new session on an empty screen; this one is kept"), (*chat).clear},
		{command("stop", "Stop what runs in the session, whoever has prompted it"), (*chat).stopAll},
		{command("answer", "Put a question again that Esc has left to others"), (*chat).answerAside},
		{command("quit", "Leave the chat; /exit does the same"), (*chat).quit},
		{command("exit", ""), (*chat).quit},
	}
}

// local finds the local command that a prompt is.
func local(prompt string) (cmd localCommand, args string, ok bool) {
	name, args, _ := strings.Cut(strings.TrimSpace(prompt), " ")
	for _, l := range localCommands() {
		if name == "/"+l.Name {
			return l, strings.TrimSpace(args), true
		}
	}
	return localCommand{}, "", false
}

func (c *chat) quit(context.Context, string) error { return c.part() }

// stopAll stops the running and the queued turns of all clients.
func (c *chat) stopAll(ctx context.Context, _ string) error {
	if c.running == "" {
		c.screen.line(c.screen.Faint("Nothing runs."))
		return c.screen.flush()
	}
	return c.att.Cancel(ctx, "", core.ErrCanceled)
}

// commands lists the commands that work here: those of the chat, and those of the agent and the
// workspace. A mistake in the configuration leaves the chat's.
func (c *chat) commands(ctx context.Context) []core.Command {
	var list []core.Command
	for _, l := range localCommands() {
		list = append(list, l.Command)
	}
	others, _ := c.options.Gateway.Commands(ctx, c.att) // the next turn reports the mistake
	for _, o := range others {
		if _, _, ours := local("/" + o.Name); !ours {
			list = append(list, o)
		}
	}
	return list
}

// help lists the commands and the keys.
func (c *chat) help(ctx context.Context, _ string) error {
	s := c.screen
	s.line(s.Strong("Commands"))
	for _, cmd := range c.commands(ctx) {
		if cmd.Description == "" && cmd.Name == "exit" {
			continue
		}
		c.entry("/"+display.Line(cmd.Name, 60), display.Line(cmd.Description, 200))
	}
	if !c.echoes() {
		return s.flush()
	}
	s.line("")
	s.line(s.Strong("Keys"))
	for _, k := range [][2]string{
		{"Enter", "send the prompt; Alt-Enter begins a new line in it"},
		{"Tab", "complete a command after /, or a file or resource after @, which is sent along"},
		{"Up, Down", "recall earlier prompts; one that begins with a blank is not kept"},
		{"Left, Right, Home, End", "move; with Ctrl or Alt by words"},
		{"Ctrl-W, Ctrl-U, Ctrl-K", "remove the word, the line before or after the cursor; Ctrl-Y inserts it again"},
		{"Ctrl-L", "clear the screen"},
		{"Esc, Ctrl-C", "stop what was prompted here"},
		{"Esc", "at a question of another client's turn: leave it to others"},
		{"Ctrl-C, Ctrl-D", "at the prompt: leave; what others have prompted goes on"},
	} {
		c.entry(k[0], k[1])
	}
	return s.flush()
}

// entry shows a line of a list.
func (c *chat) entry(name, text string) {
	c.screen.line("  " + c.screen.Cool(name) + strings.Repeat(" ", max(24-len(name), 2)) + text)
}

// agents lists the agents, or chooses one.
func (c *chat) agents(ctx context.Context, name string) error {
	s := c.screen
	prof, err := c.options.Gateway.Profile(ctx, c.options.Profiles, c.att.Meta().Roots)
	if err != nil {
		s.failure("The agents cannot be listed: " + display.Line(err.Error(), 1000))
		return s.flush()
	}
	set := c.att.State().Settings
	if name != "" {
		found := false
		for _, a := range prof.Agents {
			found = found || a.Name == name
		}
		if !found {
			s.line(s.Warm("There is no agent " + display.Line(name, 60) + "; /agents lists them."))
			return s.flush()
		}
		set.Agent = name
		if err := c.att.Set(ctx, set); err != nil {
			s.failure("The agent cannot be chosen: " + display.Line(err.Error(), 1000))
			return s.flush()
		}
		s.line(s.Faint("The agent is now " + display.Line(name, 60) + "."))
		return s.flush()
	}
	current, _ := prof.Agent(set.Agent)
	for _, a := range prof.Agents {
		mark := "  "
		if a.Name == current.Name {
			mark = "* "
		}
		s.line(mark + s.Cool(display.Line(a.Name, 60)) + "  " + display.Line(a.Description, 200))
	}
	return s.flush()
}

// clear begins a new session, unless this one is new, and clears the screen.
func (c *chat) clear(ctx context.Context, _ string) error {
	if c.live {
		c.screen.start()
		c.screen.put(clearScreen)
		c.screen.lost()
	}
	was := c.att.State()
	if was.Messages == 0 {
		return c.screen.flush()
	}
	s, err := c.options.Gateway.Create(ctx, core.Meta{Principal: c.options.Principal, Cwd: was.Meta.Cwd, Roots: was.Meta.Roots})
	if err != nil {
		c.screen.failure("A new session cannot be created: " + display.Line(err.Error(), 1000))
		return c.screen.flush()
	}
	c.reader.Close()
	c.att.Close()
	c.enter(s)
	c.created = s
	if err := c.att.Set(ctx, was.Settings); err != nil {
		return err
	}
	c.screen.line(c.screen.Faint("A new session. The last one: dragoman chat --session " + string(was.Meta.ID)))
	return c.screen.flush()
}

// dropUnused removes a session that clear has created and that was not used.
func (c *chat) dropUnused(ctx context.Context) error {
	if c.created == nil || c.created.State().Messages > 0 {
		return nil
	}
	return c.options.Gateway.Delete(context.WithoutCancel(ctx), c.options.Principal, c.created.Meta().ID, core.Deletion{All: true})
}
