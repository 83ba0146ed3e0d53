package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
	"dragoman/core/delegate"
	"dragoman/core/files"
	"dragoman/core/sandbox"
	"dragoman/core/shell"
	"dragoman/core/web"
)

// Options configures the native tools. The zero value is usable.
type Options struct {
	// Shell is the program that runs commands, called as Shell -c COMMAND.
	// Empty: bash where it is found, else sh; on Windows powershell, else cmd.
	Shell string
	// Env returns the environment that commands inherit from; nil: os.Environ.
	Env func() []string
	// Keep lists further variables of it that commands get, in addition to those of
	// child.Safe and in the same syntax. It is called for every command; nil: there
	// are none.
	Keep func(core.ToolHost) []string
	// Subagents lists the agents that a session's agent can delegate tasks to; nil or
	// an empty list: no delegation. It is called at every turn, except for sessions
	// that are themselves tasks.
	Subagents func(core.ToolHost) []Subagent
	// Forbids returns a function that reports whether a rule forbids a session to
	// read a file or folder, by its real path, or to fetch a URL. Listings and
	// searches leave such files out and return their number; a redirect to such a URL
	// is not followed. Forbids is called for every listing; nil: there are no rules.
	Forbids func(core.ToolHost) (func(core.Access) bool, error)
	// Guards returns the guard that starts a session's programs, by the session's id;
	// nil: these tools have guards of their own.
	Guards *child.Guards
	// Sandboxes confine the commands of sessions; nil: nothing does.
	Sandboxes *sandbox.Sessions
	// Workspace describes to its sandbox where a session works. It is called for every command; nil
	// without Sandboxes.
	Workspace func(core.ToolHost) sandbox.Workspace
	// Reach says whether a program in a session's sandbox may connect to the address that is the
	// check's only access; nil: none may reach any.
	Reach func(core.ToolHost, core.Check) core.Verdict
	// Terminal reports whether commands of a session run in a terminal of its editor although they
	// could be confined here; nil: they do not. Where nothing is confined they run there in any case.
	Terminal func(core.ToolHost) bool
	// Board shows the background jobs of sessions; nil: they are not shown.
	Board *board.Board
}

// New returns the native tools, without touching the disk.
func New(opts Options) core.Toolbox {
	if opts.Guards == nil {
		opts.Guards = &child.Guards{}
	}
	if opts.Board == nil {
		opts.Board = board.New()
	}
	b := &toolbox{opts: opts, grace: 2 * time.Second, most: maxSpill}
	b.shell = sync.OnceValues(func() (shell.Shell, *native) {
		sh := shell.Find(opts.Shell)
		return sh, &native{new(shellSpec(sh)), (*toolset).prepareShell}
	})
	return b
}

// toolbox has what all sessions share.
type toolbox struct {
	opts  Options
	shell func() (shell.Shell, *native) // looked for once, with the tool that runs it
	net   web.Fetcher
	grace time.Duration // between SIGTERM and SIGKILL
	most  int64         // bytes of a command's output that are kept

	mu     sync.Mutex // guards the fields below
	spawn  *native    // the tool that delegates to agents
	agents []Subagent
}

// native is a native tool without a session.
type native struct {
	spec *core.Spec
	prep func(*toolset, context.Context, *args) (*step, error) // makes the plan of a call, without carrying out any of it
}

// always are the tools that are always offered.
var always = [...]native{
	{&readSpec, (*toolset).prepareRead},
	{&treeSpec, (*toolset).prepareTree},
	{&globSpec, (*toolset).prepareGlob},
	{&grepSpec, (*toolset).prepareGrep},
	{&writeSpec, (*toolset).prepareWrite},
	{&editSpec, (*toolset).prepareEdit},
	{&moveSpec, (*toolset).prepareMove},
	{}, // the shell of the toolbox
	{&jobsSpec, (*toolset).prepareJobs},
	{&fetchSpec, (*toolset).prepareFetch},
	{&planSpec, (*toolset).preparePlan},
	{&askSpec, (*toolset).prepareAsk},
}

