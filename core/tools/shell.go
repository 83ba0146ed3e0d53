package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/files"
	"dragoman/core/shell"
)

const (
	maxCommand   = 100 << 10 // of a command's text; systems accept at most 128 KiB in one argument
	commandTime  = 120       // seconds, unless the call sets it
	commandLimit = 3600
	shellCommand = "shell_command"
)

var shellSchema = []byte(`{
  "type": "object",
  "properties": {
    "command": {"type": "string", "description": "The command line."},
    "cwd": {"type": "string", "description": "The folder to run it in. Default: the session's folder."},
    "timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 3600, "description": "How long it may take. Default 120; in the background as long as the session."},
    "description": {"type": "string", "description": "What it is for, in a few words, for the user."},
    "background": {"type": "boolean", "description": "Whether it goes on behind the session while other work is done; returns a job for background_jobs. Default false."},
    "summary": {"type": "string", "description": "With background: a name for the job, in a few words."}
  },
  "required": ["command"],
  "additionalProperties": false
}`)

// shellSpec describes the tool that runs commands with a shell.
func shellSpec(sh shell.Shell) core.Spec {
	name := sh.Name
	if name == "" {
		name = "a shell (none was found)"
	}
	return core.Spec{
		Server:      core.Native,
		Name:        shellCommand,
		Title:       "Run a command",
		Description: shellDescription(name),
		Schema:      shellSchema,
		Kind:        core.KindExecute,
	}
}

// shellDescriptions has one text for each shell, which all sessions share.
var shellDescriptions sync.Map

func shellDescription(shell string) string {
	if text, ok := shellDescriptions.Load(shell); ok {
		return text.(string) //nolint:forcetypeassert // only texts are stored
	}
	text, _ := shellDescriptions.LoadOrStore(shell, "Runs a command with "+shell+", without a terminal and without input. Returns what it prints, output and errors in their "+
		"order, and its exit status; at most 2000 lines or 50 KB, the whole in a file if there is more. Secrets of the environment are not "+
		"passed on. When the command ends, so does everything that it left running behind it: what is to go on, a server for example, is started "+
		"with background true.")
	return text.(string) //nolint:forcetypeassert // only texts are stored
}

