package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/display"
	"dragoman/core/files"
	"dragoman/core/shell"
)

// jobsSpec is ReadOnly: the tool reads and ends only jobs that this session's own
// approved commands have started.
var jobsSpec = core.Spec{
	Server: core.Native,
	Name:   "background_jobs",
	Title:  "Background jobs",
	Description: "Looks after the commands that shell_command started in the background in this session. list shows them; read_output returns " +
		"what one has printed so far, of the last MiB, with [stderr] before lines of errors; kill ends one and everything it started. Jobs end " +
		"with the session.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "action": {"type": "string", "enum": ["list", "read_output", "kill"]},
    "id": {"type": "string", "description": "The job. For read_output and kill."},
    "offset": {"type": "integer", "minimum": 1, "description": "For read_output: the first line to return, counted from 1."},
    "tail": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "For read_output without offset: how many lines of the end to return. Default 200."}
  },
  "required": ["action"],
  "additionalProperties": false
}`),
	Kind:     core.KindOther,
	ReadOnly: true,
}

func (s *toolset) prepareJobs(_ context.Context, a *args) (*step, error) {
	action, id := a.text("action"), a.optText("id", "")
	offset, tail := a.integer("offset", 0, 1, 0), a.integer("tail", 200, 1, maxLines)
	if a.given("offset") && a.given("tail") {
		a.fail("arguments %q and %q exclude each other", "offset", "tail")
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	if action == "list" {
		return &step{Preview: core.Preview{Title: "List the background jobs", Kind: core.KindRead}, run: s.listJobs}, nil
	}
	if action != "read_output" && action != "kill" {
		return nil, fmt.Errorf("argument %q must be list, read_output or kill, not %q", "action", action)
	}
	if id == "" {
		return nil, fmt.Errorf("argument %q is missing", "id")
	}
	j, err := s.jobs.find(id)
	if err != nil {
		return nil, err
	}
	of, _ := display.Clip(j.look().Command, titleMax/2)
	if action == "kill" {
		return &step{
			Preview: core.Preview{Title: "End the job " + plainLabel(of), Kind: core.KindExecute},
			run:     func(ctx context.Context, _ core.Invocation) (core.Result, error) { return killJob(ctx, j) },
		}, nil
	}
	return &step{
		Preview: core.Preview{Title: "Read the output of " + label(of), Kind: core.KindRead},
		run: func(context.Context, core.Invocation) (core.Result, error) {
			if offset > 0 {
				return jobOutput(j, offset, maxLines)
			}
			return jobOutput(j, 0, tail)
		},
	}, nil
}

func (s *toolset) listJobs(context.Context, core.Invocation) (core.Result, error) {
	var b strings.Builder
	for _, j := range s.jobs.all() {
		info := j.look()
		line, left := display.Clip(visible(info.Command), titleMax)
		if left > 0 {
			line += "…"
		}
		fmt.Fprintf(&b, "%s: %s: %s", info.ID, j.words(), line)
		if info.Summary != "" {
			fmt.Fprintf(&b, " (%s)", visible(info.Summary))
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return text("no job was started in this session"), nil
	}
	return text(b.String()), nil
}

func killJob(ctx context.Context, j *job) (core.Result, error) {
	killed, err := j.Kill(ctx)
	if err != nil {
		return core.Result{}, err
	}
	if !killed {
		return text(fmt.Sprintf("%s had ended already: %s", j.look().ID, j.words())), nil
	}
	return text(j.look().ID + " was killed"), nil
}

// jobOutput returns lines from an offset, or with offset 0 at most that many of the
// end.
func jobOutput(j *job, offset, most int) (core.Result, error) {
	state := j.words() // before its output, so that the output of an ended job is complete
	lines, gone := j.printed()
	total := gone + len(lines)
	if offset > total && total > 0 {
		return text(fmt.Sprintf("[%s: %s; it has %d lines so far]", j.look().ID, state, total)), nil
	}
	first := max(offset, gone+1)
	if offset == 0 {
		first = max(total-most+1, gone+1)
	}
	var b strings.Builder
	last := first - 1
	for _, l := range lines[min(first-1-gone, len(lines)):] {
		line := l.Text
		if l.Stderr {
			line = "[stderr] " + line
		}
		if last-first+1 >= most || b.Len() > 0 && b.Len()+len(line) > maxBytes {
			break
		}
		if len(line) > maxBytes {
			line = line[:firstLines([]byte(line), 1, maxBytes)] + "…"
		}
		b.WriteString(line + "\n")
		last++
	}
	about := []string{j.look().ID + ": " + state}
	switch {
	case total == 0:
		about = append(about, "it has printed nothing")
	case len(lines) == 0:
		about = append(about, "its output is kept no more")
	default:
		about = append(about, fmt.Sprintf("lines %d–%d of %d", first, last, total))
	}
	about = append(about,
		note(last < total && len(lines) > 0, fmt.Sprintf("go on with offset %d", last+1)),
		note(offset > 0 && offset <= gone, fmt.Sprintf("the %d lines before that are kept no more", gone)))
	return text(b.String(), notes(about...)), nil
}

// runBackground starts a command as a job.
func (s *toolset) runBackground(
	ctx context.Context,
	inv core.Invocation,
	p files.Place,
	c shell.Command,
	line, summary string,
) (core.Result, error) {
	if err := s.ready(p, &c, inv.Origin); err != nil {
		return core.Result{}, err
	}
	j, err := s.jobs.start(ctx, board.JobInfo{Summary: summary, Command: line, Cwd: p.Real, Started: time.Now()}, c)
	switch {
	case errors.Is(err, core.ErrClosed) || ctx.Err() != nil:
		return core.Result{}, err
	case err != nil:
		return core.Result{}, fmt.Errorf("start %s: %w", s.shell.Name, err)
	}
	info := j.look()
	res := text(
		fmt.Sprintf("started in the background as %s: use background_jobs to read what it prints, and to end it", info.ID),
	)
	res.Structured, err = json.Marshal(map[string]string{"job": info.ID, "status": string(info.Status)})
	return res, err
}
