package terminal

import (
	"context"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/workspace"
)

const (
	// findTime limits the search for completions and references.
	findTime = 3 * time.Second
	// maxOffered limits the completions that are listed.
	maxOffered = 30
)

// complete completes the word at the cursor, or lists the possible words above the line.
func (c *chat) complete(ctx context.Context, line keyLine) {
	word, mark := typedWord(line)
	if mark == 0 {
		return
	}
	ctx, done := context.WithTimeout(ctx, findTime)
	defer done()
	var list []string
	if mark == '/' {
		for _, cmd := range c.commands(ctx) {
			if strings.HasPrefix(cmd.Name, word) {
				list = append(list, cmd.Name)
			}
		}
	} else {
		list = c.references(ctx, word)
	}
	common := commonPrefix(list)
	switch {
	case len(list) == 0:
		return
	case len(list) == 1 && (mark == '/' || !strings.HasSuffix(common, "/")):
		c.in.insert(line, len([]rune(word)), common+" ")
		return
	case len(common) > len(word) && strings.HasPrefix(common, word) || len(list) == 1:
		c.in.insert(line, len([]rune(word)), common)
		return
	}
	var b strings.Builder
	for _, name := range list[:min(len(list), maxOffered)] {
		b.WriteString(string(mark) + display.Line(name, 200) + "  ")
	}
	if more := len(list) - maxOffered; more > 0 {
		b.WriteString("… " + display.Number(more) + " more")
	}
	c.screen.line(c.screen.Faint(strings.TrimSpace(b.String())))
}

// typedWord returns the word in front of the cursor that can be completed, without its mark: / at
// the beginning of the line, or @. mark is 0 if there is none.
func typedWord(line keyLine) (word string, mark rune) {
	pieces := line.pieces[:line.at]
	begin := len(pieces)
	for begin > 0 && !pieces[begin-1].pasted && strings.TrimSpace(pieces[begin-1].text) != "" {
		begin--
	}
	word = textOf(pieces[begin:])
	switch {
	case begin == 0 && strings.HasPrefix(word, "/"):
		return word[1:], '/'
	case strings.HasPrefix(word, "@") && (begin == 0 || !pieces[begin-1].pasted):
		return word[1:], '@'
	}
	return "", 0
}

// references lists the files and resources that a word can mean: paths that begin with it, or
// else the ones that are most like it.
func (c *chat) references(ctx context.Context, word string) (list []string) {
	meta := c.att.Meta()
	in, ok := c.workspace(ctx)
	if !ok {
		return nil
	}
	add := func(found []workspace.FileName) {
		for _, f := range found {
			if name := relative(meta.Cwd, f); !strings.ContainsFunc(name, isUntypable) {
				list = append(list, name)
			}
		}
	}
	if in.Files != nil {
		dir, begin := filepath.Split(filepath.FromSlash(word))
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(meta.Cwd, dir)
		}
		add(in.Files.List(ctx, meta.Roots, filepath.Clean(dir), begin, 100))
		if len(list) == 0 && word != "" {
			add(in.Files.Find(ctx, meta.Roots, word, maxOffered))
		}
	}
	if in.Resources != nil {
		for _, l := range in.Resources.List(ctx, meta.Roots, word, maxOffered) {
			if strings.HasPrefix(l.URI, word) && !strings.ContainsFunc(l.URI, isUntypable) {
				list = append(list, l.URI)
			}
		}
	}
	return list
}

// isUntypable reports whether a character would end a reference or not be seen in it.
func isUntypable(r rune) bool { return unicode.IsSpace(r) || display.Unseen(r) }

// workspace returns what prompts can refer to.
func (c *chat) workspace(ctx context.Context) (workspace.Contents, bool) {
	prof, err := c.options.Gateway.Profile(ctx, c.options.Profiles, c.att.Meta().Roots)
	if err != nil { // the next turn reports it
		return workspace.Contents{}, false
	}
	return workspace.Of(prof), true
}

func relative(cwd string, f workspace.FileName) string {
	name := f.Path
	if rel, err := filepath.Rel(cwd, f.Path); err == nil && !strings.HasPrefix(rel, "..") {
		name = rel
	}
	name = filepath.ToSlash(name)
	if f.Folder {
		name += "/"
	}
	return name
}

func commonPrefix(list []string) string {
	if len(list) == 0 {
		return ""
	}
	common := list[0]
	for _, s := range list[1:] {
		for !strings.HasPrefix(s, common) {
			common = display.Cut(common, len(common)-1)
		}
	}
	return common
}

// attached returns a prompt with the files and resources that it refers to with @, and their
// names. What is pasted refers to nothing.
func (c *chat) attached(ctx context.Context, line inputLine) (blocks []core.Block, names []string) {
	blocks = []core.Block{core.Text{Text: strings.TrimRight(line.text(), "\n")}}
	if c.in.term == nil || line.pasted && len(line.pieces) == 0 || !strings.Contains(line.text(), "@") {
		return blocks, nil
	}
	ctx, done := context.WithTimeout(ctx, findTime)
	defer done()
	in, ok := c.workspace(ctx)
	if !ok {
		return blocks, nil
	}
	for _, word := range typedWords(line.pieces) {
		if !strings.HasPrefix(word, "@") || len(word) < 2 {
			continue
		}
		for _, name := range []string{word[1:], strings.TrimRight(word[1:], ".,;:!?)")} {
			if b := c.referred(ctx, in, name); b != nil {
				blocks = append(blocks, b)
				names = append(names, display.Line(name, 100))
				break
			}
		}
	}
	return blocks, names
}

// typedWords returns the words that were typed, and not pasted.
func typedWords(pieces []piece) []string {
	var b strings.Builder
	for _, p := range pieces {
		if p.pasted {
			b.WriteString(" \x00") // what follows belongs to the paste
		} else {
			b.WriteString(p.text)
		}
	}
	return strings.Fields(b.String())
}

// referred returns the content of the file or resource of a name; nil: there is none.
func (c *chat) referred(ctx context.Context, in workspace.Contents, name string) core.Block {
	meta := c.att.Meta()
	if in.Resources != nil && strings.Contains(name, "://") {
		for _, l := range in.Resources.List(ctx, meta.Roots, name, maxOffered) {
			if l.URI == name {
				return in.Resources.Read(ctx, meta.Roots, name)
			}
		}
	}
	path := filepath.FromSlash(name)
	if !filepath.IsAbs(path) {
		path = filepath.Join(meta.Cwd, path)
	}
	path = filepath.Clean(path)
	if in.Files == nil || name == "" {
		return nil
	}
	for _, f := range in.Files.List(ctx, meta.Roots, filepath.Dir(path), filepath.Base(path), 100) {
		if f.Path == path {
			return in.Files.Read(ctx, meta.Roots, workspace.Reference{Path: path})
		}
	}
	return nil
}
