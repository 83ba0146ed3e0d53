package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/ide"
	"dragoman/core/shell"
)

const (
	terminalKeeps = 1 << 20 // bytes of output that an editor's terminal should keep
	// lateOpen limits the wait of a stopped turn for a terminal that is being opened, and then
	// for its output.
	lateOpen    = 1 * time.Second
	partingWait = 5 * time.Second // for an editor to close a terminal
)

// terminal returns the editor that runs commands; nil: they run here. An editor's terminal is
// outside of every sandbox.
func (s *toolset) terminal() ide.Editor {
	if s.confined() != "" && (s.opts.Terminal == nil || !s.opts.Terminal(s.host)) {
		return nil
	}
	if e := ide.Of(s.host.Editor("")); e != nil && e.Caps().Terminal {
		return e
	}
	return nil
}

// visit is a command in a terminal of the editor.
type visit struct {
	editor  ide.Editor
	session core.SessionID
	id      string
}

// runTerminal runs a command in a terminal of the editor. ran is false if it did not
// run: the editor has no terminals, and why gives the reason, or it refused, which is
// the error. The command gets the editor's environment, and no variables of ours.
func (s *toolset) runTerminal(
	ctx context.Context,
	e ide.Editor,
	inv core.Invocation,
	c shell.Command,
) (res core.Result, ran bool, why string, err error) {
	v := visit{editor: e, session: s.host.Meta().ID}
	why, err = v.open(ctx, c)
	if why != "" || err != nil {
		return core.Result{}, false, why, err
	}
	inv.Show(core.Showing{Content: []core.Block{core.Terminal{ID: v.id}}})
	start := time.Now()
	out, end, err := v.await(ctx, c.Limit)
	v.close(ctx)
	took := time.Since(start)
	printed, spill := s.bounded(plainOutput(out.Text))
	if out.Truncated {
		printed = "[the beginning is missing]\n" + printed
	}
	if ctx.Err() != nil {
		return text(printed), true, "", context.Cause(ctx)
	}
	if err != nil {
		res = text(printed, "the editor's terminal failed: "+err.Error()+"; the command may have gone on")
		res.Failed = true
		return res, true, "", nil
	}
	res = s.shellResult(printed, end, took, c.Limit)
	res.Spill = spill
	return res, true, "", nil
}

// open opens the terminal. If the turn is stopped meanwhile, it still waits a moment
// for the answer, so that the terminal can be closed. why is set if the editor has no
// terminal to open: then the command certainly does not run there.
func (v *visit) open(ctx context.Context, c shell.Command) (why string, err error) {
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), ide.Wait)
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lateOpen, stop) })()
	env := map[string]string{}
	for _, kv := range shell.Quiet() {
		if name, value, _ := strings.Cut(kv, "="); name != "TERM" { // the terminal is the user's own
			env[name] = value
		}
	}
	reply, err := v.editor.Do(wait, ide.OpenTerminal{
		Session: v.session,
		Command: c.Argv[0],
		Args:    c.Argv[1:],
		Env:     env,
		Cwd:     c.Dir,
		Limit:   terminalKeeps,
	})
	opened, _ := reply.(ide.TerminalOpened)
	switch {
	case err == nil && opened.ID != "":
		v.id = opened.ID
		if ctx.Err() != nil {
			v.close(ctx)
			return "", context.Cause(ctx)
		}
		return "", nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case wait.Err() != nil:
		return "", fmt.Errorf(
			"the editor did not say within %v whether it opened a terminal, so the command was not run a second time here; check whether it has run before you try again",
			ide.Wait,
		)
	case err == nil:
		return "", fmt.Errorf(
			"the editor answered with no terminal, so the command was not run a second time here; check whether it has run before you try again",
		)
	}
	return ide.Lacking(ctx, wait, err)
}

// await waits for the command's end. At the limit, or when the turn is stopped, it
// asks for the output so far.
func (v *visit) await(ctx context.Context, limit time.Duration) (ide.TerminalOutput, shell.Outcome, error) {
	wait, stop := context.WithTimeout(ctx, limit)
	defer stop()
	reply, err := v.editor.Do(wait, ide.AwaitTerminal{Session: v.session, ID: v.id})
	if err == nil {
		out, _ := reply.(ide.TerminalOutput)
		end := shell.Outcome{Code: -1, Signal: out.Signal}
		if out.Exit != nil {
			end.Code = *out.Exit
		}
		return out, end, nil
	}
	stopped, late, patience := ctx.Err() != nil, wait.Err() != nil, partingWait
	if stopped {
		patience = lateOpen
	}
	look, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	reply, perr := v.editor.Do(look, ide.PeekTerminal{Session: v.session, ID: v.id})
	out, _ := reply.(ide.TerminalOutput)
	if perr != nil {
		out = ide.TerminalOutput{}
	}
	switch {
	case stopped:
		return out, shell.Outcome{}, context.Cause(ctx)
	case late:
		return out, shell.Outcome{Why: shell.Overtime, Code: -1}, nil
	}
	return out, shell.Outcome{}, err
}

// close ends the command and releases the terminal, even if the turn has ended.
func (v *visit) close(ctx context.Context) {
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), partingWait)
	defer stop()
	// If the editor refuses to close it, nothing can be done about the error.
	_, _ = v.editor.Do(wait, ide.CloseTerminal{Session: v.session, ID: v.id})
}

// plainOutput returns a terminal's output without its colours and cursor movements.
func plainOutput(s string) string {
	if strings.ContainsRune(s, '\x1b') {
		s = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])`).
			ReplaceAllString(s, "")
	}
	var d shell.Decoder
	return strings.ReplaceAll(d.Text([]byte(s), true), "\r\n", "\n")
}

// shellResult returns a command's result, whether it ran here or in the editor.
func (s *toolset) shellResult(printed string, end shell.Outcome, took, limit time.Duration) core.Result {
	res := text(printed, end.Words(took, limit))
	res.Failed = end.Code != 0 || end.Why != shell.Ended
	res.Structured, _ = json.Marshal(ending{ //nolint:errchkjson // plain fields
		ExitCode:   end.Code,
		Signal:     end.Signal,
		TimedOut:   end.Why == shell.Overtime,
		DurationMS: took.Milliseconds(),
	})
	return res
}
