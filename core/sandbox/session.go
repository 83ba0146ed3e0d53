package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"dragoman/core/child"
)

// Sessions keeps one sandbox for the commands of each session. Any goroutine may call its methods.
type Sessions struct {
	system *System
	folder string // ours, for what sandboxes keep on the disk
	sweep  func() // removes once what killed processes have left there

	mu   sync.Mutex // guards the fields below
	held map[string]*Session
}

// NewSessions returns the sandboxes of a system. They keep files in a folder, which need not exist;
// "": they keep none.
func NewSessions(s *System, folder string) *Sessions {
	return &Sessions{
		system: s, folder: folder, held: map[string]*Session{},
		sweep: sync.OnceFunc(func() {
			if folder != "" {
				sweep(filepath.Join(folder, "tmp"))
			}
		}),
	}
}

// Level is that of the system.
func (ss *Sessions) Level(most child.Level) (child.Level, string) { return ss.system.Level(most) }

// Hold returns the sandbox of a session: all who hold it at the same time share it. The workspace
// is asked for before each program that is started. release gives the sandbox back; the last
// release ends all that runs in it, and blocks for that.
func (ss *Sessions) Hold(id string, workspace func() Workspace) (s *Session, release func()) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s = ss.held[id]; s == nil {
		s = &Session{system: ss.system, sweep: ss.sweep, workspace: workspace, turn: make(chan struct{}, 1), bound: defaultBound}
		if ss.folder != "" {
			s.tmp, s.aside = filepath.Join(ss.folder, "tmp", nameOf(id)), filepath.Join(ss.folder, "aside", nameOf(id))
			s.caches = filepath.Join(ss.folder, "caches")
		}
		ss.held[id] = s
	}
	s.users++
	return s, sync.OnceFunc(func() {
		ss.mu.Lock()
		s.users--
		last := s.users == 0
		if last {
			delete(ss.held, id)
		}
		ss.mu.Unlock()
		if last {
			s.close()
		}
	})
}

// Session is the sandbox of a session's commands. They share its processes, its network and its
// /tmp. Any goroutine may call its methods.
type Session struct {
	system             *System
	sweep              func() // of Sessions
	workspace          func() Workspace
	tmp, aside, caches string // folders of ours; "": there are none
	users              int    // of Sessions.mu
	bound              bound  // of tmp

	turn chan struct{} // taken by who looks at the workspace or changes the fields below
	// guard starts programs in the sandbox of profile, which was made for made. Old guards are those
	// of profiles before; jobs may run in them.
	guard   *child.Guard
	box     *box // of guard; nil: it is not confined
	profile Profile
	made    basis
	marks   marks // of the sandbox
	old     []confinement
	closed  bool
	folder  *tmpFolder // tmp; nil: there is none yet
	running int        // programs
	seen    snapshot   // of control files, when the first of them was started
	notes   []string   // that nobody has read
	unwatch func()     // ends the watch over tmp without waiting for it; nil: there is none

	watching sync.WaitGroup // the watch; close waits for it

	mu      sync.Mutex // guards the field below
	onAside func([]Aside)
}

// confinement is a guard with its sandbox.
type confinement struct {
	guard *child.Guard
	box   *box // nil: there is none
}

// close ends all that runs in a sandbox, and its proxy.
func (c confinement) close() {
	c.guard.Close()
	if c.box != nil {
		c.box.end()
	}
}

// basis is what a profile was made from, as far as it may change while a session goes on.
type basis struct {
	workspace Workspace
	sockets   []string
}

func (b basis) equal(c basis) bool {
	v, w := b.workspace, c.workspace
	return slices.Equal(v.Roots, w.Roots) && slices.Equal(v.Hidden, w.Hidden) && slices.Equal(v.Write, w.Write) &&
		v.Home == w.Home && v.Open == w.Open && v.Most == w.Most && v.Rules == w.Rules && slices.Equal(b.sockets, c.sockets)
}

// Level returns the level at which the session's programs are confined. The first call in the process
// makes the session's sandbox to find out; it starts processes and blocks for some milliseconds.
func (s *Session) Level() child.Level {
	s.turn <- struct{}{}
	if !s.closed && s.guard == nil {
		_ = s.renew() // the program that needs it will report the error
	}
	<-s.turn
	level, _ := s.system.Level(s.workspace().Most)
	return level
}

// OnAside has f called whenever changes of control files were set aside, from the goroutine that
// ends or starts a program. f must not block. The last f that was given counts.
func (s *Session) OnAside(f func([]Aside)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onAside = f
}

// Start starts a program in the sandbox; see child.Guard.Start. At level child.None it runs as the
// user. When its group is closed the control files of the workspace are as they were before: what
// it changed is set aside.
func (s *Session) Start(cmd *exec.Cmd) (*child.Group, error) {
	guard, cmd, list, err := s.enter(cmd)
	s.tell(list)
	if err != nil {
		return nil, err
	}
	g, err := guard.Start(cmd)
	if err != nil {
		s.tell(s.leave())
		return nil, err
	}
	g.Then(func() { s.tell(s.leave()) })
	return g, nil
}

