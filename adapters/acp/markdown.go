package acp

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/jsonscan"
)

// Clients render the texts of a tool call as Markdown, and its title, too, unless the call is a
// command or a change of a file. Previews are written as Markdown. Results are not: they are set
// as code, except pages and the answers of agents and MCP servers that are Markdown themselves.

// resultOf returns a text of a call's result, or the output of a running one, for a client with
// that much room. A command's output comes first; a remark may follow.
func resultOf(c core.Call, s string, first bool, room int, v *View) acp.ContentBlock {
	head, note := short(s, room, v)
	if lang, fenced := fenceOf(c, s, first); fenced && !(v.Known.Fences && c.Kind == core.KindRead) {
		head = strings.TrimSuffix(display.Fenced(lang, head), "\n")
	}
	return text(head + note)
}

// fenceOf reports whether a text is set as code, and the language of that.
func fenceOf(c core.Call, s string, first bool) (lang string, fenced bool) {
	switch {
	case c.Kind == core.KindFetch || c.Kind == core.KindThink:
		return "", false
	case first && c.Server == core.Native && c.Kind == core.KindExecute:
		return "console", true
	case c.Server == core.Native && c.Kind == core.KindRead:
		return language(c.Locations), true
	case strings.HasPrefix(s, "{") && json.Valid([]byte(s)):
		return "json", true
	case c.Server != core.Native && isMarkdown(s):
		return "", false
	}
	return "", !harmless(s)
}

// language returns the ending of a file's name, by which clients find its language.
func language(list []core.Location) string {
	if len(list) != 1 {
		return ""
	}
	ext := strings.TrimPrefix(filepath.Ext(list[0].Path), ".")
	if len(ext) > 16 || strings.ContainsFunc(ext, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return ""
	}
	return ext
}

// isMarkdown reports whether a text has a heading or a block of code of its own.
func isMarkdown(s string) bool {
	return slices.ContainsFunc(strings.Split(s, "\n"), func(line string) bool {
		rest := strings.TrimLeft(line, "#")
		level := len(line) - len(rest)
		return level > 0 && level <= 6 && strings.HasPrefix(rest, " ") || strings.HasPrefix(line, "```")
	})
}

// harmless reports whether Markdown shows a text as it is: one line, without a sign that has a
// meaning there.
func harmless(s string) bool {
	s = strings.TrimSpace(s)
	rest := strings.TrimLeft(s, "0123456789")
	list := rest != s && rest != "" && strings.ContainsRune(".)", rune(rest[0])) || s != "" && strings.ContainsRune("-+=", rune(s[0]))
	return !list && !strings.ContainsAny(s, "\n\r`*{}[]<>#|~&$") && !display.Emphasis(s)
}

// resultFrom returns the index in a call's content at which its result begins; what is before
// that is the preview. was is the state before: a call that is stopped while it runs keeps its
// output, one that never ran its preview.
func resultFrom(c core.Call, was core.CallState) int {
	last := len(c.Content) - 1
	switch c.State {
	case core.Errored:
		if last >= 0 && c.Content[last] == core.Block(core.Text{Text: c.Why}) {
			return last // it could not run
		}
		return 0
	case core.Succeeded:
		return 0
	case core.Canceled:
		if was == core.Running {
			return 0
		}
	case core.Proposed, core.Awaiting, core.Running, core.Rejected:
	}
	return last + 1
}

// shellTool is the tool of ours that runs commands, planTool the one that changes the plan, askTool the
// one that asks the user.
const (
	shellTool = "shell_command"
	planTool  = "update_plan"
	askTool   = "ask_user"
)

// title returns a call's title. That of a command is the command itself, as clients expect it.
func title(v *View, c core.Call) string {
	var args struct {
		Command, Cwd string
		Background   bool
	}
	switch {
	case c.Server == core.Native && c.Tool == shellTool &&
		json.Unmarshal(c.Args, &args) == nil && args.Command != "":
		s := commandTitle(v.Cwd, args.Command, args.Cwd, args.Background)
		if agent, _, ok := strings.Cut(c.Title, ": "); ok && c.Child != "" { // of a sub-session
			s = agent + ": " + s
		}
		return display.Clipped(s, maxResult)
	case c.Title != "" && v.Known.Counts:
		return display.Clipped(uncounted(c), maxResult)
	case c.Title != "":
		return display.Clipped(c.Title, maxResult)
	case c.Tool != "":
		return c.Tool
	}
	return "a tool"
}

// uncounted returns the title of a call without the counts of the lines that it changes.
func uncounted(c core.Call) string {
	i := strings.LastIndex(c.Title, " (")
	if c.Server != core.Native || c.Kind != core.KindEdit || i < 0 || strings.Trim(c.Title[i+2:], "+−0123456789 )") != "" {
		return c.Title
	}
	return c.Title[:i]
}

// maxCommand limits the characters of a command in a title.
const maxCommand = 160

func commandTitle(root, command, cwd string, background bool) string {
	head, left := display.Clip(command, maxCommand)
	s := display.Visible(head)
	if left > 0 {
		s += " … and " + strconv.Itoa(left) + " more characters"
	}
	if background {
		s += " (in the background)"
	}
	if dir := filepath.Clean(cwd); dir != "." && dir != root {
		s += " (in " + display.Visible(display.Clipped(cwd, maxCommand)) + ")"
	}
	return s
}

// short is cut in two parts: the text, and the note about the rest.
func short(s string, room int, v *View) (head, note string) {
	n := jsonscan.Fit(s, max(room, 1))
	if n == len(s) {
		return s, ""
	}
	if room <= 0 {
		n = 0
	}
	return s[:n], "\n[… " + strconv.Itoa(len(s)-n) + " bytes more; `dragoman sessions show " + string(v.Session) + "` has all of it]"
}
