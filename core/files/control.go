package files

import (
	"slices"
	"strings"
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

// ControlFile reports whether a path, or a folder above it, decides what runs later without
// another question, or instructs agents. It goes by names alone, in lower case and with slashes:
// the file need not exist, and links must already be resolved.
func ControlFile(p string) bool {
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
