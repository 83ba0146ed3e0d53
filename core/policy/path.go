package policy

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"dragoman/core/display"
)

// shellStart are the start-up files of shells and of what hooks into them.
var shellStart = []string{
	".bashrc",
	".bash_profile",
	".bash_login",
	".bash_logout",
	".bash_aliases",
	".profile",
	".zshrc",
	".zprofile",
	".zshenv",
	".zlogin",
	".zlogout",
	".kshrc",
	".mkshrc",
	".cshrc",
	".tcshrc",
	".login",
	".inputrc",
	".envrc",
	".xprofile",
	".xsessionrc",
}

// instructing lists the files with instructions for agents. All later sessions obey the text that one
// session writes there.
var instructing = []string{"agents.md", "claude.md", "gemini.md"}

// hooked are folders whose files programs run, or read for what to run, when a folder
// is opened or something is committed; with the names in them that count. None: all.
var hooked = map[string][]string{
	".dragoman": nil, ".eca": nil, ".husky": nil, ".devcontainer": nil,
	".vscode": {"settings.json", "tasks.json", "launch.json", "mcp.json"},
	".cursor": {"mcp.json", "hooks.json", "rules"},
	".zed":    {"settings.json", "tasks.json", "debug.json"},
	".claude": {"settings.json", "settings.local.json", "hooks", "commands", "agents", "skills"},
	".agents": {"skills"},
	".codex":  {"config.toml", "hooks.json", "prompts"},
	".gemini": {"settings.json", "commands"},
	".config": {"fish", "dragoman", "eca"},
}

// controlFile reports whether a path, or a folder above it, decides what runs later without
// another question, or instructs agents. It need not exist.
func controlFile(p string) bool {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		rest := parts[i+1:]
		switch part {
		case ".git", "git~1":
			if gitControl(rest) {
				return true
			}
		case ".mcp.json":
			return true
		default:
			if hooks(part, rest) || slices.Contains(shellStart, part) || len(rest) == 0 && slices.Contains(instructing, part) {
				return true
			}
		}
	}
	return false
}

// hooks reports whether a path below one of the hooked folders counts. The folder
// itself does, since replacing it replaces all of it; but not one of many programs.
func hooks(folder string, rest []string) bool {
	names, ok := hooked[folder]
	switch {
	case !ok:
		return false
	case names == nil:
		return true
	case len(rest) == 0:
		return folder != ".config"
	}
	return slices.Contains(names, rest[0])
}

// gitControl reports whether a path below .git makes git run something. The
// folder itself counts: replacing it replaces all of it.
func gitControl(rest []string) bool {
	if len(rest) == 0 {
		return true
	}
	switch rest[0] {
	case "hooks", "config", "config.worktree", "info", "commondir":
		return true
	case "modules", "worktrees":
		return slices.ContainsFunc(rest[1:], func(s string) bool {
			return s == "hooks" || s == "config" || s == "config.worktree" || s == "commondir" || s == "gitdir"
		})
	}
	return false
}

// foldPath brings the spellings together that some file system takes for the
// same file: case, full-width letters, invisible characters, dots and spaces at
// the end of a name, streams. The leading slash is dropped.
func foldPath(p string) string {
	p = filepath.ToSlash(filepath.Clean(p))
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, part := range parts {
		s := fold(part)
		if name, _, ok := strings.Cut(s, ":"); ok && len(name) > 1 { // name:stream, but not a drive
			s = name
		}
		if t := strings.TrimRight(s, ". "); t != "" {
			s = t
		}
		parts[i] = s
	}
	return strings.Join(parts, "/")
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0xff01 && r <= 0xff5e: // full-width forms of ASCII
			r -= 0xff01 - '!'
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// show quotes text with special characters, and shortens long text.
func show(s string) string {
	const most = 120
	long := len(s) > most
	if long {
		s = display.Cut(s, most)
	}
	if !shownAsIs(s) {
		s = strconv.QuoteToASCII(s)
	}
	if long {
		s += "…"
	}
	return s
}

// shownAsIs reports whether a person sees in s what there is: nothing
// invisible, nothing that moves the cursor or turns the direction of text.
func shownAsIs(s string) bool {
	return !strings.ContainsFunc(
		s,
		func(r rune) bool { return display.Unseen(r) || r == unicode.ReplacementChar },
	)
}
