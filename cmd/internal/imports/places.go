package imports

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"dragoman/cmd/internal/program"
	"dragoman/core/display"
)

// place is a settings file of a program that can be imported.
type place struct{ program, path string }

// places lists them for this system; those of the current folder come last.
func places(p *program.Environment) []place {
	var places []place
	if home := p.Home(); home != "" {
		config, apps := settingsFolders(p, home)
		places = append(places,
			place{"Claude Desktop", filepath.Join(apps, "Claude", "claude_desktop_config.json")},
			place{"Claude Code", filepath.Join(home, ".claude.json")},
			place{"Cursor", filepath.Join(home, ".cursor", "mcp.json")},
		)
		for _, code := range []string{"Code", "Code - Insiders", "VSCodium"} {
			for _, name := range []string{"mcp.json", "settings.json"} {
				places = append(
					places,
					place{strings.Replace(code, "Code", "VS Code", 1), filepath.Join(apps, code, "User", name)},
				)
			}
		}
		zed := filepath.Join(config, "zed", "settings.json")
		if runtime.GOOS == "windows" {
			zed = filepath.Join(apps, "Zed", "settings.json")
		}
		eca := filepath.Join(configHome(p, home), "eca", "config.json")
		goose := filepath.Join(configHome(p, home), "goose", "config.yaml")
		if runtime.GOOS == "windows" {
			goose = filepath.Join(apps, "Block", "goose", "config", "config.yaml")
		}
		codex := filepath.Join(home, ".codex")
		if dir := p.Getenv("CODEX_HOME"); filepath.IsAbs(dir) {
			codex = dir
		}
		opencode := filepath.Join(configHome(p, home), "opencode")
		places = append(
			places,
			place{"Zed", zed}, place{"ECA", eca},
			place{"Codex", filepath.Join(codex, "config.toml")},
			place{"Gemini CLI", filepath.Join(home, ".gemini", "settings.json")},
			place{"Goose", goose},
			place{"opencode", filepath.Join(opencode, "opencode.json")},
			place{"opencode", filepath.Join(opencode, "opencode.jsonc")},
			place{"Windsurf", filepath.Join(home, ".codeium", "windsurf", "mcp_config.json")},
		)
	}
	cwd := currentFolder()
	if cwd == "" {
		return places
	}
	for _, p := range []place{
		{"VS Code", ".vscode/mcp.json"},
		{"VS Code", ".vscode/settings.json"},
		{"Cursor", ".cursor/mcp.json"},
		{"Claude Code", ".mcp.json"},
		{"Zed", ".zed/settings.json"},
		{"ECA", ".eca/config.json"},
		{"Codex", ".codex/config.toml"},
		{"Gemini CLI", ".gemini/settings.json"},
		{"opencode", "opencode.json"},
		{"opencode", "opencode.jsonc"},
		{"opencode", ".opencode/opencode.json"},
		{"opencode", ".opencode/opencode.jsonc"},
		{"the registry's form", "server.json"},
	} {
		p.path = filepath.Join(cwd, filepath.FromSlash(p.path))
		if !slices.ContainsFunc(places, func(o place) bool { return o.path == p.path }) {
			places = append(places, p)
		}
	}
	return places
}

// ShowPlaces lists the existing settings files, and their servers.
func ShowPlaces(p *program.Environment) error {
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	found := false
	var notes []string
	for _, at := range places(p) {
		text, err := ReadFile(at.path)
		if err != nil {
			continue
		}
		read, err := readServers(at.path, currentFolder(), text, p.Lookup)
		if err != nil || len(read.servers)+len(read.notes) == 0 {
			continue // settings without servers, or unreadable for their program, too
		}
		found = true
		said := display.Counted(len(read.servers), "server") + ":"
		for _, s := range read.servers {
			said += " " + s.name
		}
		for _, note := range read.notes {
			notes = append(notes, at.path+": "+note)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", at.program, at.path, display.Line(said, 100))
	}
	if !found {
		fmt.Fprintln(
			p.Out,
			"No settings with MCP servers were found. Give the file: dragoman mcp-servers import FILE",
		)
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(p.Out, display.Printable(note))
	}
	_, err := fmt.Fprintln(
		p.Out,
		"Nothing was changed. \"dragoman mcp-servers import FILE\" takes the servers of one over.",
	)
	return err
}
