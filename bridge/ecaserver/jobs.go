package ecaserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/display"
)

// Board shows the jobs of all sessions.
type Board interface {
	Put(board.Topic, board.Item)
	Drop(board.Topic)
}

// job is one of the server's, as it was told last.
type job struct {
	topic board.Topic
	info  board.JobInfo
}

// jobStates are the states of the document.
var jobStates = []board.JobStatus{board.JobRunning, board.JobDone, board.JobFailed, board.JobKilled}

// maxJobs limits the jobs of a server that are looked at.
const maxJobs = 1000

// jobsUpdated handles jobs/updated: the jobs of the server's own, which keep the session awake. They are on
// the board while the server runs, and those that begin or end are told.
func (p *peer) jobsUpdated(params json.RawMessage) {
	var list eca.JobsListResult
	if p.c == nil || wire.Unmarshal(params, &list) != nil || len(list.Jobs) > maxJobs {
		return
	}
	now := map[string]job{}
	var told []string
	c := p.c
	c.mu.Lock()
	before := c.jobs
	for _, is := range list.Jobs {
		if is.ChatID != "" && is.ChatID != c.root.id {
			continue
		}
		was, known := before[is.ID]
		j := c.jobOf(is, was)
		now[is.ID] = j
		label := cmp.Or(j.info.Summary, j.info.Command)
		switch {
		case j.info.Status == board.JobRunning && !known:
			told = append(told, fmt.Sprintf("the job %s runs in the background: %s", display.Word(is.ID), label))
		case was.info.Status == board.JobRunning && j.info.Status != board.JobRunning:
			end := display.Line(is.Status, 40)
			if is.ExitCode != nil {
				end += fmt.Sprintf(" (exit code %d)", *is.ExitCode)
			}
			told = append(told, fmt.Sprintf("the job %s has ended: %s: %s", display.Word(is.ID), label, end))
		}
	}
	c.jobs = now
	c.mu.Unlock()
	c.post(p, before, now)
	for _, text := range told {
		c.notice(core.Info, text)
	}
}

// jobOf describes a job that was told as was before; the zero value: it was not.
func (c *conversation) jobOf(is eca.Job, was job) job {
	id := "agent-" + c.b.o.Name + "-" + string(c.bind.Meta.ID) + "-" + display.Word(is.ID)
	j := job{
		topic: board.Topic{Kind: "job", Name: id, Principal: c.bind.Meta.Principal},
		info: board.JobInfo{
			ID: id, Session: c.bind.Meta.ID, Command: display.Line(is.Label, 200), Cwd: c.bind.Meta.Cwd,
			Status: board.JobStatus(is.Status), Exit: is.ExitCode, Started: was.info.Started, Ended: was.info.Ended,
		},
	}
	if is.Summary != nil {
		j.info.Summary = display.Line(*is.Summary, 200)
	}
	if !slices.Contains(jobStates, j.info.Status) {
		j.info.Status = board.JobFailed
	}
	if j.info.Started.IsZero() {
		var err error
		if j.info.Started, err = time.Parse(time.RFC3339, is.StartedAt); err != nil {
			j.info.Started = c.b.o.Time()
		}
	}
	if j.info.Status != board.JobRunning && j.info.Ended.IsZero() {
		j.info.Ended = c.b.o.Time()
	}
	return j
}

// post shows the jobs of the server on the board, and takes those off that are not there any more.
func (c *conversation) post(p *peer, before, now map[string]job) {
	if c.b.o.Board == nil {
		return
	}
	for id, j := range before {
		if _, there := now[id]; !there {
			c.b.o.Board.Drop(j.topic)
		}
	}
	for id, j := range now {
		if !reflect.DeepEqual(j, before[id]) {
			c.b.o.Board.Put(j.topic, board.Job{Info: j.info, Control: control{p, id}})
		}
	}
}

// dropJobs takes all jobs off the board: they have ended with the server.
func (c *conversation) dropJobs() {
	c.mu.Lock()
	before := c.jobs
	c.jobs = map[string]job{}
	c.mu.Unlock()
	c.post(nil, before, nil)
}

// control is a handle on a job of the server's.
type control struct {
	p  *peer
	id string
}

// Kill implements board.JobControl.
func (j control) Kill(ctx context.Context) (killed bool, err error) {
	var is eca.JobsKillResult
	err = j.p.conn.Ask(ctx, eca.MethodJobsKill, eca.JobParams{JobID: j.id}, &is)
	return is.Killed, err
}

// outputFor limits the time for the output of a job.
const outputFor = 5 * time.Second

// Output implements board.JobControl.
func (j control) Output() (lines []board.JobLine) {
	ctx, cancel := context.WithTimeout(j.p.life, outputFor)
	defer cancel()
	var is eca.JobOutputResult
	if j.p.conn.Ask(ctx, eca.MethodJobsReadOutput, eca.JobParams{JobID: j.id}, &is) != nil {
		return nil // a server that does not say has printed nothing
	}
	for _, l := range is.Lines {
		lines = append(lines, board.JobLine{Text: l.Text, Stderr: l.Stream == eca.StreamErr})
	}
	return lines
}

// serverUpdated handles tool/serverUpdated. An MCP server of the agent's own that has failed is told.
func (p *peer) serverUpdated(params json.RawMessage) {
	var s eca.ServerUpdatedParams
	if wire.Unmarshal(params, &s) != nil || p.c == nil || s.Type != eca.ServerMCP {
		return
	}
	switch s.Status {
	case "failed":
		p.c.notice(core.Warning, "its MCP server "+display.Word(s.Name)+" has failed")
	case "requires-auth":
		p.c.notice(core.Warning, "its MCP server "+display.Word(s.Name)+" wants a login, which only an editor of its own can give")
	}
}
