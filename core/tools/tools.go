package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/child"
	"dragoman/core/delegate"
	"dragoman/core/files"
	"dragoman/core/web"
)

// Options configures the native tools. The zero value is usable.
type Options struct {
	// Shell is the program that runs commands, called as Shell -c COMMAND.
	// Empty: bash where it is found, else sh; on Windows powershell, else cmd.
	Shell string
	// Env returns the environment that commands inherit from; nil: os.Environ.
	Env func() []string
	// Keep names variables of it that commands get beside those of child.Safe, and is
	// written as that is. It is asked for every command; nil: there are none.
	Keep func(core.ToolHost) []string
	// Subagents lists the agents that the agent of a session can hand tasks to; nil,
	// or none: it cannot. It is asked at every turn. A session that was handed a
	// task itself is not asked for.
	Subagents func(core.ToolHost) []Subagent
	// Forbids returns what reports whether a rule forbids a session to read a file or a
	// folder, by its real path, or to fetch a URL. Listings and searches leave such
	// files out, and say how many they were; a redirect there is not followed. It is
	// called for every listing; nil: there are none.
	Forbids func(core.ToolHost) (func(core.Access) bool, error)
	// Guards has the guard that starts a session's programs, by the session's id; nil:
	// these tools have guards of their own.
	Guards *child.Guards
	// Board shows the jobs that run behind sessions; nil: nobody sees them.
	Board *board.Board
}

// New returns the native tools. It does nothing else.
func New(opts Options) core.Toolbox {
	if opts.Guards == nil {
		opts.Guards = &child.Guards{}
	}
	if opts.Board == nil {
		opts.Board = board.New()
	}
	return &toolbox{opts: opts, grace: 2 * time.Second, most: maxSpill}
}

type toolbox struct {
	opts  Options
	net   web.Fetcher
	grace time.Duration // between SIGTERM and SIGKILL
	most  int64         // bytes of a command's output that are kept
}

// Open implements core.Toolbox. It touches no file: roots are opened when a call
// needs them, and need not exist before. host may be nil for somebody who only
// wants to list the tools.
func (b *toolbox) Open(_ context.Context, host core.ToolHost) (core.Toolset, error) {
	s := &toolset{
		host: host, opts: b.opts, shell: findShell(b.opts.Shell), grace: b.grace, most: b.most, net: b.net,
		changed: make(chan struct{}, 1), // what is to be said is said by one
		files:   files.New(host), steps: map[stepKey]*step{}, handOver: delegate.Run,
	}
	s.jobs = &jobs{host: host, board: b.opts.Board}
	if host != nil {
		m := host.Meta()
		s.guard, s.release = b.opts.Guards.Hold(string(m.Principal) + " " + string(m.ID))
	}
	for _, t := range []struct {
		spec core.Spec
		prep prepare
	}{
		{readSpec, s.prepareRead},
		{treeSpec, s.prepareTree},
		{globSpec, s.prepareGlob},
		{grepSpec, s.prepareGrep},
		{writeSpec, s.prepareWrite},
		{editSpec, s.prepareEdit},
		{moveSpec, s.prepareMove},
		{s.shell.spec(), s.prepareShell},
		{jobsSpec, s.prepareJobs},
		{fetchSpec, s.prepareFetch},
		{planSpec, s.preparePlan},
		{askSpec, s.prepareAsk},
	} {
		s.tools = append(s.tools, &tool{set: s, spec: t.spec, prep: t.prep})
	}
	s.optional = []optional{
		{&tool{set: s, spec: diagnoseSpec, prep: s.prepareDiagnose}, diagnoses},
		{&tool{set: s, spec: definitionSpec, prep: s.prepareDefinition}, defines},
		{&tool{set: s, spec: referencesSpec, prep: s.prepareReferences}, refers},
	}
	return s, nil
}

