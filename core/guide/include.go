package guide

import (
	"path"
	"slices"
	"strings"
)

// mention is the text after an @. path has slashes.
type mention struct{ path string }

// sure reports whether a mention is certainly the path of a file, and not possibly the
// name of a person or of a package. There is a warning only for missing files of the
// former kind.
func (m mention) sure() bool {
	if strings.HasPrefix(m.path, "/") || strings.HasPrefix(m.path, "./") || strings.HasPrefix(m.path, "../") ||
		strings.HasPrefix(m.path, "~/") {
		return true
	}
	if private(m.path) {
		return true
	}
	ext := path.Ext(m.path)
	return len(ext) > 1 && ext != m.path && (ext[1] >= 'a' && ext[1] <= 'z' || ext[1] >= 'A' && ext[1] <= 'Z')
}

// mentions lists the mentions with @ in a Markdown text, each once, in order. Those in
// code do not count.
func mentions(text string) []mention {
	var list []mention
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if mark := fenceOf(bare); mark != "" {
			switch {
			case fence == "":
				fence = mark
			case strings.HasPrefix(mark, fence) && strings.Trim(bare, mark[:1]) == "":
				fence = ""
			}
			continue
		}
		if fence != "" || !strings.Contains(line, "@") {
			continue
		}
		for _, p := range mentioned(withoutCode(line)) {
			if m := (mention{p}); !slices.Contains(list, m) && len(list) <= maxMentions {
				list = append(list, m)
			}
		}
	}
	return list
}

// fenceOf returns the marks in a line that open or close a code block, or "".
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// withoutCode replaces the code spans of a line by blanks.
func withoutCode(line string) string {
	if !strings.Contains(line, "`") {
		return line
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			b.WriteString(line)
			return b.String()
		}
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		end := closing(line[i+n:], n)
		b.WriteString(line[:i])
		if end < 0 {
			b.WriteString(line[i : i+n])
			line = line[i+n:]
			continue
		}
		b.WriteByte(' ')
		line = line[i+n+end+n:]
	}
}

// closing finds a run of exactly n backticks.
func closing(s string, n int) int {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '`')
		if i < 0 {
			return -1
		}
		i += from
		run := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if run == n {
			return i
		}
		from = i + run
	}
}

// mentioned lists the paths after every @ at the beginning of a word.
func mentioned(line string) []string {
	var list []string
	for {
		before, after, ok := strings.Cut(line, "@")
		if !ok {
			return list
		}
		line = after
		if before != "" && !strings.ContainsRune(" \t([{<>*_|'\"", rune(before[len(before)-1])) {
			continue
		}
		end := strings.IndexAny(after, " \t\n)]}<>|,;`'\"@")
		if end < 0 {
			end = len(after)
		}
		if p := strings.TrimRight(after[:end], ".:!?*_"); p != "" && len(p) <= 1024 {
			list = append(list, p)
		}
		line = after[end:]
	}
}

// guidance lists the hidden folders that are meant for agents.
var guidance = []string{".dragoman", ".eca", ".agents", ".claude", ".cursor", ".github"}

// private reports whether a path contains a hidden file or folder: programs keep keys
// there, and users do not look there. Markdown in the folders for agents is not
// private.
func private(rel string) bool {
	names := strings.Split(rel, "/")
	for i, n := range names {
		if strings.HasPrefix(n, ".") &&
			!(i < len(names)-1 && slices.Contains(guidance, n) && hasExt(rel, markdown)) {
			return true
		}
	}
	return false
}

var markdown = []string{".md", ".mdc", ".markdown"}

// onlyMentions reports whether a text contains nothing but mentions.
func onlyMentions(text string) bool {
	for word := range strings.FieldsSeq(text) {
		if word[0] != '@' {
			return false
		}
	}
	return true
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
