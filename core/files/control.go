package files

import (
	"slices"
	"strings"
	"unicode/utf8"

	"dragoman/core/glob"
)

// starting are files, by name, that programs run or take commands from when they start, or when
// they work in the folder: start-up files of shells, settings of editors, debuggers, package
// managers, build tools and version control.
var starting = []string{
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout",
	".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".envrc",
	".xprofile", ".xsessionrc", ".xsession", ".xinitrc", ".pam_environment",
	".tmux.conf", ".screenrc",
	".gitconfig", ".hgrc", "hgrc",
	".vimrc", ".gvimrc", ".exrc", ".nvimrc", ".nvim.lua", ".vim", ".emacs", ".emacs.d", ".dir-locals.el", ".dir-locals-2.el",
	".gdbinit", ".lldbinit", ".pryrc", ".irbrc", ".rprofile", ".curlrc", ".wgetrc",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".bazelrc",
	".mise.toml", ".mise", ".pre-commit-config.yaml", ".lefthook.yml", ".lefthook.yaml",
	".mcp.json", ".cursorrules", ".windsurfrules", ".clinerules",
}

// instructing lists the files with instructions for agents. All later sessions obey the text that one
// session writes there.
var instructing = []string{"agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md", "copilot-instructions.md"}

// folder is one whose files programs run, or read for what to run, when a folder is opened,
// something is committed, or somebody logs in.
type folder struct {
	names  []string // in it that count, with slashes where they are deeper; nil: all
	shared bool     // the folder itself does not count: many programs have something in it
}

var hooked = map[string]folder{
	".dragoman":     {},
	".eca":          {},
	".husky":        {},
	".devcontainer": {},
	".idea":         {},
	".vscode":       {names: []string{"settings.json", "tasks.json", "launch.json", "mcp.json"}},
	".cursor":       {names: []string{"mcp.json", "hooks.json", "rules", "commands"}},
	".windsurf":     {names: []string{"rules", "workflows"}},
	".zed":          {names: []string{"settings.json", "tasks.json", "debug.json"}},
	".claude":       {names: []string{"settings.json", "settings.local.json", "hooks", "commands", "agents", "skills"}},
	".agents":       {names: []string{"skills"}},
	".codex":        {names: []string{"config.toml", "hooks.json", "prompts"}},
	".gemini":       {names: []string{"settings.json", "commands"}},
	".github":       {names: []string{"workflows", "actions", "instructions", "prompts", "agents", "chatmodes"}, shared: true},
	".cargo":        {names: []string{"config.toml", "config", "env", "bin"}},
	".ssh":          {names: []string{"authorized_keys", "authorized_keys2", "rc", "config", "environment"}},
	".config": {
		names: []string{
			"fish", "dragoman", "eca", "git", "systemd", "autostart", "environment.d", "nvim", "emacs", "mise", "direnv", "nushell",
			"zed", "code/user", "pip", "uv", "gh/config.yml", "starship.toml",
		},
		shared: true,
	},
	".local":        {names: []string{"bin", "share/systemd", "share/applications", "share/dragoman", "lib/systemd"}, shared: true},
	"etc":           {names: []string{"crontab", "cron.d", "cron.daily", "cron.hourly", "cron.weekly", "cron.monthly", "systemd", "profile", "profile.d", "sudoers", "sudoers.d", "ld.so.preload", "rc.local", "init.d"}, shared: true},
	"spool":         {names: []string{"cron", "at"}, shared: true},
	"launchagents":  {},
	"launchdaemons": {},
}

// is reports whether a part of a path is a name, or may be.
type is func(part, name string) bool

// ControlFile reports whether a path, or a folder above it, decides what runs later without
// another question, or instructs agents. It goes by names alone, in lower case and with slashes:
// the file need not exist, and links must already be resolved.
func ControlFile(p string) bool {
	return control(strings.Split(p, "/"), func(part, name string) bool { return part == name })
}

// HoldsControlFiles reports whether a folder with this name, in lower case, has control files among
// others. A link of this name brings those of another folder.
func HoldsControlFiles(name string) bool { return hooked[name].shared }

// maxAlternatives limits the paths that a word with braces may mean.
const maxAlternatives = 512

// MayBeControlFile is ControlFile for a path with wildcards, as the shell knows them. With open they
// stand for text that only the shell knows. A wildcard that leaves less than half of a name
// without a leading dot, as in *.md, does not count.
func MayBeControlFile(p string, open bool) bool {
	words, ok := glob.Alternatives(p, maxAlternatives)
	return !ok || slices.ContainsFunc(words, func(word string) bool {
		return control(strings.Split(word, "/"), func(part, name string) bool { return may(part, name, open) })
	})
}

// may reports whether a part with wildcards may be a name.
func may(part, name string, open bool) bool {
	if !glob.Wild(part) {
		return part == name
	}
	letters := utf8.RuneCountInString(strings.Map(func(r rune) rune {
		if strings.ContainsRune("*?[]", r) {
			return -1
		}
		return r
	}, part))
	if letters == 0 || name[0] != '.' && 2*letters < len(name) {
		return false
	}
	exact, err := glob.Path(glob.Quote(name))
	if err != nil {
		return true
	}
	meets, _ := glob.Meet(glob.Word(part, open), exact)
	return meets
}

func control(parts []string, is is) bool {
	for i, part := range parts {
		rest := parts[i+1:]
		switch {
		case is(part, ".git") || part == "git~1" || strings.Trim(part, "*") == "" && part != "" && len(rest) > 1 && rest[0] == "hooks":
			if gitControl(rest, is) {
				return true
			}
		case hooks(part, rest, is), anyIs(part, starting, is), len(rest) == 0 && anyIs(part, instructing, is):
			return true
		}
	}
	return false
}

func anyIs(part string, names []string, is is) bool {
	return part != "" && slices.ContainsFunc(names, func(name string) bool { return is(part, name) })
}

// hooks reports whether a path below one of the hooked folders counts. The folder
// itself does, since replacing it replaces all of it; but not one of many programs.
func hooks(part string, rest []string, is is) bool {
	if f, ok := hooked[part]; ok {
		return f.counts(rest, is)
	}
	if !glob.Wild(part) {
		return false
	}
	for name, f := range hooked {
		if is(part, name) && f.counts(rest, is) {
			return true
		}
	}
	return false
}

func (f folder) counts(rest []string, is is) bool {
	switch {
	case f.names == nil:
		return true
	case len(rest) == 0:
		return !f.shared
	}
	return slices.ContainsFunc(f.names, func(name string) bool {
		deep := strings.Split(name, "/")
		return len(deep) <= len(rest) && slices.EqualFunc(rest[:len(deep)], deep, is)
	})
}

// gitControl reports whether a path below .git makes git run something. The
// folder itself counts: replacing it replaces all of it.
func gitControl(rest []string, is is) bool {
	if len(rest) == 0 {
		return true
	}
	if anyIs(rest[0], []string{"hooks", "config", "config.worktree", "info", "commondir"}, is) {
		return true
	}
	inner := []string{"hooks", "config", "config.worktree", "commondir", "gitdir"}
	return anyIs(rest[0], []string{"modules", "worktrees"}, is) &&
		slices.ContainsFunc(rest[1:], func(s string) bool { return anyIs(s, inner, is) })
}
