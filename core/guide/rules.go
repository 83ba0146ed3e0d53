package guide

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dragoman/core/glob"
)

// Rule is a file of rules. One with Always stands in the system prompt; another
// is only listed there, and its text is fetched when it is needed.
type Rule struct {
	Source
	ID          string // what names it: its file, as Source has it
	Description string
	Agents      []string // that it is for; empty: all
	Models      []string // regular expressions, one of which matches the model; empty: all
	Paths       []string // globs of the files that it is for; empty: all
	Always      bool

	// Whether it has to be fetched before a file that it is for is read, or changed.
	BeforeRead   bool
	BeforeChange bool

	text   string // of one with Always
	globs  []*glob.Pattern
	models []*regexp.Regexp
}

// applies reports whether a rule is for an agent and a model (PROVIDER/MODEL).
// Where either is not known, "", a rule for certain ones of them applies.
func (r Rule) applies(agent, model string) bool {
	if len(r.Agents) > 0 && agent != "" && !slices.Contains(r.Agents, agent) {
		return false
	}
	return len(r.Models) == 0 || model == "" ||
		slices.ContainsFunc(r.models, func(m *regexp.Regexp) bool { return m.MatchString(model) })
}

// Rules lists all rules: the workspace's, then the user's.
func (g *Guide) Rules() []Rule { return slices.Clone(g.rules) }

// RulesFor lists the rules that are for a file because of its path, which is
// absolute, without those that stand in the system prompt anyway. A rule of the
// workspace is for files of its own folder, one of the user for those of any.
// Whether they apply to an agent and a model, and whether they were fetched
// before, is for the caller to see.
func (g *Guide) RulesFor(path string) []Rule {
	at, ok := g.locate(path)
	if !ok {
		return nil
	}
	var list []Rule
	for _, r := range g.rules {
		if r.Always {
			continue
		}
		rel := at.rel
		if !r.User && r.at.in != at.in {
			if rel, ok = r.at.in.rel(path); !ok {
				continue
			}
		}
		if slices.ContainsFunc(r.globs, func(g *glob.Pattern) bool { return g.Matches(rel) }) {
			list = append(list, r)
		}
	}
	return list
}

// RuleText returns the text of a rule by its ID, which it reads now where the
// system prompt does not hold it.
func (g *Guide) RuleText(id string) (string, error) {
	for _, r := range g.rules {
		switch {
		case r.ID != id:
		case r.Always:
			return r.text, nil
		default:
			return g.body(r.at)
		}
	}
	return "", fmt.Errorf(
		"there is no rule %q; give the file's name as the list of rules has it",
		oneLine(id, 200),
	)
}

var ruleFiles = append([]string{"", ".txt"}, markdown...)

func (l *loader) rules(ctx context.Context) {
	left := maxTexts
	for _, dir := range l.folders([]string{".dragoman/rules", ".eca/rules"}, "rules") {
		l.disk.walk(ctx, dir, ruleFiles, l.unread, func(p place) {
			doc, ok := l.document(ctx, p)
			if !ok || !l.fresh("rule", doc) || !l.room(p, len(l.g.rules), "rules") {
				return
			}
			r := l.rule(doc)
			if r.Always {
				if blank(r.text) {
					return
				}
				if left -= len(r.text); left < 0 {
					l.warn(p, "was left out: the rules that always apply are more than %d KiB", maxTexts>>10)
					left += len(r.text)
					return
				}
			}
			l.g.rules = append(l.g.rules, r)
		})
	}
}

// room reports whether there may be one more of a kind.
func (l *loader) room(p place, have int, kind string) bool {
	if have < maxFiles {
		return true
	}
	l.warn(p, "was left out: there are more than %d %s", maxFiles, kind)
	return false
}

// rule reads a rule's front matter, as ECA, Claude Code and Cursor write it.
func (l *loader) rule(doc document) Rule {
	f := doc.front
	r := Rule{
		Source: doc.at.source(), Description: oneLine(f.first("description").string(), maxDescription),
		Agents: f.first("agent", "agents").words(), Paths: f.first("paths", "globs", "path").words(),
	}
	r.ID = r.File
	for _, m := range f.first("model", "models").strings() {
		r.Models = append(r.Models, m)
		re, err := regexp.Compile(m)
		if err != nil || len(m) > maxPattern {
			l.warn(doc.at, "model %q is not a regular expression that can be used", oneLine(m, 100))
			continue
		}
		r.models = append(r.models, re)
	}
	for _, p := range r.Paths {
		parsed, err := parseGlob(p)
		if err != nil {
			l.warn(doc.at, "path %q is not a glob that can be used: %v", oneLine(p, 100), err)
			continue
		}
		r.globs = append(r.globs, parsed)
	}
	// Without paths a rule always applies, unless it says alwaysApply: false and
	// what it is for.
	r.Always = f.first("alwaysApply").bool(len(r.Paths) == 0) || len(r.Paths) == 0 && r.Description == ""
	if !r.Always && len(r.Paths) > 0 {
		enforce := f.first("enforce").words()
		r.BeforeRead = slices.Contains(enforce, "read")
		r.BeforeChange = len(enforce) == 0 || slices.Contains(enforce, "modify")
	}
	if r.Always {
		r.text, _ = legible(strings.TrimSpace(doc.body))
	}
	return r
}