func (s *Session) tell(list []Aside) {
	s.mu.Lock()
	f := s.onAside
	s.mu.Unlock()
	if f != nil && len(list) > 0 {
		f(list)
	}
}

// enter counts a program that is about to start, and returns the guard that starts it and how.
func (s *Session) enter(cmd *exec.Cmd) (*child.Guard, *exec.Cmd, []Aside, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.closed {
		return nil, nil, nil, os.ErrClosed
	}
	if err := s.renew(); err != nil {
		return nil, nil, nil, err
	}
	var list []Aside
	now := look(s.profile, s.marks, s.seen)
	if s.running > 0 {
		list, _ = settle(s.seen, now, s.aside) // what could not be set aside is seen again later
	} else {
		s.seen = now // whatever a person has changed meanwhile
	}
	if s.running++; s.unwatch == nil && s.folder != nil {
		ctx, cancel := context.WithCancel(context.Background())
		s.unwatch = cancel
		dir := s.folder.dir
		s.watching.Go(func() { s.watch(ctx, dir) })
	}
	if s.box == nil && s.made.workspace.Most != child.None {
		cmd = wrap(s.profile, cmd)
	}
	return s.guard, cmd, list, nil
}

// leave counts a program that has ended.
func (s *Session) leave() []Aside {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.running--; s.running == 0 && s.unwatch != nil {
		s.unwatch()
		s.unwatch = nil
	}
	list, _ := settle(s.seen, look(s.profile, s.marks, s.seen), s.aside)
	return list
}

// renew makes a new sandbox where what the profile is made from has changed.
func (s *Session) renew() error {
	w := s.workspace()
	now := basis{workspace: w}
	if w.Most != child.None { // nothing is masked there
		now.sockets = w.listening()
	}
	fresh := s.guard == nil || !s.made.equal(now)
	if !fresh && s.marks.hold(s.running > 0) {
		return nil
	}
	if s.tmp != "" {
		if s.folder == nil {
			s.sweep()
			var err error
			if s.folder, err = newTmpFolder(s.tmp); err != nil {
				return err
			}
		}
		w.Tmp = s.tmp
		if len(w.Roots) > 0 {
			w.Caches = filepath.Join(s.caches, nameOf(w.Roots[0]))
		}
	}
	var p Profile
	var m marks
	var tried *confinement // has the profile p; nil: there was no trial
	level, _ := s.system.level(w.Most, func() error {
		p, m = s.remade(w, child.Full, fresh)
		c := s.confine(w, child.Full, p)
		if c.guard.Ready() != nil {
			c.close()
			return s.system.attempt(child.Full, nil) // the reason may be this workspace and not the system
		}
		tried = &c
		return nil
	})
	if tried == nil {
		p, m = s.remade(w, level, fresh)
	}
	same := tried == nil && s.guard != nil && p.equal(s.profile) && m.equal(s.marks)
	s.made, s.marks = now, m
	if same {
		return nil
	}
	s.retire()
	s.profile = p
	if level == child.None {
		s.guard, s.box = &child.Guard{}, nil
		return nil
	}
	if tried == nil {
		c := s.confine(w, level, p)
		tried = &c
	}
	s.guard, s.box = tried.guard, tried.box
	return nil
}

// confine returns a guard that starts programs as a profile says.
func (s *Session) confine(w Workspace, level child.Level, p Profile) confinement {
	b := s.system.box(level, p, w.Serve)
	return confinement{guard: child.Confined(b), box: b}
}

// all lists the guards, the current one last. The caller has the turn.
func (s *Session) all() []confinement {
	list := slices.Clone(s.old)
	if s.guard != nil {
		list = append(list, confinement{s.guard, s.box})
	}
	return list
}

// Rest ends the processes of the sandbox if nothing runs in it any more.
func (s *Session) Rest() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.running > 0 {
		return
	}
	for _, c := range s.all() {
		if c.guard.Rest() && c.box != nil {
			c.box.end() // nobody starts anything before we give the turn back
		}
	}
}

// close ends all that runs in the sandbox, and removes its /tmp.
func (s *Session) close() {
	s.turn <- struct{}{}
	s.closed = true
	list := s.all()
	s.guard, s.box, s.old = nil, nil, nil
	unwatch := s.unwatch
	s.unwatch = nil
	<-s.turn
	if unwatch != nil {
		unwatch()
	}
	for _, c := range list {
		c.close()
	}
	s.watching.Wait()
	if s.folder != nil {
		s.folder.remove()
	}
}

// Tmp returns the folder that programs of the session see as /tmp; "": they see that of the system.
func (s *Session) Tmp() string {
	if s.Level() != child.Full {
		return ""
	}
	return s.tmp
}

// removeAll removes a folder of ours with folders in it that a program has made read-only, as Go
// does with modules.
func removeAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
