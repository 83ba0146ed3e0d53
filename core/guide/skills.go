package guide

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/core"
	"dragoman/core/display"
)

// Skill is a folder with a SKILL.md: knowledge that the agent can read when it needs
// it.
type Skill struct {
	Source
	Name        string
	Description string
	Dir         string // absolute: the folder, with further files in it
	Unlisted    bool   // only the user calls it; it is not listed for the model
	Uncalled    bool   // only the model reads it; it is no command

	args []core.Argument
	must map[int]bool // see Command
}

const maxDescription = 1024 // bytes

var (
	skillFolders     = []string{".dragoman/skills", ".eca/skills", ".agents/skills", ".claude/skills"}
	homeSkillFolders = []string{".agents/skills", ".claude/skills"}
)

// Skills lists the skills: the workspace's, then the user's, each by folder.
func (g *Guide) Skills() []Skill { return slices.Clone(g.skills) }

// Skill returns the text of a skill's SKILL.md, read now, and the absolute path of its
// folder, the base of relative paths in the text.
func (g *Guide) Skill(name string) (text, folder string, err error) {
	s, ok := g.findSkill(name)
	if !ok {
		return "", "", fmt.Errorf("there is no skill %q; there are: %s", oneLine(name, 100), g.skillNames())
	}
	if text, err = g.body(s.at); err != nil {
		return "", "", err
	}
	return text, s.Dir, nil
}

func (g *Guide) findSkill(name string) (Skill, bool) {
	i := slices.IndexFunc(g.skills, func(s Skill) bool { return s.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return g.skills[i], true
}

func (g *Guide) skillNames() string {
	if len(g.skills) == 0 {
		return "none"
	}
	var names []string
	for _, s := range g.skills {
		names = append(names, s.Name)
	}
	return display.Cut(strings.Join(names, ", "), 2000)
}

func (l *loader) skills(ctx context.Context) {
	folders := l.folders(skillFolders, "skills")
	if l.home != nil {
		for _, dir := range homeSkillFolders {
			folders = append(folders, place{l.home, dir})
		}
	}
	for _, dir := range folders {
		for _, name := range l.names(ctx, dir) {
			l.skill(ctx, place{dir.in, path.Join(dir.rel, name, "SKILL.md")}, name)
		}
	}
}

func (l *loader) skill(ctx context.Context, p place, folder string) {
	doc, ok := l.document(ctx, p)
	if !ok || !l.fresh("skill", doc) || !l.room(p, len(l.g.skills), "skills") {
		return
	}
	f := doc.front
	name := cmp.Or(f.first("name").string(), folder)
	s := Skill{
		Source:      p.source(),
		Name:        nameOf(name),
		Description: oneLine(f.first("description").string(), maxDescription),
		Dir:         filepath.Clean(p.dir()),
		Unlisted:    f.first("disable-model-invocation").bool(false),
		Uncalled:    !f.first("user-invocable").bool(true),
	}
	s.args, s.must = arguments(doc.body, f)
	if wrong := badName(name); wrong != "" {
		l.warn(p, "was left out: %s", wrong)
		return
	}
	if s.Description == "" {
		l.warn(p, "was left out: a skill needs a description in its front matter")
		return
	}
	if old, twice := l.g.findSkill(s.Name); twice {
		l.taken(p, "skill", s.Name, old.Source)
		return
	}
	l.g.skills = append(l.g.skills, s)
}
