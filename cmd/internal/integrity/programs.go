package integrity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core/datadir"
	"dragoman/core/display"
)

// Program is a program's file as it was recorded.
type Program struct {
	Path    string    `json:"path"` // with links resolved
	File    File      `json:"file"`
	Version string    `json:"version,omitempty"` // of its package, if that has one
	Seen    time.Time `json:"seen"`
}

// String describes the program for a person.
func (p Program) String() string {
	text := display.Word(p.Path)
	if p.Version != "" {
		text = "version " + display.Line(p.Version, 64) + ", " + text
	}
	return fmt.Sprintf("%s, %d bytes of %s", text, p.File.Size, time.Unix(0, p.File.Time).Format(time.DateTime))
}

// Command is the command of an external agent, about to be started.
type Command struct {
	Agent string
	Words []string // as it is configured, which is what a record belongs to
	Path  string   // of the program
	Args  []string
}

// Change describes a program that differs from its record. A person is asked about it.
type Change struct {
	Agent    string
	Old, New string // the versions, or what is known of the files
}

// Text is the question.
func (c Change) Text() string {
	return fmt.Sprintf("The program of agent %s is not the one that was used before.\n  before: %s\n  now:    %s\nUse it?", c.Agent, c.Old, c.New)
}

// Ask asks a person about a change. An error means that nobody has answered.
type Ask func(context.Context, Change) (bool, error)

// Error says that a changed program is not started.
type Error struct {
	Change
	Why error // nil: a person has refused
}

func (e *Error) Error() string {
	why := "it was not approved"
	if e.Why != nil {
		why = e.Why.Error()
	}
	return fmt.Sprintf("the program of agent %s has changed, and is not started: %s\n  before: %s\n  now:    %s\n\"dragoman agents approve %s\" asks you about it", e.Agent, why, e.Old, e.New, e.Agent)
}

func (e *Error) Unwrap() error { return e.Why }

// errNobody says that there is nobody to ask.
var errNobody = errors.New("no person can be asked here")

// programs are the records, by agent and command.
type programs map[string]Program

// Store keeps the records of programs.
type Store struct {
	dir  string // the folder of installed agents
	file datadir.Document[programs]

	mu     sync.Mutex // guards the field below
	asking map[string]chan struct{}
}

// programsFile is the name of the file in the data folder.
const programsFile = "agent-programs.json"

// lockFor limits the wait for another process that changes the records.
const lockFor = 10 * time.Second

// In returns the records in a data folder; "": there is none, and nothing is compared. dir has the folders
// of installed agents.
func In(data, dir string) *Store {
	s := &Store{dir: dir, asking: map[string]chan struct{}{}}
	if data != "" {
		s.file.Path = filepath.Join(data, programsFile)
	}
	return s
}

// keyOf returns the key of a command's record.
func keyOf(c Command) string { return c.Agent + " " + strings.Join(c.Words, " ") }

