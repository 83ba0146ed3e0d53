package eca

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"dragoman/adapters/proto/eca"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/board"
)

const (
	jobTopic    = "job"
	maxJobLines = 2000             // in one answer, the newest ones
	killWait    = 10 * time.Second // for a job and its child processes to end
)

// jobs lists the running and ended jobs of the sessions, the oldest first.
func (s *Server) jobs() (list []board.Job) {
	posted, _ := s.opts.Board.Now()
	for _, p := range posted {
		if item, ok := p.Item.(board.Job); ok && s.concerns(p.Topic) {
			list = append(list, item)
		}
	}
	slices.SortFunc(list, func(a, b board.Job) int {
		return cmp.Or(a.Info.Started.Compare(b.Info.Started), strings.Compare(a.Info.ID, b.Info.ID))
	})
	return list
}

// jobSummaries lists the jobs in the protocol's form, of chats that the user knows.
func (s *Server) jobSummaries() eca.JobsListResult {
	posted, _ := s.opts.Board.Now()
	sessions := map[core.SessionID]core.Summary{}
	for _, p := range posted {
		if item, ok := p.Item.(board.Session); ok && s.concerns(p.Topic) {
			sessions[item.Summary.ID] = item.Summary
		}
	}
	list := []eca.Job{}
	for _, j := range s.jobs() {
		chat := cmp.Or(sessions[j.Info.Session].Parent, j.Info.Session)
		list = append(list, jobOf(j.Info, chat, sessions[chat].Title, time.Now()))
	}
	return eca.JobsListResult{Jobs: list}
}

// jobOf describes a job at a time.
func jobOf(info board.JobInfo, chat core.SessionID, title string, now time.Time) eca.Job {
	j := eca.Job{
		ID: info.ID, Type: "shell", Status: string(info.Status), Label: info.Command, StartedAt: info.Started.UTC().Format(time.RFC3339),
		ExitCode: info.Exit, ChatID: string(chat), ChatLabel: cmp.Or(title, string(chat)),
	}
	if info.Summary != "" {
		j.Summary = &info.Summary
	}
	if !info.Ended.IsZero() {
		now = info.Ended
	}
	j.Elapsed = max(now.Sub(info.Started), 0).Truncate(time.Second).String()
	return j
}

// jobsList handles jobs/list.
func (s *Server) jobsList(ctx context.Context, call *wire.Call, _ noParams) error {
	s.reply(ctx, call, s.jobSummaries(), nil)
	return nil
}

// job finds a job by its id.
func (s *Server) job(id string) (board.Job, bool) {
	jobs := s.jobs()
	i := slices.IndexFunc(jobs, func(j board.Job) bool { return j.Info.ID == id })
	if i < 0 {
		return board.Job{}, false
	}
	return jobs[i], true
}

// jobsKill handles jobs/kill. A job that does not exist or has ended is not killed.
func (s *Server) jobsKill(ctx context.Context, call *wire.Call, p eca.JobParams) error {
	j, ok := s.job(p.JobID)
	if !ok || j.Control == nil {
		s.reply(ctx, call, eca.JobsKillResult{}, nil)
		return nil
	}
	s.wg.Go(func() {
		ctx, stop := context.WithTimeout(ctx, killWait)
		defer stop()
		killed, err := j.Control.Kill(ctx)
		if err != nil {
			s.log.Warn("a job was not ended", zap.String("job", p.JobID), zap.Error(err))
		}
		s.behindBoard(func() { s.reply(ctx, call, eca.JobsKillResult{Killed: killed}, nil) })
	})
	return nil
}

// jobsReadOutput handles jobs/readOutput.
func (s *Server) jobsReadOutput(ctx context.Context, call *wire.Call, p eca.JobParams) error {
	j, ok := s.job(p.JobID)
	if !ok {
		s.reply(ctx, call, nil, wrong("jobId: there is no job %.100q", p.JobID))
		return nil
	}
	res := eca.JobOutputResult{Lines: []eca.JobLine{}, Status: string(j.Info.Status), ExitCode: j.Info.Exit}
	if j.Control != nil {
		lines := j.Control.Output()
		for _, l := range lines[max(0, len(lines)-maxJobLines):] {
			stream := eca.StreamOut
			if l.Stderr {
				stream = eca.StreamErr
			}
			res.Lines = append(res.Lines, eca.JobLine{Text: l.Text, Stream: stream})
		}
	}
	s.reply(ctx, call, res, nil)
	return nil
}

// announceJobs sends jobs/updated with all jobs.
func (s *Server) announceJobs() {
	s.pump.Do(func() { s.notify(eca.MethodJobsUpdated, s.jobSummaries()) })
}
