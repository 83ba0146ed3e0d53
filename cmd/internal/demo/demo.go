package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/core/display"
)

// The demo shows one call that needs no approval, and one that does.
const (
	promptText  = "read notes.txt then run ls -1"
	notesText   = "Buy milk.\nCall the dragoman.\n"
	commandLine = "ls -1"
)

// actFor limits the time of one protocol.
const actFor = 10 * time.Second

// act is one protocol's part in the demo.
type act struct {
	name    string // the protocol's name
	command string // our command that speaks it
	played  string // programs that usually speak it
	play    func(context.Context, *instance, *cast) error
	// external has an agent of others run the turn: a program that speaks ACP, behind this one.
	external bool

	instance *instance
	cells    cells
	err      error
}

// cast holds the means of an act.
type cast struct {
	workspace string
	version   string // of the program
	cells     *cells
}

func newActs() []*act {
	return []*act{
		{name: "ECA", command: "eca", played: "as Emacs or VS Code would", play: playECA},
		{name: "ACP", command: "acp", played: "as Zed or JetBrains would", play: playACP},
		{name: "MCP", command: "mcp", played: "as another agent would", play: playMCP},
	}
}

// newExternalActs returns the same acts with an external agent behind them. It is this program too,
// as a scripted agent, so that nothing has to be installed.
func newExternalActs() []*act {
	acts := newActs()
	for _, a := range acts {
		a.external = true
	}
	return acts
}

// Play plays all three protocols, in front of the built-in agent and of an external one, in a folder
// of its own, which it removes, and writes the scenes to p.Out. It returns program.ErrReported if an act has failed.
func Play(ctx context.Context, p *program.Environment) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's path: %w", err)
	}
	place, err := os.MkdirTemp("", "dragoman-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(place)) }()

	c := terminal.Colours(p.Out, p.Lookup)
	fmt.Fprint(p.Out, intro(c))
	began := time.Now()
	builtIn, external := newActs(), newExternalActs()
	acts := slices.Concat(builtIn, external)
	for i, acts := range [][]*act{builtIn, external} { // fewer at once, so that the times mean something
		var playing sync.WaitGroup
		for _, act := range acts {
			playing.Go(func() { act.err = act.run(ctx, self, filepath.Join(place, fmt.Sprint(act.command, i)), p) })
		}
		playing.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fmt.Fprint(p.Out, sideBySide(builtIn, c)+externalIntro(c)+sideBySide(external, c))
	failed := false
	for _, act := range acts {
		if act.err != nil {
			failed = true
			behind := ""
			if act.external {
				behind = " with an external agent"
			}
			fmt.Fprintf(p.Out, "%s\n", c.Bad(fmt.Sprintf("%s%s failed: %v", act.name, behind, act.err)))
			if tail := act.instance.complaints(); tail != "" {
				fmt.Fprintf(p.Out, "%s\n", display.Indented(display.Printable(tail), "  stderr: "))
			}
		}
	}
	if failed {
		return program.ErrReported
	}
	took := time.Since(began).Round(time.Millisecond)
	fmt.Fprintf(
		p.Out,
		"%s\n\n",
		c.Good(fmt.Sprintf("All of them did the same, in %v; what they left behind is removed.", took)),
	)
	fmt.Fprint(p.Out, editorSettings(self, c))
	return nil
}

func intro(c terminal.Palette) string {
	return c.Strong("dragoman demo") + ` · one agent, three protocols, one prompt each

  Each column is this program, started as a child and spoken to over real pipes. The tools, the
  approvals and the session logs are real; only the model is not: the offline demo follows plain
  instructions. → is what the demo sends in the user's and the editor's place, ← what it gets.

`
}

func externalIntro(c terminal.Palette) string {
	return c.Strong("The same with an agent of others") + ` · Claude, Codex, Gemini, OpenCode, or any other that speaks ACP

  Behind each column another program runs the turn, here one that follows a script. What it reads,
  writes and runs goes through the same rules, approvals and logs.

`
}

// run plays the act in a folder of its own and returns when the child has ended.
func (a *act) run(ctx context.Context, self, place string, p *program.Environment) error {
	workspace, home := filepath.Join(place, "notes"), filepath.Join(place, "home")
	for _, dir := range []string{workspace, home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(workspace, "notes.txt"), []byte(notesText), 0o600); err != nil {
		return err
	}
	ctx, done := context.WithTimeoutCause(ctx, actFor, fmt.Errorf("it was not over after %v", actFor))
	defer done()
	args := []string{a.command, "--data-dir", filepath.Join(home, "sessions")}
	if a.external {
		file := filepath.Join(home, "external.yaml")
		if err := os.WriteFile(file, []byte(externalConfig(self)), 0o600); err != nil {
			return err
		}
		args = append(args, "--config", file)
	}
	inst, err := startInstance(ctx, self, args, workspace, home, p.Lookup)
	if err != nil {
		return err
	}
	a.instance = inst
	err = a.play(ctx, inst, &cast{workspace, p.Version, &a.cells})
	if ctx.Err() != nil && err != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, inst.end())
}
