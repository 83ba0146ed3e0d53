package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"dragoman/cmd/internal/program"
)

// editorFile is a settings file in which an editor may be told to start us.
type editorFile struct {
	editor string
	path   string
	// entries are the programs that the settings start; nil: the file is a program
	// of its own, and only mentions can be found.
	entries func(settings map[string]any) []entry
}

// entry is one program that an editor starts.
type entry struct {
	name    string // what the settings call it
	command string
	args    []string
	// serves is the command of ours that speaks the editor's protocol. The editor
	// adds it by itself where adds is true.
	serves string
	adds   bool
}

// ours tells whether an entry means us.
func (e entry) ours() bool {
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(e.command)), ".exe")
	return base == "dragoman" || strings.EqualFold(e.name, "dragoman")
}

// editorFiles lists the places of settings on this system.
func (a *app) editorFiles() []editorFile {
	home := a.Home()
	if home == "" {
		return nil
	}
	in := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	config, apps := a.settingsFolders(home)
	files := []editorFile{
		{"Zed", filepath.Join(config, "zed", "settings.json"), agentServers},
		{"JetBrains", in(".jetbrains", "acp.json"), agentServers},
	}
	for _, code := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor"} {
		files = append(files, editorFile{code, filepath.Join(apps, code, "User", "settings.json"), ecaServer})
	}
	files = append(files,
		editorFile{"Claude Desktop", filepath.Join(apps, "Claude", "claude_desktop_config.json"), mcpServers},
		editorFile{"Cursor (MCP)", in(".cursor", "mcp.json"), mcpServers},
	)
	for _, path := range []string{in(".emacs"), in(".emacs.d", "init.el"), filepath.Join(config, "emacs", "init.el"), filepath.Join(config, "doom", "config.el"), in(".doom.d", "config.el")} {
		files = append(files, editorFile{"Emacs", path, nil})
	}
	for _, path := range []string{filepath.Join(config, "nvim", "init.lua"), filepath.Join(config, "nvim", "init.vim")} {
		files = append(files, editorFile{"Neovim", path, nil})
	}
	return files
}

// settingsFolders are where programs keep settings on this system, and where desktop
// programs do.
func (a *app) settingsFolders(home string) (config, apps string) {
	config = filepath.Join(home, ".config")
	if dir := a.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		config = dir
	}
	apps = config
	switch runtime.GOOS {
	case "darwin":
		apps = filepath.Join(home, "Library", "Application Support")
	case "windows":
		if dir := a.Getenv("AppData"); dir != "" {
			config, apps = dir, dir
		}
	}
	return config, apps
}

// agentServers reads the settings of Zed and JetBrains.
func agentServers(settings map[string]any) []entry {
	return programs(settings["agent_servers"], "acp")
}

// mcpServers reads the settings of MCP clients.
func mcpServers(settings map[string]any) []entry { return programs(settings["mcpServers"], "mcp") }

func programs(v any, serves string) []entry {
	list, _ := v.(map[string]any)
	var entries []entry
	for _, name := range slices.Sorted(maps.Keys(list)) {
		e := entry{name: name, serves: serves}
		program, _ := list[name].(map[string]any)
		switch command := program["command"].(type) {
		case string:
			e.command = command
		case map[string]any: // an older form of Zed's: {"command": {"path": …, "args": […]}}
			program = command
			e.command, _ = command["path"].(string)
		}
		e.args = words(program["args"])
		entries = append(entries, e)
	}
	return entries
}

// ecaServer reads the settings of VS Code's ECA extension, which adds "server" to
// the command by itself.
func ecaServer(settings map[string]any) []entry {
	command, _ := settings["eca.serverPath"].(string)
	if command == "" {
		return nil
	}
	return []entry{{name: "eca.serverPath", command: command, serves: "eca", adds: true}}
}

func words(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, w := range list {
		out = append(out, fmt.Sprint(w))
	}
	return out
}

