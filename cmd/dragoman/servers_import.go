package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
)

// importing is what a person wants of an import.
type importing struct{ dryRun, replace, yes bool }

func (a *app) mcpServersImport() *cobra.Command {
	var how importing
	cmd := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Take over the servers of another program's settings",
		Long: `Take over the MCP servers of another program's settings: Claude Desktop's and Claude Code's,
Cursor's, VS Code's (mcp.json and settings.json), Zed's and ECA's, comments in them included.
What they replace in texts is translated: ${env:NAME} stays, ${workspaceFolder} becomes the folder
of each session, and what VS Code asks you for becomes a variable of the environment. What cannot
be translated is said, and the other servers are taken over; the exit code is 1 then. Servers that
are in the configuration already stay as they are.

${file:…} and ${cmd:…} read a file or run a program whenever a value is needed. They are kept from
ECA's own settings only, after you have seen them and agreed; anywhere else they are plain text.

Without FILE: list the places where such settings are found, and change nothing.`,
		Example: `  dragoman mcp-servers import
  dragoman mcp-servers import ~/.cursor/mcp.json --dry-run
  dragoman mcp-servers import .vscode/mcp.json --replace`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.begin(func(ctx context.Context, args []string) error {
			if len(args) == 0 {
				return a.showForeignPlaces()
			}
			return a.importServers(ctx, args[0], how)
		}),
	}
	cmd.Flags().BoolVarP(&how.dryRun, "dry-run", "n", false, "only show what would be written")
	cmd.Flags().BoolVarP(&how.yes, "yes", "y", false, "keep what reads files or runs programs, without being asked about it")
	cmd.Flags().BoolVar(&how.replace, "replace", false, "change the entries that have the names")
	return cmd
}

// importServers takes over what a file holds.
func (a *app) importServers(ctx context.Context, file string, how importing) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("find %s: %w", file, err)
	}
	text, err := readSettings(path)
	if err != nil {
		return fmt.Errorf("read %s: %s", file, program.Reason(err))
	}
	list, err := readForeign(path, text, a.Lookup)
	if err != nil {
		return err
	}
	config, err := a.LoadConfig(nil)
	if _, missing := os.Stat(a.ConfigFile()); errors.Is(missing, fs.ErrNotExist) {
		config, err = configs.Defaults(), nil // it is made then
	}
	if err != nil {
		return fmt.Errorf("the configuration is wrong:\n%w", err)
	}
	good, failed := a.sift(list, config, how.replace)
	if agreed, err := a.mayReach(good, how); err != nil || !agreed {
		return errors.Join(err, a.takeOver(ctx, nil, how.dryRun))
	}
	if err := a.takeOver(ctx, good, how.dryRun); err != nil {
		return err
	}
	for _, s := range good {
		for _, note := range s.notes {
			fmt.Fprintf(a.Err, "note: %s: %s\n", s.name, printable(note))
		}
		if how.dryRun {
			a.servers.WarnOfSecrets(s.name, s.server)
		} else {
			a.servers.Warn(s.name, s.server)
		}
	}
	if failed {
		return program.ErrReported
	}
	return nil
}

// mayReach shows which files and programs the servers' values come from, and asks whether that is
// wanted.
func (a *app) mayReach(good []foreignServer, how importing) (bool, error) {
	n := 0
	for _, s := range good {
		for _, what := range s.reaches {
			n++
			fmt.Fprintf(a.Out, "%s: %s\n", s.name, what)
		}
	}
	if n == 0 || how.dryRun || how.yes {
		return true, nil
	}
	agreed, err := terminal.Confirm(a.Environment, "This happens whenever the value is needed. Import these servers?")
	if err != nil {
		return false, fmt.Errorf("the servers want to read files or run programs: %w", err)
	}
	return agreed, nil
}

// sift leaves the servers that are to be written, and says of the others why they are
// not.
func (a *app) sift(list []foreignServer, c *configs.Config, replace bool) (good []foreignServer, failed bool) {
	for _, s := range list {
		have, taken := c.MCPServers[s.name]
		twice := slices.ContainsFunc(good, func(o foreignServer) bool { return o.name == s.name })
		if s.err == nil {
			_, s.err = configs.Apply("", nil, nil, configs.AddServer(s.name, s.server))
		}
		switch {
		case s.err == nil && twice:
			s.err = errors.New("another server of the file has this name")
		case s.err == nil && taken && have.Means(s.server):
			fmt.Fprintf(a.Out, "%s is in the configuration already\n", s.name)
			continue
		case s.err == nil && taken && !replace:
			fmt.Fprintf(a.Out, "%s is in the configuration already, with other settings; --replace changes it\n", s.name)
			continue
		}
		if s.err != nil {
			failed = true
			fmt.Fprintf(a.Err, "not imported: %s: %s\n", s.name, printable(s.err.Error()))
			continue
		}
		good = append(good, s)
	}
	return good, failed
}