// toolset holds the tools of one session.
type toolset struct {
	host  core.ToolHost
	opts  Options
	shell shell
	grace time.Duration
	most  int64
	net   web.Fetcher
	files *files.Workspace
	jobs  *jobs
	// handOver runs a task in a session of its own.
	handOver func(context.Context, core.ToolHost, delegate.Task) (delegate.Result, error)
	guard    *child.Guard // of the session's programs; nil: without a host
	tools    []core.Tool  // that are always there

	release func() // gives guard back

	optional []optional    // that are there while the editor makes them possible
	changed  chan struct{} // see Changed

	mu    sync.Mutex // guards the fields below
	shut  bool
	steps map[stepKey]*step
	// listed is the signature of what Tools listed last, to tell whether it still
	// holds; 0: it has listed nothing.
	listed uint64
}

// Close ends the jobs and all that commands have left behind, and blocks until they
// have ended; then it gives the workspace roots back. Calls that still run fail.
func (s *toolset) Close() error {
	if s.jobs != nil {
		s.jobs.close()
	}
	if s.release != nil {
		s.release()
	}
	s.mu.Lock()
	s.shut, s.steps = true, map[stepKey]*step{}
	s.mu.Unlock()
	return s.files.Close()
}

// Rest implements core.Rester: it gives the handles of the workspace roots back, the
// memory that the output of ended jobs takes, and the guard's process where no command has
// left anything running, unless a job runs.
func (s *toolset) Rest() bool {
	if s.jobs != nil && !s.jobs.rest() {
		return false
	}
	if s.guard != nil {
		s.guard.Rest()
	}
	s.mu.Lock()
	s.steps = map[stepKey]*step{}
	s.mu.Unlock()
	s.files.Rest()
	return true
}

// prepare works out what a call is going to do, without doing any of it.
type prepare func(context.Context, *args) (*step, error)

// step is a call that has been worked out.
type step struct {
	core.Preview
	args string // as they were when it was worked out
	// bound is set when run depends on what Preview saw: it cannot be worked out
	// again behind the back of whoever approved.
	bound bool
	// run carries it out. Its error is the model's.
	run func(context.Context, core.Invocation) (core.Result, error)
}

// stepKey finds the step of a call.
type stepKey struct {
	turn core.TurnID
	call core.CallID
}

// tool is one native tool.
type tool struct {
	set  *toolset
	spec core.Spec
	prep prepare
}

// Spec implements core.Tool.
func (t *tool) Spec() core.Spec { return t.spec }

// Preview implements core.Tool: it checks the arguments and describes what Run would
// do. It reads files inside of the roots; of a place outside it reads only the
// file that is to be changed, for the diff.
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
			return failure(fmt.Errorf("%s: %s is outside of the workspace and was not approved", t.spec.Name, visible(a.Path))), nil
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
	st, err := t.prep(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.spec.Name, hinted(err))
	}
	st.Kind = cmp.Or(st.Kind, t.spec.Kind)
	st.args = string(inv.Args)
	return st, nil
}

// remember keeps a step until its Run. A turn's steps go when another turn's
// first call comes: those that were rejected never run.
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

// recall finds the step that was approved. One that Preview did not leave here
// is worked out again, but only where that cannot change what it does.
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
			return nil, fmt.Errorf("%s: the arguments changed after the call was previewed; nothing was done", t.spec.Name)
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

// hinted adds to an error the name of the tool to use instead.
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

// bracketed sets a note that follows a result; an empty note adds nothing.
func bracketed(note string) string {
	if note == "" {
		return ""
	}
	return "[" + note + "]"
}

// schema makes the JSON Schema of a tool's arguments, which takes no others than the given ones.
func schema(required []string, properties string) json.RawMessage {
	s := "{\n  \"type\": \"object\",\n  \"properties\": {" + properties + "\n  },\n"
	if len(required) > 0 {
		s += `  "required": ["` + strings.Join(required, `", "`) + "\"],\n"
	}
	return json.RawMessage(s + "  \"additionalProperties\": false\n}")
}
