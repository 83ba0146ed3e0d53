package configs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"dragoman/core/datadir"
)

// maxReferenced limits a file that a reference names.
const maxReferenced = 1 << 20

// part is a piece of a text: plain text, or a reference.
type part struct {
	kind  string  // "env", "file", "cmd", or "" for plain text
	text  string  // the plain text, or the reference's name
	short bool    // ${NAME} instead of ${env:NAME}
	or    *string // the text for a variable that is not set; nil: none
}

func (p part) String() string {
	switch {
	case p.kind == "":
		return p.text
	case p.or != nil:
		return "${" + p.text + ":-" + *p.or + "}"
	case p.short:
		return "${" + p.text + "}"
	}
	return "${" + p.kind + ":" + p.text + "}"
}

// split splits a text into its parts. The error describes a malformed reference without
// the text, which may be secret.
func (t text) split() ([]part, error) { return splitIn(t.raw(), t.shares()) }

// splitIn is split for a piece of a text. shared is set for texts of mcp.json, which may contain
// the references that MCP programs share.
func splitIn(raw string, shared bool) ([]part, error) {
	advice := referenceAdvice
	if shared {
		advice = sharedAdvice
	}
	var parts []part
	plain := func(s string) {
		if s == "" {
			return
		}
		if n := len(parts); n > 0 && parts[n-1].kind == "" {
			parts[n-1].text += s
			return
		}
		parts = append(parts, part{text: s})
	}
	for {
		before, after, found := strings.Cut(raw, "${")
		if !found {
			plain(raw)
			return parts, nil
		}
		if strings.HasSuffix(before, "$") {
			plain(before + "{")
			raw = after
			continue
		}
		plain(before)
		inner, rest, closed := strings.Cut(after, "}")
		if !closed {
			return nil, errors.New("a reference is not closed: " + advice)
		}
		ref, err := reference(inner, shared, advice)
		if err != nil {
			return nil, err
		}
		parts = append(parts, ref)
		raw = rest
	}
}

const (
	referenceAdvice = "write ${env:NAME}, ${file:PATH} or ${cmd:PROGRAM ARGUMENTS}, and $${ for a plain ${"
	sharedAdvice    = "write ${NAME}, ${NAME:-DEFAULT}, ${workspaceFolder}, ${file:PATH} or " +
		"${cmd:PROGRAM ARGUMENTS}, and $${ for a plain ${"
)

func reference(inner string, shared bool, advice string) (part, error) {
	kind, name, qualified := strings.Cut(inner, ":")
	plain, otherwise, has := strings.Cut(inner, ":-")
	switch {
	case shared && isVariable(plain) && (has || !qualified) && inner != "pathSeparator":
		if has && strings.Contains(otherwise, "${") {
			return part{}, errors.New("the default of a variable holds no reference: " + advice)
		}
		p := part{kind: "env", text: plain, short: true}
		if has {
			p.or = &otherwise
		}
		return p, nil
	case shared && (inner == "/" || inner == "pathSeparator"):
		return part{text: string(filepath.Separator)}, nil
	case shared && kind == "input":
		return part{}, errors.New("${input:…} is for editors that ask for it: write ${NAME}, and set that variable")
	case kind != "env" && kind != "file" && kind != "cmd":
		return part{}, errors.New("unknown reference: " + advice)
	case name == "":
		advice, _, _ = strings.Cut(advice, ", and $${")
		return part{}, fmt.Errorf("${%s:} names nothing: %s", kind, advice)
	case kind == "env" && strings.ContainsAny(name, "= \t\r\n\x00"), strings.ContainsAny(name, "\r\n\x00"),
		kind == "env" && shared && !isVariable(name):
		return part{}, fmt.Errorf("%s is no name for ${%s:…}", quote(name), kind)
	}
	if kind == "cmd" {
		if _, err := words(name); err != nil {
			return part{}, err
		}
	}
	return part{kind: kind, text: name}, nil
}

// isVariable reports whether a name can be a variable's without a prefix.
func isVariable(name string) bool {
	return name != "" && name[0] > '9' && !strings.ContainsFunc(name, func(r rune) bool { return !isWord(r) })
}

// hasReference reports whether a text needs the environment or a file.
func (t text) hasReference() bool { return t.refers(t.raw()) }

// refers is hasReference for a piece of the text.
func (t text) refers(piece string) bool {
	parts, err := splitIn(piece, t.shares())
	return err != nil || slices.ContainsFunc(parts, func(p part) bool { return p.kind != "" })
}

// Files lists the files in the configuration's references, each once: a change of one of them may
// change the effective configuration.
func (c *Config) Files(env Env) []string {
	var files []string
	visit(reflect.ValueOf(c).Elem(), "", field{}, func(_ string, _ field, v reflect.Value) {
		t, ok := v.Interface().(interface {
			split() ([]part, error)
			path(name string, env Env) (string, error)
		})
		if !ok {
			return
		}
		parts, err := t.split()
		if err != nil {
			return // Load has reported it
		}
		for _, p := range parts {
			if p.kind != "file" {
				continue
			}
			if path, err := t.path(p.text, env); err == nil && !slices.Contains(files, path) {
				files = append(files, path)
			}
		}
	})
	slices.Sort(files)
	return files
}

// expand replaces the references of a text. run, which may be nil, runs its commands.
func expand(ctx context.Context, t text, env Env, run Run) (string, error) {
	parts, err := t.split()
	if err != nil {
		return "", t.problem(err.Error())
	}
	var b strings.Builder
	for _, p := range parts {
		switch p.kind {
		case "env":
			value, ok := env.lookup(p.text)
			switch {
			case !ok && p.or != nil:
				value = *p.or
			case !ok:
				return "", t.problem("environment variable " + p.text + " is not set; " + unsetAdvice)
			}
			b.WriteString(value)
		case "file":
			value, err := readReferenced(t, p.text, env)
			if err != nil {
				return "", t.problem(p.String() + ": " + err.Error())
			}
			b.WriteString(value)
		case "cmd":
			value, err := runReferenced(ctx, t, p.text, env, run)
			if err != nil {
				return "", t.problem(shortCommand(p.text) + ": " + err.Error())
			}
			b.WriteString(value)
		case "":
			b.WriteString(p.text)
		}
	}
	return b.String(), nil
}

const unsetAdvice = "set it where dragoman is started, or write the value here or as ${file:PATH} (programs started from a desktop do not see the shell's variables)"

// readReferenced returns a file's text without the line breaks at its end.
func readReferenced(t text, name string, env Env) (string, error) {
	path, err := t.path(name, env)
	if err != nil {
		return "", err
	}
	data, _, err := datadir.Read(path, maxReferenced)
	if err != nil {
		return "", cannotRead(path, err)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// cannotRead returns the error for a file that could not be read, with its name once.
func cannotRead(path string, err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("cannot read %s: %v", path, err)
}