// optional are the tools that an editor can make possible.
var optional = [...]native{
	{&diagnoseSpec, (*toolset).prepareDiagnose},
	{&definitionSpec, (*toolset).prepareDefinition},
	{&referencesSpec, (*toolset).prepareReferences},
}

// Open implements core.Toolbox. It touches no file: roots are opened when a call
// needs them, and need not exist before. host may be nil for a caller that only lists
// the tools.
func (b *toolbox) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	found, sh := b.shell()
	s := &toolset{
		box:      b,
		host:     host,
		opts:     &b.opts,
		shell:    found,
		grace:    b.grace,
		most:     b.most,
		net:      b.net,
		changed:  make(chan struct{}, 1), // one slot: several changes need one announcement
		files:    files.New(host),
		steps:    map[stepKey]*step{},
		handOver: delegate.Run,
	}
	s.jobs = &jobs{host: host, board: b.opts.Board}
	if host != nil {
		m := host.Meta()
		s.guard, s.release = b.opts.Guards.Hold(string(m.Principal) + " " + string(m.ID))
	}
	all := make([]tool, 0, len(always)+len(optional))
	for i := range always {
		n := &always[i]
		if n.prep == nil {
			n = sh
		}
		all = append(all, tool{n, s})
	}
	for i := range optional {
		all = append(all, tool{&optional[i], s})
	}
	s.tools, s.optional = all[:len(always)], all[len(always):]
	return s, nil
}

// toolset holds the tools of one session.
type toolset struct {
	box   *toolbox
	host  core.ToolHost
	opts  *Options
	shell shell.Shell
	grace time.Duration
	most  int64
	net   web.Fetcher
	files *files.Workspace
	jobs  *jobs
	// handOver runs a task in a session of its own.
	handOver func(context.Context, core.ToolHost, delegate.Task) (delegate.Result, error)
	guard    *child.Guard // of the session's programs outside of a sandbox; nil: without a host
	tools    []tool       // always offered

	release func() // releases guard

	optional []tool        // offered while the editor makes them possible
	changed  chan struct{} // see Changed

	mu    sync.Mutex // guards the fields below
	shut  bool
	room  *room // the sandbox of the session's commands; nil: there was none yet
	steps map[stepKey]*step
	// listed is the signature of the last list that Tools returned, to detect
	// changes; 0: Tools was not called yet.
	listed uint64
}

// Close ends the jobs and all processes that commands have left behind, and blocks
// until they have ended; then it closes the workspace roots. Calls that are still
// running fail.
func (s *toolset) Close() error {
	if s.jobs != nil {
		s.jobs.close()
	}
	s.mu.Lock()
	s.shut, s.steps = true, map[stepKey]*step{}
	room := s.room
	s.mu.Unlock()
	if room != nil {
		room.leave()
	}
	if s.release != nil {
		s.release()
	}
	return s.files.Close()
}

// Rest implements core.Rester. Unless a job is running, it releases the handles of
// the workspace roots, the memory of the output of ended jobs, and the guard's
// process if no command has left anything running.
func (s *toolset) Rest() bool {
	if s.jobs != nil && !s.jobs.rest() {
		return false
	}
	if s.guard != nil {
		s.guard.Rest()
	}
	s.mu.Lock()
	room := s.room
	s.mu.Unlock()
	if room != nil {
		room.box.Rest()
	}
	s.mu.Lock()
	s.steps = map[stepKey]*step{}
	s.mu.Unlock()
	s.files.Rest()
	return true
}

// step is the plan of a call.
type step struct {
	core.Preview
	args string // when the plan was made
	// bound is set when run depends on the state that Preview saw: without a new
	// approval the step must not be made again.
	bound bool
	// run carries the step out. Its error is for the model.
	run func(context.Context, core.Invocation) (core.Result, error)
}

// stepKey identifies the step of a call.
type stepKey struct {
	turn core.TurnID
	call core.CallID
}

// tool is one native tool of a session.
type tool struct {
	*native

	set *toolset
}

// Spec implements core.Tool.
func (t *tool) Spec() core.Spec { return *t.spec }

