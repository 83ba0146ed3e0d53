package board

import (
	"context"
	"time"

	"dragoman/core"
)

// Job tells of a command that runs behind a session, or ran.
type Job struct {
	Info    JobInfo
	Control JobControl
}

// JobControl is a handle on such a command. Its methods may be called by any goroutine.
type JobControl interface {
	// Kill ends it and everything that it started, and waits for that; a job that
	// has ended is no error. Killed says that it ran until then.
	Kill(context.Context) (killed bool, err error)
	// Output is what it printed, of the end; at most 1 MiB.
	Output() []JobLine
}

// JobStatus is how far a job is.
type JobStatus string

const (
	JobRunning JobStatus = "running"
	JobDone    JobStatus = "completed" // with exit code 0
	JobFailed  JobStatus = "failed"    // with another one, or it could not start
	JobKilled  JobStatus = "killed"
)

// JobInfo describes a job.
type JobInfo struct {
	ID      string // unique in the process
	Session core.SessionID
	Summary string // what it is for, in the agent's words; may be empty
	Command string
	Cwd     string
	Status  JobStatus
	Exit    *int // nil: it runs, or a signal ended it
	Started time.Time
	Ended   time.Time
}

// JobLine is a line that a job printed.
type JobLine struct {
	Text   string
	Stderr bool
}
