package doctor

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/configs"
	"dragoman/core/display"
)

func (d *Doctor) examineConfig(ctx context.Context, c *configs.Config, err error) section {
	s := section{title: "Configuration"}
	path := d.env.ConfigFile()
	var problems *configs.Error
	switch {
	case errors.As(err, &problems):
		for _, p := range problems.Problems {
			s.add(wrong, "%s", p)
		}
	case err != nil:
		s.add(wrong, "%v", err)
	case path == "":
		s.add(look, "HOME is not set, so there is no default path").hint = "give one with --config"
	case c.Source == "" && (c.ServersFile != "" || c.AgentsFile != ""):
	case c.Source == "":
		s.add(plain, "no file; the defaults apply (it would be %s)", path).hint = "\"dragoman config init\" writes a commented one"
	default:
		s.add(fine, "%s", c.Source)
	}
	for _, file := range []string{c.ServersFile, c.AgentsFile} {
		if file != "" {
			s.add(fine, "%s", file)
		}
	}
	for _, w := range c.Warnings {
		s.add(look, "%s", w)
	}
	d.examineLog(&s, c)
	if n := len(c.ServerNames()); n > 0 {
		s.add(plain, "%s, started by the sessions that use them", display.Counted(n, "MCP server")).hint = "\"dragoman mcp-servers list\" tries them"
	}
	d.mentionAgents(ctx, &s, c)
	if kept, ok := d.secrets.ServerLogins(); ok {
		for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
			if where := kept.Where(ctx, name); where != "" {
				s.add(plain, "the login to the MCP server %s is kept %s", name, where)
			}
		}
	}
	if cwd, err := os.Getwd(); err == nil {
		if path, there := configs.WorkspaceFile(cwd); there {
			s.add(look, "%s is there, but this version does not read it", path).hint = "a workspace's file counts only once its workspace is trusted"
		}
	}
	return s
}

// examineLog checks the log file.
func (d *Doctor) examineLog(s *section, c *configs.Config) {
	path, from, bad := d.env.Flags.LogFile, "--log-file", wrong // without it nothing starts
	if path == "" {
		from, bad = "log.file", look // without it the log stays on standard error
		var err error
		if path, err = c.Log.File.ResolvePath(d.env.Lookup); err != nil {
			s.add(bad, "log.file: %v", err)
		}
	}
	if path == "" {
		return
	}
	if err := tryLogFile(path); err != nil {
		s.add(bad, "the log cannot be written: %v", err).hint = "name another file in " + from
		return
	}
	s.add(fine, "the log is appended to %s", path)
}

// tryLogFile checks that a log can be appended to a file, and leaves nothing behind.
func tryLogFile(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		dir, err := os.MkdirTemp(existing(filepath.Dir(path)), "doctor-")
		if err != nil {
			return err
		}
		return os.Remove(dir)
	}
	if err != nil || info.Mode()&fs.ModeNamedPipe != 0 { // a pipe is opened when it is read
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func (d *Doctor) examineModel(ctx context.Context, c *configs.Config, configErr error) section {
	s := section{title: "Model"}
	given := d.secrets.Logins()
	choice := c.ChooseModel(d.env.Lookup, given)
	if configErr != nil {
		s.add(look, "until the configuration is mended no prompt is answered; without it this would be chosen:")
	}
	switch {
	case choice.Offline() && c.Model != "":
		s.add(fine, "%s, because %s", choice, choice.Reason)
	case choice.Offline():
		s.add(look, "%s, because %s", choice, choice.Reason).hint = "it is not a language model: set one of the keys below, or \"model\" in the configuration"
	default:
		s.add(fine, "%s, because %s", choice, choice.Reason)
		if err := c.CheckKey(choice.Provider, d.env.Lookup, given); err != nil {
			s.add(wrong, "%v", err)
		}
		if address, err := choice.Settings.BaseURL.Resolve(d.env.Lookup); err != nil {
			s.add(wrong, "%v", err)
		} else if address != "" {
			s.add(plain, "reached at %s (not tried)", address)
		}
	}
	var missing []string
	for _, l := range choice.Places {
		switch {
		case l.Variable == "":
			if _, err := given.Key(ctx, l.Provider); err != nil {
				s.add(wrong, "%v", err).hint = "dragoman login " + l.Provider
			} else {
				s.add(fine, "a key is stored for %s, %s", l.Provider, given.Where(ctx, l.Provider))
			}
		case l.Found:
			s.add(fine, "%s is set", l.Variable)
		case l.Note != "":
			s.add(look, "%s: %s", l.Variable, l.Note)
		default:
			missing = append(missing, l.Variable)
		}
	}
	if len(missing) > 0 {
		s.add(plain, "not set: %s", strings.Join(missing, ", ")).hint = "programs started from a desktop do not see the shell's variables; \"dragoman login PROVIDER\" takes a key for everybody, and so does the configuration file"
	}
	if err := given.Check(); err != nil {
		s.add(wrong, "%v", err)
	} else if given.Shared() {
		s.add(wrong, "others can read the keys in %s", given.Path()).hint = "chmod 600 " + given.Path()
	}
	return s
}
