package terminal

import (
	"context"
	"strings"

	"dragoman/core/display"
)

// promptLabel stands in front of a prompt.
const promptLabel = "> "

// beginPrompt has the next line be a prompt.
func (c *chat) beginPrompt() {
	if c.prompting {
		return
	}
	c.prompting = true
	if lost := c.in.lost(); len(lost) > 0 {
		c.screen.line(c.screen.Warm("Typed before the turn was stopped, and not sent: " + heads(lost)))
	}
	c.recall()
	c.in.resume()
}

// endPrompt takes the prompt off the screen: the next line is none, or not yet.
func (c *chat) endPrompt() {
	if c.prompting {
		c.prompting = false
		c.screen.clear()
		c.in.recall(false, nil)
	}
}

// prompt carries out a line that was typed as a prompt.
func (c *chat) prompt(ctx context.Context, line inputLine) error {
	c.prompting = false // the list of earlier prompts changes
	c.in.recall(false, nil)
	if line.cut {
		c.screen.line(c.screen.Warm("The line is longer than 1 MiB and was not sent."))
		return nil
	}
	text := line.text()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	c.remember(ctx, text)
	if cmd, args, ok := local(text); ok {
		return cmd.run(c, ctx, args)
	}
	c.send(ctx, line)
	return nil
}

// recall lets the user recall earlier prompts. A history that cannot be read is reported once.
func (c *chat) recall() {
	if c.in.term == nil || c.options.History == nil {
		return
	}
	if !c.fresh {
		c.fresh = true
		if err := c.options.History.Load(); err != nil {
			c.screen.line(c.screen.Warm("The history of prompts cannot be read: " + display.Line(err.Error(), 300)))
		}
	}
	c.in.recall(true, c.options.History.Prompts())
}

// remember keeps a prompt for later chats.
func (c *chat) remember(ctx context.Context, prompt string) {
	words := strings.Fields(prompt)
	if c.in.term == nil || c.options.History == nil || len(words) > 2 && words[0] == "/login" { // the third one may be a key
		return
	}
	if err := c.options.History.Add(ctx, strings.TrimRight(prompt, "\n")); err != nil && !c.unkept {
		c.unkept = true
		c.screen.line(c.screen.Warm("The prompt cannot be kept for later chats: " + display.Line(err.Error(), 300)))
	}
}

// line shows the line that is being typed behind a label, and returns the next whole one of a
// generation (0: any). It returns errEnded when the input has ended.
func (c *chat) line(ctx context.Context, label string, gen int) (line inputLine, ok bool, err error) {
	ended := c.in.end() // checked first: a line may come with the end
	if line, ok = c.in.take(gen); ok {
		line.at = len(line.pieces)
		if c.prompting {
			label = promptLabel // without the sign that a turn runs
		}
		c.leaveLine(label, line.keyLine)
		return line, true, c.screen.flush()
	}
	if ended {
		return inputLine{}, false, errEnded
	}
	if c.in.lostScreen() {
		c.screen.lost() // the shell has written something
	}
	tab, clearing := c.in.pressed()
	if clearing && c.live {
		c.screen.put(clearScreen)
		c.screen.lost()
	}
	if tab {
		c.complete(ctx, c.in.line())
	}
	typed := c.in.line()
	if !c.live && c.screen.lift == nil && c.running != "" && c.question == nil && len(typed.pieces) == 0 {
		return inputLine{}, false, c.screen.flush() // nothing is typed, and the answer goes on
	}
	c.show(label, typed)
	return inputLine{}, false, c.screen.flush()
}

// clearScreen erases everything and goes to the first line.
const clearScreen = "\x1b[H\x1b[2J"

// echoes reports whether we have to show the typed text.
func (c *chat) echoes() bool { return c.in.term != nil && c.in.term.echo }
