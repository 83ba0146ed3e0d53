package tools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/shell"
)

const (
	maxRunning = 32      // jobs of a session that run at a time
	maxPrinted = 32      // ended jobs whose output is kept
	maxEnded   = 256     // ended jobs that are still listed
	ringBytes  = 1 << 20 // of a job's output
	ringLine   = 64 << 10
	lineCost   = 32 // cost of a line in addition to its text
)

// errKilled is the cause when a job is killed.
var errKilled = errors.New("the job was killed")

// jobs has the background commands of a session. They end with it.
type jobs struct {
	host  core.ToolHost
	board *board.Board
	wg    sync.WaitGroup // the running jobs

	mu     sync.Mutex // guards the fields below
	closed bool
	list   []*job // in the order of their start
}

// start runs a command as a job, and returns when it runs. It does not end with ctx,
// unless ctx ends before that: then no process of it is left.
func (js *jobs) start(ctx context.Context, info board.JobInfo, c shell.Command) (*job, error) {
	m := js.host.Meta()
	info.ID, info.Session, info.Status = "job-"+strings.ToLower(rand.Text()[:10]), m.ID, board.JobRunning
	j := &job{
		board: js.board, topic: board.Topic{Kind: "job", Name: info.ID, Principal: m.Principal},
		begun: make(chan struct{}), done: make(chan struct{}), info: info,
	}
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	j.cancel = cancel
	if err := js.add(j, func() { j.run(life, c) }); err != nil {
		cancel(nil)
		return nil, err
	}
	select {
	case <-j.begun:
		return j, nil
	case <-j.done: // it may have started as well
	case <-ctx.Done():
		if _, err := j.Kill(context.WithoutCancel(ctx)); err != nil {
			return nil, err
		}
	}
	if isClosed(j.begun) && ctx.Err() == nil {
		return j, nil
	}
	js.remove(j)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, j.failed
}

// add adds a job and starts its goroutine. It makes room among the ended jobs.
func (js *jobs) add(j *job, run func()) error {
	js.mu.Lock()
	var ended []*job // newest first
	for _, o := range slices.Backward(js.list) {
		if isClosed(o.done) {
			ended = append(ended, o)
		}
	}
	running, closed := len(js.list)-len(ended), js.closed
	if !closed && running < maxRunning {
		js.list = append(js.list, j)
		js.wg.Go(run)
	}
	js.mu.Unlock()
	if closed {
		return core.ErrClosed
	}
	for i, o := range ended {
		if i+1 >= maxPrinted {
			o.forget()
		}
		if i+1 >= maxEnded {
			js.remove(o)
		}
	}
	if running >= maxRunning {
		return fmt.Errorf("%d jobs run already: end one of them first", running)
	}
	return nil
}

// remove removes a job that never ran, that nobody waited for, or that ended long
// ago.
func (js *jobs) remove(j *job) {
	js.mu.Lock()
	js.list = slices.DeleteFunc(js.list, func(o *job) bool { return o == j })
	js.mu.Unlock()
	if isClosed(j.begun) {
		j.board.Drop(j.topic)
	}
}

// all lists the jobs.
func (js *jobs) all() []*job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return slices.Clone(js.list)
}

// find returns the session's job with this id.
func (js *jobs) find(id string) (*job, error) {
	all := js.all()
	for _, j := range all {
		if j.info.ID == id { // never changes
			return j, nil
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no job %q: no job was started here", id)
	}
	return nil, fmt.Errorf("there is no job %q: use the action list", id)
}

// rest moves the output of ended jobs to the disk, unless a job is running. It
// reports whether none is.
func (js *jobs) rest() bool {
	all := js.all()
	if slices.ContainsFunc(all, func(j *job) bool { return !isClosed(j.done) }) {
		return false
	}
	for _, j := range all {
		j.rest(js.host.Spills())
	}
	return true
}

// close ends all jobs, waits for that, and removes them from the board.
func (js *jobs) close() {
	js.mu.Lock()
	list := js.list
	js.closed, js.list = true, nil
	js.mu.Unlock()
	for _, j := range list {
		j.cancel(errKilled)
	}
	js.wg.Wait()
	for _, j := range list {
		j.forget()
		if isClosed(j.begun) {
			j.board.Drop(j.topic)
		}
	}
}

// job is a background command of a session, running or ended.
type job struct {
	board  *board.Board
	topic  board.Topic
	cancel context.CancelCauseFunc
	begun  chan struct{} // closed when it runs and is on the board
	done   chan struct{} // closed when it has ended
	failed error         // why it could not start; set before done

	mu     sync.Mutex // guards the fields below
	info   board.JobInfo
	out    ring
	stored jobFile // the content of out when the session came to rest
	end    shell.Outcome
}

var _ board.JobControl = (*job)(nil)

// run runs the job from start to end.
func (j *job) run(ctx context.Context, c shell.Command) {
	defer close(j.done)
	defer j.cancel(nil)
	c.Begun = func() {
		j.post(func(info *board.JobInfo) { info.Started = time.Now() })
		close(j.begun)
	}
	end, err := c.Run(ctx, j.reader(false), j.reader(true))
	if !isClosed(j.begun) {
		if j.failed = err; err == nil {
			j.failed = errKilled
		}
		return
	}
	j.post(func(info *board.JobInfo) {
		j.end = end
		info.Ended, info.Status = time.Now(), board.JobFailed
		switch {
		case end.Why == shell.Canceled:
			info.Status = board.JobKilled
		case end.Why == shell.Ended && end.Code == 0:
			info.Status = board.JobDone
		}
		if end.Why == shell.Ended && end.Code >= 0 {
			info.Exit = &end.Code
		}
	})
}

// post changes the job's information and posts it on the board.
func (j *job) post(change func(*board.JobInfo)) {
	j.mu.Lock()
	change(&j.info)
	info := j.info
	j.mu.Unlock()
	j.board.Put(j.topic, board.Job{Info: info, Control: j})
}

// reader returns a function that keeps the output of one of the pipes.
func (j *job) reader(stderr bool) func(*os.File) {
	return func(r *os.File) {
		shell.Stream(r, func(text string) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.out.write(text, stderr)
		}, func(string) {})
	}
}

