package answers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/files"
	"dragoman/core/tools"
)

// Question describes a call that the rules are tried out on.
type Question struct {
	Words     []string // of a command line; one is a whole line
	Tool      string   // otherwise: one of ours, or SERVER/NAME
	Path, URL string   // that it touches
	Args      string   // JSON
	Agent     string   // empty: the default
}

// Test prints what the rules decide about a call in the current folder, and why. The error is that
// of the exit code for a call that would not run unasked.
func Test(o setup.Options, q Question) error {
	v, err := q.put(o)
	if err != nil {
		return err
	}
	word := string(v.Effect)
	if v.Hard {
		word += ", each time"
	}
	fmt.Fprintf(o.Env.Out, "%s: %s\n", word, display.Line(v.Why, 500))
	if v.Remember != "" {
		scope := "for the session"
		if v.Keep != nil {
			scope += " or for good"
		}
		fmt.Fprintf(o.Env.Out, "An answer %s would cover %s.\n", scope, display.Line(v.RememberText, 500))
	}
	if v.Effect != core.Allow {
		return program.ExitError(program.ExitRefused)
	}
	return nil
}

// Allow keeps an answer that allows a call in the current folder for good, and prints what it covers.
func Allow(ctx context.Context, o setup.Options, q Question) error {
	v, err := q.put(o)
	if err != nil {
		return err
	}
	switch {
	case v.Effect == core.Allow:
		_, err := fmt.Fprintf(o.Env.Out, "Nothing was changed: this call is not asked about (%s).\n", display.Line(v.Why, 500))
		return err
	case v.Effect == core.Deny:
		return fmt.Errorf("allow it for good: it is %s", display.Line(v.Why, 500))
	case v.Keep == nil:
		return fmt.Errorf("allow it for good: it must be asked about each time: %s", display.Line(v.Why, 500))
	}
	if err := v.Keep(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Env.Out, "Allowed for good, in this folder: %s\n", display.Line(v.RememberText, 500))
	return err
}

// put puts the question to the policy of sessions in the current folder.
func (q Question) put(o setup.Options) (core.Verdict, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return core.Verdict{}, fmt.Errorf("find the current folder: %w", err)
	}
	c, err := q.check(cwd, o.Env.Home())
	if err != nil {
		return core.Verdict{}, program.UsageError{Err: err}
	}
	return decide(o, c)
}

// decide puts a check to the policy of sessions in the folder.
func decide(o setup.Options, c core.Check) (core.Verdict, error) {
	l, err := setup.OpenLog(o.Env)
	if err != nil {
		return core.Verdict{}, err
	}
	defer l.Close()
	o.Log = l
	p := setup.New(o)
	defer p.Close()
	client := p.Client(setup.ClientOptions{Principal: core.Local})
	defer client.Close()
	made, err := client.In(context.Background(), c.Meta.Roots)
	if err != nil {
		return core.Verdict{}, program.ConfigError(err)
	}
	if err := made.CheckAgent(c.Settings.Agent); err != nil {
		return core.Verdict{}, program.UsageError{Err: err}
	}
	if level, _ := p.Level(made.Config); level.Confines() {
		for i := range c.Access {
			if c.Access[i].Op == core.OpRun {
				c.Access[i].Sandbox = string(level)
			}
		}
	}
	return made.Policy.Decide(c), nil
}

// check translates the question.
func (q Question) check(cwd, home string) (core.Check, error) {
	root, err := files.Real(cwd)
	if err != nil {
		return core.Check{}, err
	}
	c := core.Check{
		Meta:     core.Meta{Principal: core.Local, Cwd: cwd, Roots: []string{cwd}},
		Settings: core.Settings{Agent: q.Agent},
		Origin:   core.Origin{Client: "dragoman policy", Principal: core.Local},
	}
	_, wide := files.Within(root, home)
	name := core.Spec{Server: core.Native, Name: q.Tool}
	if server, tool, ok := strings.Cut(q.Tool, "/"); ok {
		name.Server, name.Name = server, tool
	}
	if len(q.Words) > 0 {
		line, err := lineOf(q.Words)
		if err != nil {
			return c, err
		}
		name.Name = "shell_command"
		c.Access = []core.Access{{Op: core.OpRun, Path: root, Command: line, Wide: wide}}
	}
	if name.Server == core.Native && !tools.Named(name.Name) {
		return c, fmt.Errorf("there is no tool %q; one of an MCP server is SERVER/NAME", name.Name)
	}
	op := tools.Touches(name.Name)
	name.Kind = map[core.AccessOp]core.CallKind{core.OpRead: core.KindRead, core.OpWrite: core.KindEdit, core.OpRun: core.KindExecute, core.OpNet: core.KindFetch}[op]
	if name.Server != core.Native {
		op, name.Kind = "", core.KindOther
	}
	c.Spec = name
	c.Call = core.Call{Server: name.Server, Tool: name.Name, Kind: name.Kind, Args: json.RawMessage(cmp.Or(q.Args, "{}"))}
	if !json.Valid(c.Call.Args) {
		return c, errors.New("--args is not valid JSON")
	}
	if q.Path != "" {
		a, err := access(op, q.Path, cwd, root, home)
		if err != nil {
			return c, err
		}
		a.Wide = wide && !a.Outside
		c.Access = append(c.Access, a)
	}
	if q.URL != "" {
		c.Access = append(c.Access, core.Access{Op: core.OpNet, URL: q.URL})
	}
	return c, nil
}

// access describes a path as a tool would.
func access(op core.AccessOp, path, cwd, root, home string) (core.Access, error) {
	if op != core.OpWrite {
		op = core.OpRead
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		path = filepath.Join(home, rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	real, err := files.Real(filepath.Clean(path))
	if err != nil {
		return core.Access{}, err
	}
	_, inside := files.Within(root, real)
	return core.Access{Op: op, Path: real, Outside: !inside}, nil
}

// lineOf joins words to a command line. One word is a line already.
func lineOf(words []string) (string, error) {
	if len(words) == 1 {
		return words[0], nil
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil {
			return "", fmt.Errorf("the word %q cannot be part of a command line: %w", w, err)
		}
		quoted[i] = q
	}
	return strings.Join(quoted, " "), nil
}
