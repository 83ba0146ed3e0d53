package imports

import (
	"fmt"
	"os"
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
		places = append(places, place{"Zed", zed}, place{"ECA", eca})
	}
	cwd, err := os.Getwd()
	if err != nil {
		return places
	}
	for _, p := range []place{
		{"VS Code", ".vscode/mcp.json"},
		{"VS Code", ".vscode/settings.json"},
		{"Cursor", ".cursor/mcp.json"},
		{"Claude Code", ".mcp.json"},
		{"Zed", ".zed/settings.json"},
		{"ECA", ".eca/config.json"},
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
	for _, at := range places(p) {
		text, err := ReadFile(at.path)
		if err != nil {
			continue
		}
		list, err := readServers(at.path, text, p.Lookup)
		if err != nil {
			continue // settings without servers, or unreadable for their program, too
		}
		found = true
		said := display.Counted(len(list), "server") + ":"
		for _, s := range list {
			said += " " + s.name
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
	_, err := fmt.Fprintln(
		p.Out,
		"Nothing was changed. \"dragoman mcp-servers import FILE\" takes the servers of one over.",
	)
	return err
}