// Kill implements board.JobControl.
func (j *job) Kill(ctx context.Context) (killed bool, err error) {
	if isClosed(j.done) {
		return false, nil
	}
	j.cancel(errKilled)
	select {
	case <-j.done:
		return j.look().Status == board.JobKilled, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Output implements board.JobControl.
func (j *job) Output() []board.JobLine {
	lines, _ := j.printed()
	return lines
}

// printed returns the kept output, and the number of lines that came before it.
func (j *job) printed() (lines []board.JobLine, gone int) {
	j.mu.Lock()
	lines, gone = j.out.all(), j.out.gone
	file := j.stored
	j.mu.Unlock()
	if file.ref == "" {
		return lines, gone
	}
	lines, err := file.read()
	if err != nil {
		return nil, gone + file.lines
	}
	return lines, gone
}

// look returns the job's current information.
func (j *job) look() board.JobInfo {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.info
}

// forget drops the output to make room for later jobs.
func (j *job) forget() {
	j.mu.Lock()
	file := j.stored
	j.out = ring{gone: j.out.gone + len(j.out.all()) + file.lines}
	j.stored = jobFile{}
	j.mu.Unlock()
	file.remove()
}

// rest moves the output of an ended job to a file. If that fails, it stays in memory.
func (j *job) rest(spills core.Spills) {
	j.mu.Lock()
	lines, gone := j.out.all(), j.out.gone
	j.mu.Unlock()
	if len(lines) == 0 {
		return
	}
	file, err := store(lines, spills)
	if err != nil {
		return
	}
	j.mu.Lock()
	forgotten := j.out.gone > gone
	if !forgotten {
		j.out, j.stored = ring{gone: gone}, file
	}
	j.mu.Unlock()
	if forgotten {
		file.remove()
	}
}

// words describes the job's state.
func (j *job) words() string {
	j.mu.Lock()
	info, end := j.info, j.end
	j.mu.Unlock()
	took := info.Ended.Sub(info.Started).Round(time.Millisecond)
	switch info.Status {
	case board.JobRunning:
		return "running"
	case board.JobKilled:
		return fmt.Sprintf("killed after %v", took)
	case board.JobDone, board.JobFailed:
	}
	return end.Words(took, took)
}

// isClosed reports whether a channel, on which nothing is sent, is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// ring keeps the newest lines of an output.
type ring struct {
	lines []board.JobLine
	bytes int       // its cost
	gone  int       // lines that were dropped
	open  [2]string // unfinished lines: of output, and of errors
}

// write adds text, which need not end with a line end.
func (r *ring) write(text string, stderr bool) {
	of := &r.open[0]
	if stderr {
		of = &r.open[1]
	}
	text = *of + text
	for {
		line, rest, ok := strings.Cut(text, "\n")
		if !ok {
			break
		}
		r.push(strings.TrimSuffix(line, "\r"), stderr)
		text = rest
	}
	for len(text) > ringLine {
		cut := firstLines([]byte(text), 1, ringLine)
		r.push(text[:cut], stderr)
		text = text[cut:]
	}
	*of = strings.Clone(text)
}

func (r *ring) push(line string, stderr bool) {
	for len(line) > ringLine {
		cut := firstLines([]byte(line), 1, ringLine)
		r.push(line[:cut], stderr)
		line = line[cut:]
	}
	r.lines = append(r.lines, board.JobLine{Text: strings.Clone(line), Stderr: stderr})
	r.bytes += len(line) + lineCost
	old := 0
	for r.bytes > ringBytes {
		r.bytes -= len(r.lines[old].Text) + lineCost
		old++
	}
	r.gone += old
	clear(r.lines[:old])
	r.lines = r.lines[old:]
}

// all returns the kept lines, unfinished ones last.
func (r *ring) all() []board.JobLine {
	list := slices.Clone(r.lines)
	for i, text := range r.open {
		if text != "" {
			list = append(list, board.JobLine{Text: text, Stderr: i == 1})
		}
	}
	return list
}
