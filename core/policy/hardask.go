package policy

import (
	"fmt"
	"slices"

	"dragoman/core"
	"dragoman/core/files"
)

// hardAsk returns the reason why only a person may answer, or "" if others may as well.
func (p *Policy) hardAsk(f facts) string {
	if path := f.control(); path != "" {
		return "changes to " + show(path) + " are always asked for: it decides what runs later"
	}
	for _, l := range f.lines {
		switch {
		case l == nil:
		case !l.parsed:
			return "the command line cannot be judged: " + l.fault
		case l.count > maxCommands:
			return fmt.Sprintf("the command line contains more than %d commands", maxCommands)
		case l.crowds:
			return fmt.Sprintf(
				"the command line cannot be judged: a word of it has more than %d braces, or has wildcards and is too long",
				maxBraces,
			)
		case l.settles() != "":
			return "`" + l.settles() + "` commands are always asked for: they decide what runs later"
		case l.full:
			return fmt.Sprintf("the command line cannot be judged: it may name more than %d paths", maxMentions)
		}
	}
	for _, r := range p.ask {
		if r.touches(f) {
			return "must be asked by " + r.name()
		}
	}
	for _, rules := range [][]rule{p.deny, p.ask} {
		for _, r := range rules {
			switch {
			case !r.names(f):
			case r.Command != "" && (f.unsure() || f.mayMention(r)):
				return "the command line hides what it runs, so " + r.name() + " cannot be checked"
			case r.mayTouch(f):
				return "a wildcard in " + f.what() + " may match what " + r.name() + " covers"
			case f.args != nil && f.args.full && (r.Path != "" || r.URL != "") && !r.Own:
				return "the arguments are too many to be compared with " + r.name()
			case r.Path != "" && !r.Own && (f.unsure() || f.veiled()):
				return "the command line hides which paths it touches, so " + r.name() + " cannot be checked"
			}
		}
	}
	for _, l := range f.texts() {
		if l != nil && l.tired() {
			return f.what() + " cannot be judged: there are too many wildcards to compare with the rules"
		}
	}
	return ""
}

// control names the control file that the call would change, or that a command
// line mentions; "" if there is none.
func (f facts) control() string {
	if f.args != nil && !f.check.Spec.ReadOnly {
		if i := slices.IndexFunc(f.args.paths, mention.control); i >= 0 {
			return f.args.paths[i].path
		}
	}
	for i, a := range f.check.Access {
		if a.Op == core.OpWrite && files.ControlFile(f.folded[i]) {
			return a.Path
		}
		if f.lines[i] == nil {
			continue
		}
		for _, m := range f.lines[i].paths {
			if m.control() {
				return m.path
			}
		}
	}
	return ""
}

// what names in words what the rules are compared with.
func (f facts) what() string {
	if f.args != nil {
		return "the arguments"
	}
	return "the command line"
}

// texts are the command lines of the call, and what its arguments say.
func (f facts) texts() []*line {
	if f.args == nil {
		return f.lines
	}
	return []*line{&f.args.line}
}

// unsure reports whether a command line hides which programs it runs.
func (f facts) unsure() bool {
	return slices.ContainsFunc(f.lines, func(l *line) bool { return l != nil && l.unsure })
}

// veiled reports whether a command line hides which paths it touches.
func (f facts) veiled() bool {
	return slices.ContainsFunc(f.lines, func(l *line) bool { return l != nil && l.veiled })
}

// mayMention reports whether a command line may run what a rule names, depending on words that
// only the shell knows.
func (f facts) mayMention(r rule) bool {
	return slices.ContainsFunc(f.lines, func(l *line) bool { return l != nil && l.mayMention(r.cmd) })
}