// Preview implements core.Tool: it checks the arguments and describes what Run would
// do. It reads files inside of the roots; outside of them it reads only the file to
// be changed, for the diff.
func (t *tool) Preview(ctx context.Context, inv core.Invocation) (core.Preview, error) {
	st, err := t.work(ctx, inv)
	if err != nil {
		return core.Preview{}, err
	}
	t.set.remember(inv, st)
	return st.Preview, nil
}

// Run implements core.Tool: it carries out what Preview described.
func (t *tool) Run(ctx context.Context, inv core.Invocation) (core.Result, error) {
	st, err := t.recall(ctx, inv)
	if err != nil {
		return failure(err), nil
	}
	for _, a := range st.Access {
		if a.Outside && !approved(inv, a) {
			return failure(fmt.Errorf("%s: %s is outside of the workspace and was not approved",
				t.spec.Name, visible(a.Path))), nil
		}
	}
	if inv.Output == nil {
		inv.Output = func(string) {}
	}
	if inv.Show == nil {
		inv.Show = func(core.Showing) {}
	}
	res, err := st.run(ctx, inv)
	if err != nil {
		if ctx.Err() != nil {
			return res, context.Cause(ctx)
		}
		res = failure(hinted(err))
	}
	if len(res.Locations) == 0 {
		res.Locations = st.Locations
	}
	return res, nil
}

func (t *tool) work(ctx context.Context, inv core.Invocation) (*step, error) {
	a, err := parseArgs(inv.Args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.spec.Name, err)
	}
	st, err := t.prep(t.set, ctx, a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.spec.Name, hinted(err))
	}
	st.Kind = cmp.Or(st.Kind, t.spec.Kind)
	st.args = string(inv.Args)
	return st, nil
}

// remember keeps a step until its Run. The steps of a turn are dropped at the first
// call of another turn: those of rejected calls never run.
func (s *toolset) remember(inv core.Invocation, st *step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return
	}
	for k := range s.steps {
		if k.turn != inv.Turn {
			delete(s.steps, k)
		}
	}
	s.steps[stepKey{inv.Turn, inv.Call}] = st
}

// recall finds the approved step. If Preview left none here, it is made again, but
// only if that cannot change its effect.
func (t *tool) recall(ctx context.Context, inv core.Invocation) (*step, error) {
	key := stepKey{inv.Turn, inv.Call}
	s := t.set
	s.mu.Lock()
	st, shut := s.steps[key], s.shut
	delete(s.steps, key)
	s.mu.Unlock()
	if shut {
		return nil, core.ErrClosed
	}
	if st != nil {
		if st.args != string(inv.Args) {
			return nil, fmt.Errorf("%s: the arguments changed after the call was previewed; nothing was done",
				t.spec.Name)
		}
		return st, nil
	}
	st, err := t.work(ctx, inv)
	if err != nil {
		return nil, err
	}
	if st.bound {
		return nil, fmt.Errorf("%s: the call was not previewed; nothing was done", t.spec.Name)
	}
	return st, nil
}

// approved reports whether an access was granted to the call.
func approved(inv core.Invocation, want core.Access) bool {
	return slices.ContainsFunc(inv.Access, func(a core.Access) bool {
		return a.Op == want.Op && a.Path == want.Path && a.Command == want.Command && a.URL == want.URL
	})
}

// hinted adds the name of the right tool to an error.
func hinted(err error) error {
	switch {
	case errors.Is(err, files.ErrFolder):
		return fmt.Errorf("%w: use directory_tree", err)
	case errors.Is(err, files.ErrTooLarge):
		return fmt.Errorf("%w: use shell_command", err)
	}
	return err
}

func failure(err error) core.Result {
	return core.Result{Blocks: []core.Block{core.Text{Text: err.Error()}}, Failed: true}
}

func text(parts ...string) core.Result {
	var res core.Result
	for _, p := range parts {
		if p != "" {
			res.Blocks = append(res.Blocks, core.Text{Text: p})
		}
	}
	return res
}

// bracketed formats a note that follows a result; an empty note adds nothing.
func bracketed(note string) string {
	if note == "" {
		return ""
	}
	return "[" + note + "]"
}