// examineEditors looks into the settings of editors.
func (a *app) examineEditors() section {
	s := section{title: "Editors"}
	home := a.Home()
	for _, f := range a.editorFiles() {
		text, err := readSettings(f.path)
		switch where := f.editor + ": " + short(f.path, home); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			s.add(look, "%s: %v", where, err)
		case f.entries == nil:
			if line := lineOf(text, "dragoman"); line > 0 {
				s.add(fine, "%s mentions dragoman (line %d)", where, line)
			}
		default:
			a.examineEntries(&s, f, where, text)
		}
	}
	if len(s.findings) == 0 {
		s.add(plain, "no editor's settings were found that start an agent").hint = "\"dragoman demo\" prints what to paste into yours"
	}
	return s
}

func (a *app) examineEntries(s *section, f editorFile, where string, text []byte) {
	var settings map[string]any
	if err := json.Unmarshal(plainJSON(text), &settings); err != nil {
		if line := lineOf(text, "dragoman"); line > 0 {
			s.add(wrong, "%s mentions dragoman (line %d) and cannot be read: %v", where, line, err)
		}
		return
	}
	var others []string
	for _, e := range f.entries(settings) {
		if !e.ours() {
			others = append(others, e.name)
			continue
		}
		if problem, hint := e.problem(); problem != "" {
			s.add(wrong, "%s: %s: %s", where, e.name, problem).hint = hint
		} else {
			s.add(fine, "%s starts %s", where, strings.Join(append([]string{e.command}, e.args...), " "))
		}
	}
	if len(others) > 0 {
		s.add(plain, "%s starts others: %s", where, strings.Join(others, ", "))
	}
}

// problem says what is wrong with an entry that means us, and what to do.
func (e entry) problem() (problem, hint string) {
	if e.command == "" {
		return "there is no command", `write "command": "/path/to/dragoman"`
	}
	_, err := exec.LookPath(e.command)
	switch {
	case err != nil && filepath.IsAbs(e.command):
		return e.command + " cannot be started: " + program.Reason(err), "write the path of the program, see above"
	case err != nil:
		return e.command + " is not on this PATH, and a desktop's may be shorter still", "write an absolute path, see above"
	case e.adds:
		return "", ""
	}
	speaks := ""
	for _, w := range e.args {
		if !strings.HasPrefix(w, "-") {
			speaks = w
			break
		}
	}
	if speaks != e.serves {
		return fmt.Sprintf("the arguments are [%s]; this editor speaks to \"dragoman %s\"", strings.Join(e.args, " "), e.serves), fmt.Sprintf(`write "args": [%q]`, e.serves)
	}
	return "", ""
}

// readSettings reads a settings file of a sane size.
func readSettings(path string) ([]byte, error) {
	const most = 4 << 20
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, errors.New("is no file of settings")
	}
	return os.ReadFile(path)
}

// lineOf is the line, from 1, in which a word first stands; 0: in none.
func lineOf(text []byte, word string) int {
	before, _, found := strings.Cut(strings.ToLower(string(text)), word)
	if !found {
		return 0
	}
	return strings.Count(before, "\n") + 1
}

// plainJSON takes out what editors allow in their settings beyond JSON: comments,
// and commas before a closing bracket.
func plainJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	comma := -1 // where the last comma stands in out, if only space has followed
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			out = append(out, text[i:end]...)
			i, comma = end-1, -1
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			i += 2
			for i+1 < len(text) && (text[i] != '*' || text[i+1] != '/') {
				i++
			}
			i++
		case (c == '}' || c == ']') && comma >= 0:
			out = append(append(out[:comma], out[comma+1:]...), c)
			comma = -1
		default:
			if c == ',' {
				comma = len(out)
			} else if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				comma = -1
			}
			out = append(out, c)
		}
	}
	return out
}

// stringEnd is the place behind a JSON string that begins at i.
func stringEnd(text []byte, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return len(text)
}
