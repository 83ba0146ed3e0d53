package guide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// BuiltIn is a command that is always available. Its provider defines its effect.
type BuiltIn struct {
	core.Command
	// Prompt returns the command's prompt for the model, in the folders of the
	// workspace; nil: the command has none.
	Prompt func(folders []string) string
}

// Command is a command that a user can type after a slash.
type Command struct {
	Source
	core.Command // the name has no blanks

	must   map[int]bool // the arguments that a prompt needs
	long   string       // the name with its folders below commands, if there are any
	prompt func(folders []string) string
}

// Prompts reports whether the command has a prompt, which Expand makes.
func (c Command) Prompts() bool { return c.Kind != core.CommandBuiltin || c.prompt != nil }

// ErrNoCommand reports that no command has the given name.
var ErrNoCommand = errors.New("there is no such command")

// ErrMissing reports that a required argument of a command is missing.
var ErrMissing = errors.New("an argument is missing")

// Commands lists the commands: the built-in ones, the workspace's, the user's, and the
// skills that the user can call.
func (g *Guide) Commands() []Command { return slices.Clone(g.commands) }

// Command finds a command by its name, without the slash. A file in a folder is also
// found by FOLDER:NAME.
func (g *Guide) Command(name string) (Command, bool) {
	for _, is := range []func(Command) bool{
		func(c Command) bool { return c.Name == name },
		func(c Command) bool { return c.long == name },
		func(c Command) bool { return strings.EqualFold(c.Name, name) },
	} {
		if i := slices.IndexFunc(g.commands, is); i >= 0 && name != "" {
			return g.commands[i], true
		}
	}
	return Command{}, false
}

// List lists the commands in the form for clients, but for those that are not listed.
func (g *Guide) List() []core.Command {
	var list []core.Command
	for _, c := range g.commands {
		if !c.Unlisted {
			list = append(list, c.Command)
		}
	}
	return list
}

// Find is Command for callers that only offer it. prompts reports whether Expand makes
// a prompt of it.
func (g *Guide) Find(name string) (c core.Command, prompts, ok bool) {
	found, ok := g.Command(name)
	return found.Command, ok && found.Prompts(), ok
}

// Expand makes the prompt of a command with Prompts; args is the user's text after the
// name. In the command's text $ARGUMENTS and $ARGS are all of args, $1 … $9 its words,
// and {{name}} its words in the order of the names, or those written as name=word; the
// last name gets all remaining words. If the text has no placeholders, the arguments
// are added at the end. Words are split as in a shell: "two words" is one. The result
// is not expanded again, so arguments expand nothing. Expand reads the command's file.
// An error is for the user; it is ErrNoCommand or ErrMissing in these two cases.
func (g *Guide) Expand(name, args string) (string, error) {
	args = strings.TrimSpace(args)
	words := splitArgs(args)
	return g.expand(name, args != "", func(c Command, text string) (string, error) {
		return c.fill(text, args, words, naming(c.Arguments, words))
	})
}

// ExpandNamed is Expand for arguments given by the names in the command's Arguments.
func (g *Guide) ExpandNamed(name string, values map[string]string) (string, error) {
	given := false
	for _, v := range values {
		given = given || v != ""
	}
	return g.expand(name, given, func(c Command, text string) (string, error) {
		var words, all []string
		for _, a := range c.Arguments {
			words = append(words, values[a.Name])
			if v := values[a.Name]; v != "" {
				all = append(all, v)
			}
		}
		return c.fill(text, strings.Join(all, " "), words, values)
	})
}

func (c Command) fill(text, args string, words []string, named map[string]string) (string, error) {
	for i, a := range c.Arguments {
		if !c.must[i] || named[a.Name] != "" || i < len(words) && words[i] != "" {
			continue
		}
		name := a.Name
		if a.Description != "" {
			name += " (" + a.Description + ")"
		}
		return "", fmt.Errorf("/%s: %w: %s", c.Name, ErrMissing, name)
	}
	text, err := fill(text, args, words, named)
	if err != nil {
		return "", fmt.Errorf("/%s: %w", c.Name, err)
	}
	return text, nil
}