// takeOver writes servers into the configuration, or shows them.
func (a *app) takeOver(ctx context.Context, good []foreignServer, dryRun bool) error {
	if len(good) == 0 {
		fmt.Fprintln(a.Out, "Nothing was changed.")
		return nil
	}
	all := map[string]configs.MCPServer{}
	var edits []configs.Edit
	var names []string
	for _, s := range good {
		all[s.name] = s.server
		names = append(names, s.name)
		edits = append(edits, configs.PutServer(s.name, s.server))
	}
	if dryRun {
		fmt.Fprintf(a.Out, "# would be written to %s, secrets in full\n%s", a.ConfigFile(), configs.ShowServers(all))
		return nil
	}
	path, err := a.servers.Edit(ctx, nil, edits...)
	if err == nil {
		fmt.Fprintf(a.Out, "imported %s into %s\n\"dragoman mcp-servers list\" tries them.\n", strings.Join(names, ", "), path)
	}
	return err
}

// foreignPlace is where a program keeps settings that can be imported.
type foreignPlace struct{ program, path string }

// foreignPlaces lists them for this system, those of the folder we are in last.
func (a *app) foreignPlaces() []foreignPlace {
	var places []foreignPlace
	if home := a.Home(); home != "" {
		config, apps := a.settingsFolders(home)
		places = append(places,
			foreignPlace{"Claude Desktop", filepath.Join(apps, "Claude", "claude_desktop_config.json")},
			foreignPlace{"Claude Code", filepath.Join(home, ".claude.json")},
			foreignPlace{"Cursor", filepath.Join(home, ".cursor", "mcp.json")},
		)
		for _, code := range []string{"Code", "Code - Insiders", "VSCodium"} {
			for _, name := range []string{"mcp.json", "settings.json"} {
				places = append(places, foreignPlace{strings.Replace(code, "Code", "VS Code", 1), filepath.Join(apps, code, "User", name)})
			}
		}
		zed := filepath.Join(config, "zed", "settings.json")
		if runtime.GOOS == "windows" {
			zed = filepath.Join(apps, "Zed", "settings.json")
		}
		eca := filepath.Join(home, ".config")
		if dir := a.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			eca = dir
		}
		places = append(places, foreignPlace{"Zed", zed}, foreignPlace{"ECA", filepath.Join(eca, "eca", "config.json")})
	}
	cwd, err := os.Getwd()
	if err != nil {
		return places
	}
	for _, p := range []foreignPlace{
		{"VS Code", ".vscode/mcp.json"}, {"VS Code", ".vscode/settings.json"}, {"Cursor", ".cursor/mcp.json"}, {"Claude Code", ".mcp.json"}, {"Zed", ".zed/settings.json"}, {"ECA", ".eca/config.json"},
	} {
		p.path = filepath.Join(cwd, filepath.FromSlash(p.path))
		if !slices.ContainsFunc(places, func(o foreignPlace) bool { return o.path == p.path }) {
			places = append(places, p)
		}
	}
	return places
}

// showForeignPlaces lists the settings that are there, and their servers.
func (a *app) showForeignPlaces() error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	found := false
	for _, p := range a.foreignPlaces() {
		text, err := readSettings(p.path)
		if err != nil {
			continue
		}
		list, err := readForeign(p.path, text, a.Lookup)
		if err != nil {
			continue // settings without servers, or in a form that its program cannot read either
		}
		found = true
		var names []string
		for _, s := range list {
			names = append(names, s.name)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.program, p.path, oneLine(strings.Join(append([]string{counted(len(names), "server") + ":"}, names...), " "), 100))
	}
	if !found {
		fmt.Fprintln(a.Out, "No settings with MCP servers were found. Give the file: dragoman mcp-servers import FILE")
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Out, "Nothing was changed. \"dragoman mcp-servers import FILE\" takes the servers of one over.")
	return err
}
