package imports

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"dragoman/cmd/internal/program"
	"dragoman/configs/jsonc"
	"dragoman/core/datadir"
)

// EditorFile is a settings file that may make an editor start us.
type EditorFile struct {
	Editor string
	Path   string
	// entries lists the programs that the settings start; nil: the file is itself a program, and
	// only mentions can be found.
	entries func(settings map[string]any) []Entry
}

// IsProgram reports whether the file is itself a program, in which only mentions can be found.
func (f EditorFile) IsProgram() bool { return f.entries == nil }

// Entries reads the programs that the text of the file starts.
func (f EditorFile) Entries(text []byte) ([]Entry, error) {
	var settings map[string]any
	text, err := jsonc.Plain(text)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return nil, err
	}
	return f.entries(settings), nil
}

// Entry is one program that an editor starts.
type Entry struct {
	Name    string // the name in the settings
	Command string
	Args    []string
	// serves is our command for the editor's protocol. If adds is true, the editor itself adds
	// it.
	serves string
	adds   bool
}

// Ours reports whether an entry means us.
func (e Entry) Ours() bool {
	base := strings.TrimSuffix(strings.ToLower(filepath.Base(e.Command)), ".exe")
	return base == "dragoman" || strings.EqualFold(e.Name, "dragoman")
}

// EditorFiles lists the settings files of editors on this system.
func EditorFiles(p *program.Environment) []EditorFile {
	home := p.Home()
	if home == "" {
		return nil
	}
	in := func(parts ...string) string { return filepath.Join(append([]string{home}, parts...)...) }
	config, apps := settingsFolders(p, home)
	files := []EditorFile{
		{"Zed", filepath.Join(config, "zed", "settings.json"), agentServers},
		{"JetBrains", in(".jetbrains", "acp.json"), agentServers},
	}
	for _, code := range []string{"Code", "Code - Insiders", "VSCodium", "Cursor"} {
		files = append(files, EditorFile{code, filepath.Join(apps, code, "User", "settings.json"), ecaServer})
	}
	files = append(files,
		EditorFile{"Claude Desktop", filepath.Join(apps, "Claude", "claude_desktop_config.json"), mcpServers},
		EditorFile{"Cursor (MCP)", in(".cursor", "mcp.json"), mcpServers},
	)
	for _, path := range []string{
		in(".emacs"), in(".emacs.d", "init.el"), filepath.Join(config, "emacs", "init.el"),
		filepath.Join(config, "doom", "config.el"), in(".doom.d", "config.el"),
	} {
		files = append(files, EditorFile{"Emacs", path, nil})
	}
	for _, path := range []string{filepath.Join(config, "nvim", "init.lua"), filepath.Join(config, "nvim", "init.vim")} {
		files = append(files, EditorFile{"Neovim", path, nil})
	}
	return files
}

// settingsFolders returns the folders for the settings of programs on this system, and for those
// of desktop programs.
func settingsFolders(p *program.Environment, home string) (config, apps string) {
	config = configHome(p, home)
	apps = config
	switch runtime.GOOS {
	case "darwin":
		apps = filepath.Join(home, "Library", "Application Support")
	case "windows":
		if dir := p.Getenv("AppData"); dir != "" {
			config, apps = dir, dir
		}
	}
	return config, apps
}

// configHome returns the folder for settings according to the XDG base directories, on every
// system.
func configHome(p *program.Environment, home string) string {
	if dir := p.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home, ".config")
}

// agentServers reads the settings of Zed and JetBrains.
func agentServers(settings map[string]any) []Entry {
	return programs(settings["agent_servers"], "acp")
}

// mcpServers reads the settings of MCP clients.
func mcpServers(settings map[string]any) []Entry { return programs(settings["mcpServers"], "mcp") }

func programs(v any, serves string) []Entry {
	list, _ := v.(map[string]any)
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(list)) {
		e := Entry{Name: name, serves: serves}
		program, _ := list[name].(map[string]any)
		switch command := program["command"].(type) {
		case string:
			e.Command = command
		case map[string]any: // an older form of Zed's: {"command": {"path": …, "args": […]}}
			program = command
			e.Command, _ = command["path"].(string)
		}
		e.Args = words(program["args"])
		entries = append(entries, e)
	}
	return entries
}

// ecaServer reads the settings of VS Code's ECA extension, which itself adds "server" to the
// command.
func ecaServer(settings map[string]any) []Entry {
	command, _ := settings["eca.serverPath"].(string)
	if command == "" {
		return nil
	}
	return []Entry{{Name: "eca.serverPath", Command: command, serves: "eca", adds: true}}
}

func words(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, w := range list {
		out = append(out, fmt.Sprint(w))
	}
	return out
}

// Problem returns the fault in an Entry that means us, with advice.
func (e Entry) Problem() (problem, hint string) {
	if e.Command == "" {
		return "there is no command", `write "command": "/path/to/dragoman"`
	}
	_, err := exec.LookPath(e.Command)
	switch {
	case err != nil && filepath.IsAbs(e.Command):
		return e.Command + " cannot be started: " + program.Reason(err), "write the path of the program, see above"
	case err != nil:
		return e.Command + " is not on this PATH, and a desktop's may be shorter still", "write an absolute path, see above"
	case e.adds:
		return "", ""
	}
	speaks := ""
	for _, w := range e.Args {
		if !strings.HasPrefix(w, "-") {
			speaks = w
			break
		}
	}
	if speaks != e.serves {
		args := strings.Join(e.Args, " ")
		return fmt.Sprintf("the arguments are [%s]; this editor speaks to \"dragoman %s\"", args, e.serves),
			fmt.Sprintf(`write "args": [%q]`, e.serves)
	}
	return "", ""
}

// ReadFile reads a settings file of reasonable size.
func ReadFile(path string) ([]byte, error) {
	data, _, err := datadir.Read(path, 4<<20)
	return data, err
}