func (g *Guide) expand(name string, given bool, fill func(Command, string) (string, error)) (string, error) {
	c, ok := g.Command(name)
	if !ok {
		return "", fmt.Errorf("/%s: %w", oneLine(name, 100), ErrNoCommand)
	}
	if !c.Prompts() {
		return "", fmt.Errorf("/%s is not a prompt", c.Name)
	}
	if c.prompt != nil {
		var folders []string
		for _, a := range g.roots {
			folders = append(folders, a.dir)
		}
		text, err := fill(c, "")
		return strings.TrimSpace(c.prompt(folders) + "\n" + text), err
	}
	text, err := g.body(c.at)
	if err != nil {
		return "", fmt.Errorf("/%s: %w", c.Name, err)
	}
	if c.Kind == core.CommandCustom {
		return fill(c, text)
	}
	// A skill's text is for the model: something in it that looks like a placeholder
	// is one only if there are arguments.
	if given {
		if text, err = fill(c, text); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("Follow the skill %s. Its folder, which relative paths in it start from, is %s\n\n%s", c.Name, display.Visible(c.at.dir()), text), nil
}

func (l *loader) commands(ctx context.Context) {
	for _, b := range l.o.BuiltIn {
		c := Command{Command: b.Command, prompt: b.Prompt}
		c.Kind = core.CommandBuiltin
		l.g.commands = append(l.g.commands, c)
	}
	for _, dir := range l.folders([]string{".dragoman/commands", ".eca/commands"}, "commands") {
		l.disk.walk(ctx, dir, []string{".md"}, l.unread, func(p place) {
			if doc, ok := l.document(ctx, p); ok && l.fresh("command", doc) &&
				l.room(p, len(l.g.commands), "commands") {
				l.command(doc, strings.TrimPrefix(p.rel, dir.rel+"/"))
			}
		})
	}
	for _, s := range l.g.skills {
		if s.Uncalled {
			continue
		}
		if old, twice := l.g.exactly(s.Name); twice {
			l.warn(s.at, "is a skill, but no command: the name %s is that of %s", s.Name, old.origin())
			continue
		}
		l.g.commands = append(l.g.commands, Command{
			Source: s.Source,
			Command: core.Command{
				Kind:        core.CommandSkill,
				Name:        s.Name,
				Description: s.Description,
				Arguments:   s.args,
			},
			must: s.must,
		})
	}
}

// command adds a custom command. rel is its file below the folder of commands.
func (l *loader) command(doc document, rel string) {
	rel = strings.TrimSuffix(rel, path.Ext(rel))
	base := path.Base(rel)
	if wrong := badName(base); wrong != "" {
		l.warn(doc.at, "was left out: %s", wrong)
		return
	}
	c := Command{Source: doc.at.source(), Command: core.Command{
		Kind: core.CommandCustom, Name: nameOf(base),
		Description: oneLine(doc.front.first("description").string(), maxDescription),
	}}
	c.Arguments, c.must = arguments(doc.body, doc.front)
	if folder := path.Dir(rel); folder != "." {
		c.long = nameOf(strings.ReplaceAll(rel, "/", ":"))
	}
	c.Description = cmp.Or(c.Description, c.File)
	if old, twice := l.g.exactly(c.Name); twice {
		_, longToo := l.g.exactly(c.long)
		if c.long == "" || longToo {
			l.warn(doc.at, "was left out: the command %s is already that of %s", c.Name, old.origin())
			return
		}
		c.Name, c.long = c.long, ""
	}
	l.g.commands = append(l.g.commands, c)
}

func (g *Guide) exactly(name string) (Command, bool) {
	i := slices.IndexFunc(
		g.commands,
		func(c Command) bool { return name != "" && (c.Name == name || c.long == name) },
	)
	if i < 0 {
		return Command{}, false
	}
	return g.commands[i], true
}

func (c Command) origin() string {
	if c.Kind == core.CommandBuiltin {
		return "a built-in command"
	}
	return c.File
}
