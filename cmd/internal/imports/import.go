package imports

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

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core/display"
)

// Configuration is where servers are taken over to.
type Configuration interface {
	// Edit changes the user's configuration, and returns its path. editor may be nil.
	Edit(ctx context.Context, editor *configs.Config, edits ...configs.Edit) (path string, err error)
	// Warn prints what a person should know of an entry that was written, WarnOfSecrets
	// that of one that is only shown.
	Warn(name string, s configs.MCPServer)
	WarnOfSecrets(name string, s configs.MCPServer)
}

// Options say what a person wants of an import.
type Options struct {
	DryRun  bool // only show what would be written
	Replace bool // change entries that have the names
	Yes     bool // keep what reads files or runs programs, without being asked about it
}

// Import takes over what a file holds. It returns program.ErrReported if something of it could not
// be taken over.
func Import(ctx context.Context, p *program.Environment, to Configuration, file string, o Options) error {
	i := importer{p, to, o}
	path, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("find %s: %w", file, err)
	}
	text, err := ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %s", file, program.Reason(err))
	}
	list, err := readServers(path, text, i.Lookup)
	if err != nil {
		return err
	}
	config, err := i.LoadConfig(nil)
	if _, missing := os.Stat(i.ConfigFile()); errors.Is(missing, fs.ErrNotExist) {
		config, err = configs.Defaults(), nil // it is made then
	}
	if err != nil {
		return fmt.Errorf("the configuration is wrong:\n%w", err)
	}
	good, failed := i.sift(list, config)
	if agreed, err := i.mayReach(good); err != nil || !agreed {
		return errors.Join(err, i.takeOver(ctx, nil))
	}
	if err := i.takeOver(ctx, good); err != nil {
		return err
	}
	for _, s := range good {
		for _, note := range s.notes {
			fmt.Fprintf(i.Err, "note: %s: %s\n", s.name, display.Printable(note))
		}
		if i.DryRun {
			i.to.WarnOfSecrets(s.name, s.server)
		} else {
			i.to.Warn(s.name, s.server)
		}
	}
	if failed {
		return program.ErrReported
	}
	return nil
}

// importer is one import.
type importer struct {
	*program.Environment
	to Configuration
	Options
}

// mayReach shows which files and programs the servers' values come from, and asks whether that is
// wanted.
func (i importer) mayReach(good []candidate) (bool, error) {
	n := 0
	for _, s := range good {
		for _, what := range s.reaches {
			n++
			fmt.Fprintf(i.Out, "%s: %s\n", s.name, what)
		}
	}
	if n == 0 || i.DryRun || i.Yes {
		return true, nil
	}
	agreed, err := terminal.Confirm(i.Environment, "This happens whenever the value is needed. Import these servers?")
	if err != nil {
		return false, fmt.Errorf("the servers want to read files or run programs: %w", err)
	}
	return agreed, nil
}

// sift leaves the servers that are to be written, and says of the others why they are
// not.
func (i importer) sift(list []candidate, c *configs.Config) (good []candidate, failed bool) {
	for _, s := range list {
		have, taken := c.MCPServers[s.name]
		twice := slices.ContainsFunc(good, func(o candidate) bool { return o.name == s.name })
		if s.err == nil {
			_, s.err = configs.Apply("", nil, nil, configs.AddServer(s.name, s.server))
		}
		switch {
		case s.err == nil && twice:
			s.err = errors.New("another server of the file has this name")
		case s.err == nil && taken && have.Means(s.server):
			fmt.Fprintf(i.Out, "%s is in the configuration already\n", s.name)
			continue
		case s.err == nil && taken && !i.Replace:
			fmt.Fprintf(i.Out, "%s is in the configuration already, with other settings; --replace changes it\n", s.name)
			continue
		}
		if s.err != nil {
			failed = true
			fmt.Fprintf(i.Err, "not imported: %s: %s\n", s.name, display.Printable(s.err.Error()))
			continue
		}
		good = append(good, s)
	}
	return good, failed
}

// takeOver writes servers into the configuration, or shows them.
func (i importer) takeOver(ctx context.Context, good []candidate) error {
	if len(good) == 0 {
		fmt.Fprintln(i.Out, "Nothing was changed.")
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
	if i.DryRun {
		fmt.Fprintf(i.Out, "# would be written to %s, secrets in full\n%s", i.ConfigFile(), configs.ShowServers(all))
		return nil
	}
	path, err := i.to.Edit(ctx, nil, edits...)
	if err == nil {
		fmt.Fprintf(i.Out, "imported %s into %s\n\"dragoman mcp-servers list\" tries them.\n", strings.Join(names, ", "), path)
	}
	return err
}

// place is where a program keeps settings that can be imported.
type place struct{ program, path string }

// places lists them for this system, those of the folder we are in last.
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
				places = append(places, place{strings.Replace(code, "Code", "VS Code", 1), filepath.Join(apps, code, "User", name)})
			}
		}
		zed := filepath.Join(config, "zed", "settings.json")
		if runtime.GOOS == "windows" {
			zed = filepath.Join(apps, "Zed", "settings.json")
		}
		eca := filepath.Join(home, ".config")
		if dir := p.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			eca = dir
		}
		places = append(places, place{"Zed", zed}, place{"ECA", filepath.Join(eca, "eca", "config.json")})
	}
	cwd, err := os.Getwd()
	if err != nil {
		return places
	}
	for _, p := range []place{
		{"VS Code", ".vscode/mcp.json"}, {"VS Code", ".vscode/settings.json"}, {"Cursor", ".cursor/mcp.json"}, {"Claude Code", ".mcp.json"}, {"Zed", ".zed/settings.json"}, {"ECA", ".eca/config.json"},
	} {
		p.path = filepath.Join(cwd, filepath.FromSlash(p.path))
		if !slices.ContainsFunc(places, func(o place) bool { return o.path == p.path }) {
			places = append(places, p)
		}
	}
	return places
}

// ShowPlaces lists the settings that are there, and their servers.
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
			continue // settings without servers, or in a form that its program cannot read either
		}
		found = true
		var names []string
		for _, s := range list {
			names = append(names, s.name)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", at.program, at.path, display.Line(strings.Join(append([]string{display.Counted(len(names), "server") + ":"}, names...), " "), 100))
	}
	if !found {
		fmt.Fprintln(p.Out, "No settings with MCP servers were found. Give the file: dragoman mcp-servers import FILE")
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.Out, "Nothing was changed. \"dragoman mcp-servers import FILE\" takes the servers of one over.")
	return err
}
