package imports

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/terminal"
	"dragoman/configs"
	"dragoman/core/display"
)

// Configuration receives the servers of an import.
type Configuration interface {
	// Edit changes the user's mcp.json, and returns its path.
	Edit(ctx context.Context, edits ...configs.Edit) (path string, err error)
	// Warn prints warnings about an entry that was written, WarnOfSecrets those about one that is
	// only shown.
	Warn(name string, s configs.MCPServer)
	WarnOfSecrets(name string, s configs.MCPServer)
}

// Options are the user's choices for an import.
type Options struct {
	DryRun  bool // only show the new entries
	Replace bool // change existing entries of the same names
	Yes     bool // keep references that read files or run programs, without a question
}

// Import imports the servers in a file. It returns program.ErrReported if some of them could not
// be imported.
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
	read, err := readServers(path, currentFolder(), text, i.Lookup)
	if err != nil {
		return err
	}
	for _, note := range read.notes {
		fmt.Fprintf(i.Err, "note: %s\n", display.Printable(note))
	}
	config, err := i.LoadConfig(nil)
	if err != nil && absent(i.ConfigFile()) && absent(i.ServersFile()) {
		config, err = configs.Defaults(), nil // mcp.json will be created
	}
	if err != nil {
		return program.ConfigError(err)
	}
	good, failed := i.sift(read.servers, config)
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

// currentFolder returns the working folder; "": it is not known.
func currentFolder() string {
	cwd, err := os.Getwd()
	if err != nil {
		return ""
	}
	return cwd
}

// absent reports whether a file is missing.
func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// importer is one import.
type importer struct {
	*program.Environment
	to Configuration
	Options
}

// mayReach shows the files and programs that the servers' values come from, and asks for consent.
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
	agreed, err := terminal.Confirm(
		i.Environment,
		"This happens whenever the value is needed. Import these servers?",
	)
	if err != nil {
		return false, fmt.Errorf("the servers want to read files or run programs: %w", err)
	}
	return agreed, nil
}

// sift returns the servers that are to be written, and gives the reasons for leaving out the
// others.
func (i importer) sift(list []candidate, c *configs.Config) (good []candidate, failed bool) {
	for _, s := range list {
		if s.skip != "" {
			fmt.Fprintf(i.Out, "%s %s, and is left out\n", s.name, s.skip)
			continue
		}
		have, taken := c.Server(s.name)
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
		case s.err == nil && taken && c.ServerAt(s.name).File != c.ServersFile:
			why := fmt.Sprintf("is configured in %s with other settings, and no command changes that file", c.ServerAt(s.name))
			if !i.Replace {
				fmt.Fprintf(i.Out, "%s %s\n", s.name, why)
				continue
			}
			s.err = errors.New("it " + why)
		case s.err == nil && taken && !i.Replace:
			fmt.Fprintf(
				i.Out,
				"%s is in the configuration already, with other settings; --replace changes it\n",
				s.name,
			)
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
		fmt.Fprintf(i.Out, "// would be written to %s, secrets in full\n%s", i.ServersFile(), configs.ShowServers(all))
		return nil
	}
	path, err := i.to.Edit(ctx, edits...)
	if err == nil {
		fmt.Fprintf(
			i.Out,
			"imported %s into %s\n\"dragoman mcp-servers list\" tries them.\n",
			strings.Join(names, ", "),
			path,
		)
	}
	return err
}