func (s *toolset) prepareShell(_ context.Context, a *args) (*step, error) {
	line, cwd := a.text("command"), a.optText("cwd", ".")
	limit := time.Duration(a.number("timeout_seconds", commandTime, commandLimit) * float64(time.Second))
	why := a.optText("description", "")
	behind, summary := a.boolean("background", false), a.optText("summary", "")
	if behind && !a.given("timeout_seconds") {
		limit = 0
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	switch {
	case s.shell.Path == "":
		return nil, fmt.Errorf("there is no shell here: neither bash nor sh was found")
	case strings.TrimSpace(line) == "":
		return nil, fmt.Errorf("argument %q is empty", "command")
	case strings.ContainsRune(line, 0):
		return nil, fmt.Errorf("argument %q contains a NUL character", "command")
	case len(line) > maxCommand:
		return nil, fmt.Errorf(
			"argument %q is larger than %d KB: write it to a file and run that",
			"command",
			maxCommand>>10,
		)
	}
	p, err := s.folder(cwd)
	if err != nil {
		return nil, err
	}
	access := p.Access(core.OpRun)
	access.Command, access.Sandbox = line, s.level(behind)
	c := shell.Command{Argv: s.shell.Argv(line), Dir: p.Real, Limit: limit, Grace: s.grace}
	summary = cmp.Or(summary, why)
	summary, _ = display.Clip(summary, titleMax)
	return &step{
		Preview: core.Preview{
			Title:     shellTitle(line, p, behind),
			Locations: []core.Location{{Path: p.Name}},
			Content:   shellContent(line, cmp.Or(why, summary), s.shell.Name),
			Access:    []core.Access{access},
		},
		run: func(ctx context.Context, inv core.Invocation) (core.Result, error) {
			if behind {
				return s.runBackground(ctx, inv, p, c, line, summary)
			}
			return s.runShell(ctx, inv, p, c, access)
		},
	}, nil
}

// shellTitle shows the command. Of a long one it shows a line and the length of the
// rest; then Content has the whole command.
func shellTitle(line string, p files.Place, behind bool) string {
	if behind {
		return "Run in the background " + codeInTitle(line) + in(p)
	}
	return "Run " + codeInTitle(line) + in(p)
}

func shellContent(line, why, lang string) []core.Block {
	var blocks []core.Block
	if _, left := display.Clip(line, titleMax); left > 0 || strings.ContainsAny(line, "\n\r") {
		blocks = append(blocks, core.Text{Text: codeBlock(line, lang)})
	}
	if why != "" {
		short, _ := display.Clip(visible(why), titleMax)
		blocks = append(blocks, core.Text{Text: "The agent says: " + short})
	}
	return blocks
}

// ending is a command's structured result.
type ending struct {
	ExitCode   int    `json:"exit_code"` // -1: ended by a signal
	Signal     string `json:"signal,omitempty"`
	TimedOut   bool   `json:"timed_out"`
	DurationMS int64  `json:"duration_ms"`
}

func (s *toolset) runShell(
	ctx context.Context, inv core.Invocation, p files.Place, c shell.Command, access core.Access,
) (core.Result, error) {
	if err := s.ready(p, &c, inv.Origin); err != nil {
		return core.Result{}, err
	}
	if now := s.level(false); access.Sandbox != "" && now != access.Sandbox {
		return core.Result{}, errors.New("the sandbox in which the command was to run is not there any more; nothing was run, try again")
	}
	var remark string
	if e := s.terminal(); e != nil {
		res, ran, why, err := s.runTerminal(ctx, e, inv, c)
		if ran || err != nil {
			return res, err
		}
		remark = "[the editor could not open a terminal, so the command ran without one: " + visible(why) + "]"
	}
	res, printed, end, err := s.runHere(ctx, inv, c)
	if err != nil {
		return core.Result{}, err
	}
	did := s.remarks()
	if means := s.blamed(printed, end, access.Sandbox, did); means != "" {
		res.Blocks = append(res.Blocks, core.Text{Text: "[probably the sandbox: " + means + "]"})
		if !did.person && s.outside(ctx, inv, access.Command, means) {
			c.Guard = s.guard
			again, _, _, err := s.runHere(ctx, inv, c)
			if err != nil {
				return core.Result{}, err
			}
			again.Blocks = append([]core.Block{core.Text{Text: "[the user had the command run again without the sandbox; this is the result of that]"}}, again.Blocks...)
			res = again
		}
	}
	for _, note := range []string{remark, did.text} {
		if note != "" {
			res.Blocks = append(res.Blocks, core.Text{Text: note})
		}
	}
	return res, nil
}

// runHere runs a command without an editor's terminal. It also returns what the command printed, as
// far as the result has it.
func (s *toolset) runHere(ctx context.Context, inv core.Invocation, c shell.Command) (core.Result, string, shell.Outcome, error) {
	out := newCapture(s.host.Spills(), s.most)
	start := time.Now()
	end, err := c.Run(ctx, func(r *os.File) { shell.Stream(r, out.write, inv.Output) })
	if err != nil {
		out.discard()
		return core.Result{}, "", end, fmt.Errorf("start %s: %w", s.shell.Name, err)
	}
	took := time.Since(start)
	printed, err := out.result()
	if err != nil {
		printed += "\n[the whole output could not be kept: " + files.Cause(err).Error() + "]"
	}
	res := s.shellResult(printed, end, took, c.Limit)
	res.Spill = out.ref
	return res, printed, end, nil
}

// ready checks the folder of a command again, and sets its environment and what starts it.
func (s *toolset) ready(p files.Place, c *shell.Command, o core.Origin) error {
	// The folder is opened like any other, so a replaced one is refused.
	dir, err := p.Folder()
	if err != nil {
		return p.Explain(err)
	}
	dir.Close()
	environ := os.Environ
	if s.opts.Env != nil {
		environ = s.opts.Env
	}
	var keep []string
	if s.opts.Keep != nil {
		keep = s.opts.Keep(s.host)
	}
	c.Env = append(shell.Env(environ(), keep), "PWD="+p.Real)
	c.Guard = s.starter(o)
	return nil
}