// Check returns nil if a command may be started: its program is as it was recorded, or is seen for the
// first time, or ask has agreed. A nil ask means that nobody can be asked.
func (s *Store) Check(ctx context.Context, c Command, ask Ask) error {
	if s.file.Path == "" {
		return nil
	}
	leave, err := s.turn(ctx, c.Agent)
	if err != nil {
		return err
	}
	defer leave()
	for range 3 { // it may change while somebody is asked
		change, agree, err := s.look(ctx, c)
		if err != nil || change == nil {
			return err
		}
		if ask == nil {
			return &Error{*change, errNobody}
		}
		yes, err := ask(ctx, *change)
		if err != nil || !yes {
			return &Error{*change, err}
		}
		if err := agree(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the program of agent %s keeps changing, and is not started", c.Agent)
}

// turn waits until no other start of the agent asks.
func (s *Store) turn(ctx context.Context, agent string) (leave func(), err error) {
	s.mu.Lock()
	turn := s.asking[agent]
	if turn == nil {
		turn = make(chan struct{}, 1) // held by whoever asks
		s.asking[agent] = turn
	}
	s.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// look compares a command's program with the record. It returns the change, and what records it; nil:
// there is none.
func (s *Store) look(ctx context.Context, c Command) (*Change, func(context.Context) error, error) {
	file, err := programFile(c)
	if err != nil {
		return nil, nil, err
	}
	if f, ok := FolderOf(s.dir, file); ok {
		return f.look(ctx, c.Agent)
	}
	all, err := s.file.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("the records of agents' programs cannot be read: %w; fix or remove %s", err, s.file.Path)
	}
	was, known := all[keyOf(c)]
	now, err := programNow(ctx, file, was)
	if err != nil {
		return nil, nil, err
	}
	keep := func(ctx context.Context) error { return s.keep(ctx, keyOf(c), now) }
	switch {
	case !known:
		return nil, nil, keep(ctx)
	case now.Path == was.Path && now.File.SHA256 == was.File.SHA256:
		if now.File != was.File {
			return nil, nil, keep(ctx) // only its times are others
		}
		return nil, nil, nil
	}
	return &Change{Agent: c.Agent, Old: was.String(), New: now.String()}, keep, nil
}

// keep records a program.
func (s *Store) keep(ctx context.Context, key string, p Program) error {
	p.Seen = time.Now().UTC()
	return s.change(ctx, func(all programs) { all[key] = p })
}

func (s *Store) change(ctx context.Context, change func(programs)) error {
	ctx, cancel := context.WithTimeout(ctx, lockFor)
	defer cancel()
	err := s.file.Change(ctx, func(all programs) (programs, error) {
		next := maps.Clone(all)
		if next == nil {
			next = programs{}
		}
		change(next)
		return next, nil
	})
	if err != nil {
		return fmt.Errorf("record the program of an agent: %w", err)
	}
	return nil
}

// Forget removes the records of an agent.
func (s *Store) Forget(ctx context.Context, agent string) error {
	if s.file.Path == "" {
		return nil
	}
	if all, err := s.file.Read(); err != nil || len(all) == 0 {
		return err
	}
	return s.change(ctx, func(all programs) {
		maps.DeleteFunc(all, func(key string, _ Program) bool { return strings.HasPrefix(key, agent+" ") })
	})
}

// look is look of an installed agent.
func (f Folder) look(ctx context.Context, agent string) (*Change, func(context.Context) error, error) {
	m, d, now, err := f.compare(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("the installed agent %s is not started: %w\n\"dragoman agents update %s\" installs it again", agent, err, agent)
	}
	if d.None() {
		if !m.Files.equal(now) {
			m.Files = now
			_ = f.Keep(m) // else the next start reads them again
		}
		return nil, nil, nil
	}
	change := &Change{
		Agent: agent,
		Old:   fmt.Sprintf("version %s, as it was installed at %s", m.Version, m.Installed.Local().Format(time.DateTime)),
		New:   display.Line(d.String(), 600) + " in " + display.Word(f.Path),
	}
	return change, func(context.Context) error {
		m.Files = now
		return f.Keep(m)
	}, nil
}

// interpreters run scripts that their arguments name.
var interpreters = []string{"node", "nodejs", "bun", "deno", "sh", "bash", "zsh", "ruby", "perl", "pwsh", "powershell"}

// programFile returns the file that decides what a command does: the program, with links resolved, or
// the script if the program runs one.
func programFile(c Command) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(c.Path)), ".exe")
	if slices.Contains(interpreters, name) || strings.HasPrefix(name, "python") {
		for _, arg := range c.Args {
			if info, err := os.Stat(arg); filepath.IsAbs(arg) && err == nil && info.Mode().IsRegular() {
				return filepath.EvalSymlinks(arg)
			}
		}
	}
	path, err := filepath.EvalSymlinks(c.Path)
	if err != nil {
		return "", fmt.Errorf("start %s: %w", c.Path, errGone)
	}
	return path, nil
}

// programNow looks at a program's file, and reads it if it does not look as before.
func programNow(ctx context.Context, path string, was Program) (Program, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Program{}, err
	}
	if !info.Mode().IsRegular() {
		return Program{}, fmt.Errorf("%s is not a file", path)
	}
	now := Program{Path: path, File: fileOf(info), Version: was.Version}
	if path == was.Path && now.File.same(was.File) {
		now.File.SHA256 = was.File.SHA256
		return now, nil
	}
	if now.File.SHA256, err = sumOf(ctx, path); err != nil {
		return Program{}, err
	}
	now.Version = PackageVersion(path)
	return now, nil
}

// maxPackage limits a package.json, in bytes.
const maxPackage = 1 << 20

// PackageVersion returns the version of the package of npm that a file belongs to, with links resolved; "":
// none is known.
func PackageVersion(path string) string {
	dir := filepath.Dir(real(path))
	for range 8 { // packages are not deeper
		if data, _, err := datadir.Read(filepath.Join(dir, "package.json"), maxPackage); err == nil {
			var p struct{ Name, Version string }
			if json.Unmarshal(data, &p) == nil && p.Name != "" && p.Version != "" {
				return p.Version
			}
		}
		dir = filepath.Dir(dir)
	}
	return ""
}
