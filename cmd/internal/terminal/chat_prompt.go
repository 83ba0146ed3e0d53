package terminal

import (
	"context"
	"os"
	"strings"

	"dragoman/core/display"
)

// prompt waits for the user's next prompt.
func (c *chat) prompt(ctx context.Context, interrupts <-chan os.Signal) (inputLine, error) {
	if lost := c.in.lost(); len(lost) > 0 {
		c.screen.line(c.screen.Warm("Typed before the turn was stopped, and not sent: " + heads(lost)))
	}
	c.recall()
	defer c.in.recall(false, nil)
	c.in.resume()
	for {
		c.ask("> ")
		line, err := c.line(ctx, "> ", 0, interrupts)
		if err != nil {
			return line, err
		}
		if line.cut {
			c.screen.line(c.screen.Warm("The line is longer than 1 MiB and was not sent."))
		} else if text := line.text(); strings.TrimSpace(text) != "" {
			c.remember(ctx, text)
			return line, nil
		}
	}
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

// line waits for a line of a generation (0: any), after a label on the screen, and shows it as it
// is typed. It returns errLeft when the input has ended or the user wants to leave.
func (c *chat) line(
	ctx context.Context,
	label string,
	gen int,
	interrupts <-chan os.Signal,
) (inputLine, error) {
	for {
		ended := c.in.end() // checked first: a line may come with the end
		line, ok := c.in.take(gen)
		switch {
		case ok:
			line.at = len(line.pieces)
			c.draw(label, line.keyLine)
			if c.echoes() {
				c.screen.write("\n")
			}
			return line, c.screen.flush()
		case ended:
			return inputLine{}, errLeft
		}
		if c.in.lostScreen() {
			c.screen.mid = false // the shell has written something
			c.ask(label)
		}
		c.draw(label, c.in.line())
		tab, clearing := c.in.pressed()
		if clearing && c.live {
			c.screen.write(clearScreen)
			c.screen.mid = false
			c.ask(label)
		}
		if tab && c.complete(ctx, c.in.line()) {
			c.ask(label)
		}
		c.draw(label, c.in.line())
		if err := c.screen.flush(); err != nil {
			return inputLine{}, err
		}
		select {
		case <-c.in.came:
		case <-interrupts:
			return inputLine{}, errLeft
		case <-ctx.Done():
			return inputLine{}, context.Cause(ctx)
		}
	}
}

// clearScreen erases everything and goes to the first line.
const clearScreen = "\x1b[H\x1b[2J"

// ask shows a prompt to a person; over a pipe it does nothing.
func (c *chat) ask(text string) {
	if c.tty {
		c.screen.start()
		c.screen.write(c.screen.Strong(text))
		if !c.echoes() {
			c.screen.prompted()
		}
		c.drawn = drawing{label: text}
		if c.live && c.echoes() {
			c.drawn.columns = c.in.term.columns()
			_, _, cursor := rows(text, nil, 0, c.drawn.columns)
			c.drawn.row = cursor.row
		}
	}
	c.screen.flush()
}

// echoes reports whether we have to show the typed text.
func (c *chat) echoes() bool { return c.in.term != nil && c.in.term.echo }
