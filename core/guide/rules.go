package guide

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"dragoman/core/glob"
)

// Rule is a file of rules. One with Always is part of the system prompt; others are
// only listed there, and their texts are fetched when they are needed.
type Rule struct {
	Source
	ID          string // identifies it: its file, as in Source
	Description string
	Agents      []string // that it applies to; empty: all
	Models      []string // regular expressions, one of which matches the model; empty: all
	Paths       []string // globs of the files that it applies to; empty: all
	Always      bool

	// Whether it has to be fetched before a matching file is read, or changed.
	BeforeRead   bool
	BeforeChange bool

	text   string // for Always only
	globs  []*glob.Pattern
	models []*regexp.Regexp
}

// applies reports whether a rule applies to an agent and a model (PROVIDER/MODEL). If
// one of them is unknown, "", rules for certain agents or models apply as well.
func (r Rule) applies(agent, model string) bool {
	if len(r.Agents) > 0 && agent != "" && !slices.Contains(r.Agents, agent) {
		return false
	}
	return len(r.Models) == 0 || model == "" ||
		slices.ContainsFunc(r.models, func(m *regexp.Regexp) bool { return m.MatchString(model) })
}

// Rules lists all rules: the workspace's, then the user's.
func (g *Guide) Rules() []Rule { return slices.Clone(g.rules) }

// RulesFor lists the rules that apply to a file because of its path, which is
// absolute, without those in the system prompt. A rule of the workspace applies to
// files of its own folder, one of the user to those of any. The caller checks whether
// they apply to an agent and a model, and whether they were fetched before.
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

// RuleText returns the text of a rule by its ID. If the system prompt does not contain
// it, the text is read now.
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

// room reports whether another one of a kind is allowed.
func (l *loader) room(p place, have int, kind string) bool {
	if have < maxFiles {
		return true
	}
	l.warn(p, "was left out: there are more than %d %s", maxFiles, kind)
	return false
}

// rule reads a rule's front matter in the formats of ECA, Claude Code and Cursor.
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
	// Without paths a rule always applies, unless it has alwaysApply: false and a
	// description.
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
