package policy

import (
	"slices"
	"strings"
)

// later are commands, by their words, that decide what runs later without another question: they
// change control files under names of their own. They end where a word is "*".
var later = [][]string{
	{"crontab"},
	{"at"},
	{"batch"},
	{"chsh"},
	{"systemctl", "enable"},
	{"systemctl", "--user", "enable"},
	{"systemctl", "link"},
	{"systemctl", "--user", "link"},
	{"systemd-run"},
	{"launchctl", "load"},
	{"launchctl", "bootstrap"},
	{"npm", "config", "set"},
	{"npm", "set"},
	{"pnpm", "config", "set"},
	{"yarn", "config", "set"},
	{"pip", "config", "set"},
	{"go", "env", "-w"},
	{"direnv", "allow"},
	{"mise", "trust"},
	{"dragoman", "config"},
	{"dragoman", "mcp-servers"},
	{"dragoman", "agents"},
	{"dragoman", "policy"},
	{"dragoman", "token"},
	{"dragoman", "login"},
	{"dragoman", "logout"},
}

// gitRuns matches settings of git that decide what it runs, or where it takes more settings from.
var gitRuns = matcher(`^(core\.(fsmonitor|hookspath|editor|pager|sshcommand|gitproxy|askpass|attributesfile|excludesfile|worktree|alternaterefscommand)$|` +
	`(alias|filter|diff|merge|mergetool|difftool|credential|pager|sequence|gpg|include|includeif|url|submodule|browser|man|guitool|http|protocol|uploadpack|sendemail|interactive|instaweb|web|trailer|ssh|hook|fsmonitor)\.|` +
	`init\.templatedir$|remote\..*\.(uploadpack|receivepack|vcs|proxy)$)`)

// settles returns the words of a command that decides what runs later; "": none does.
func (l *line) settles() string {
	for _, c := range l.commands {
		most := 1
		if c.any {
			most = min(len(c.words), maxParts)
		}
		for i := range most {
			if words := settling(c.words[i:]); words != "" {
				return words
			}
		}
	}
	return ""
}

// settling returns the words at the beginning of a command that decides what runs later.
func settling(list []word) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = fold(w.text)
	}
	if len(words) == 1 {
		words = strings.Fields(words[0]) // a piece of a line that could not be parsed
	}
	if len(words) == 0 {
		return ""
	}
	words[0] = programOf(words[0])
	for _, known := range later {
		if len(words) >= len(known) && slices.Equal(words[:len(known)], known) && !(known[0] == "crontab" && slices.Contains(words, "-l")) {
			return strings.Join(known, " ")
		}
	}
	if words[0] == "git" && setsGit(words[1:]) {
		return "git config"
	}
	return ""
}

// setsGit reports whether the words of a git command change a setting that decides what git runs.
func setsGit(words []string) bool {
	for len(words) > 0 && words[0] != "config" {
		if !optional(words[0]) {
			return false
		}
		if (words[0] == "-c" || words[0] == "-C") && len(words) > 1 {
			words = words[1:]
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	operands := 0
	for _, w := range words[1:] {
		switch {
		case w == "-e" || w == "--edit" || w == "edit":
			return true
		case strings.HasPrefix(w, "--get"), w == "-l", w == "--list", operands == 0 && (w == "get" || w == "list"):
			return false
		case !optional(w) && w != "set":
			operands++
		}
	}
	return operands != 1 && slices.ContainsFunc(words[1:], func(w string) bool { return gitRuns().MatchString(w) || strings.ContainsRune(w, ' ') })
}
