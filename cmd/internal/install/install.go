package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dragoman/cmd/internal/download"
	"dragoman/cmd/internal/integrity"
	"dragoman/cmd/internal/registry"
	"dragoman/core/datadir"
)

// Installer installs agents.
type Installer struct {
	Dir     string // has the folders of installed agents
	Fetch   download.Fetcher
	Environ func() []string

	limits *limits // nil: usual
}

// Plan describes an installation before it begins, for a person to judge.
type Plan struct {
	Agent   registry.Agent
	Choice  registry.Choice
	Source  string // where it comes from
	Check   string // what its content is compared with
	Needs   string // what it needs of this system; empty: nothing
	Scripts []string
	Command []string // that will be run, once the folder is known (under Folder)
	License string

	bin string // of a package: the path of the program in it
}

// Folder stands in a Plan's Command for the folder that does not exist yet.
const Folder = "<folder>"

// Installed is an agent that was installed.
type Installed struct {
	Folder   integrity.Folder
	Manifest integrity.Manifest
	Command  []string
	Env      map[string]string
	Scripts  []string // install scripts of packages that were not run
}

// Plan finds out what an installation of an agent would do. It downloads no package.
func (i *Installer) Plan(ctx context.Context, a registry.Agent) (Plan, error) {
	c, err := a.Choose()
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Agent: a, Choice: c, License: a.License}
	switch c.Kind {
	case registry.NPM:
		err = i.planNPM(ctx, &p)
		return p, err
	case registry.PyPI:
		err = i.planPyPI(ctx, &p)
		return p, err
	}
	if _, _, err := formOf(c.URL); err != nil {
		return p, fmt.Errorf("agent %s: %w", a.ID, err)
	}
	p.Source = c.URL
	p.Check = "sha256 " + c.SHA256
	if c.SHA256 == "" {
		p.Check = "nothing: the registry has no sha256, so what is downloaded is not verified"
	}
	p.Command = append([]string{filepath.Join(Folder, filepath.FromSlash(c.Program))}, c.Args...)
	return p, nil
}

// Install carries out a plan. scripts is asked whether install scripts of packages may run; nil: they
// may not.
func (i *Installer) Install(ctx context.Context, p Plan, scripts func([]string) (bool, error)) (done Installed, err error) {
	lock, err := i.lock()
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if _, err := sweepLocked(i.Dir); err != nil {
		return done, err
	}
	f, err := i.newFolder(p.Agent)
	if err != nil {
		return done, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Remove())
		}
	}()
	m := integrity.Manifest{
		ID: p.Agent.ID, Name: p.Agent.Name, Version: p.Agent.Version, License: p.License, Source: p.Source, Installed: time.Now().UTC().Truncate(time.Second),
	}
	done = Installed{Folder: f, Env: p.Choice.Env}
	switch p.Choice.Kind {
	case registry.NPM:
		m.Version = p.Choice.Version
		err = i.installNPM(ctx, p, f.Path, &done, scripts)
	case registry.PyPI:
		m.Version = p.Choice.Version
		err = i.installPyPI(ctx, p, f.Path, &done, scripts)
	default:
		m.SHA256, err = i.installArchive(ctx, p, f.Path)
		done.Command = []string{filepath.Join(f.Path, filepath.FromSlash(p.Choice.Program))}
	}
	if err != nil {
		return done, fmt.Errorf("install agent %s: %w", p.Agent.ID, err)
	}
	done.Command = append(done.Command, p.Choice.Args...)
	if m.Files, err = integrity.Scan(ctx, f.Path); err != nil {
		return done, err
	}
	done.Manifest = m
	return done, f.Keep(m)
}

// installArchive downloads an archive or a program, verifies and unpacks it. It returns its SHA-256.
func (i *Installer) installArchive(ctx context.Context, p Plan, dir string) (sum string, err error) {
	most := usual
	if i.limits != nil {
		most = *i.limits
	}
	archive, err := os.CreateTemp(filepath.Dir(dir), ".download-*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, archive.Close(), os.Remove(archive.Name())) }()
	sum, size, err := i.Fetch.File(ctx, p.Choice.URL, most.download, archive)
	if err != nil {
		return "", err
	}
	if want := p.Choice.SHA256; want != "" && sum != want {
		return "", fmt.Errorf("%s is not what the registry says: its SHA-256 is %s, and not %s", p.Choice.URL, sum, want)
	}
	if _, err := archive.Seek(0, 0); err != nil {
		return "", err
	}
	if err := unpack(archive, size, p.Choice.URL, p.Choice.Program, dir, most); err != nil {
		return "", err
	}
	return sum, runnable(dir, p.Choice.Program)
}

// runnable makes a file of a folder a program.
func runnable(dir, name string) error {
	path, err := inside(dir, name)
	if err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

// inside returns the path of a regular file of a folder, with links resolved.
func inside(dir, name string) (string, error) {
	path, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no %s in it", name)
	}
	if err != nil {
		return "", err
	}
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(top, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s leads out of the folder", name)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	return path, err
}

// lock keeps other processes from installing and from removing what is not complete.
func (i *Installer) lock() (*datadir.Lock, error) { return lockAgents(i.Dir) }

func lockAgents(dir string) (*datadir.Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := datadir.TryLock(filepath.Join(dir, ".lock"))
	if errors.Is(err, datadir.ErrHeld) {
		return nil, errors.New("another process installs or removes an agent; try again when it has ended")
	}
	return lock, err
}

// newFolder makes the folder of an installation.
func (i *Installer) newFolder(a registry.Agent) (integrity.Folder, error) {
	dir := filepath.Join(i.Dir, a.ID)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return integrity.Folder{}, err
	}
	for n := 1; ; n++ {
		name := a.Version
		if n > 1 {
			name = fmt.Sprintf("%s-%d", a.Version, n)
		}
		f := integrity.Folder{Path: filepath.Join(dir, name)}
		_, err := f.Manifest()
		if err == nil || strings.HasSuffix(name, ".json") {
			continue
		}
		err = os.Mkdir(f.Path, 0o700)
		if err == nil || !errors.Is(err, fs.ErrExist) || n > 1000 {
			return f, err
		}
	}
}
