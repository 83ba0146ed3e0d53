package board

import (
	"context"
	"time"

	"dragoman/core"
)

// Job is a background command of a session, running or ended.
type Job struct {
	Info    JobInfo
	Control JobControl
}

// JobControl is a handle on such a command. Its methods may be called by any
// goroutine.
type JobControl interface {
	// Kill ends it and everything that it started, and waits for that; a job that has
	// already ended is no error. killed reports whether it was running until then.
	Kill(context.Context) (killed bool, err error)
	// Output returns the end of its output; at most 1 MiB.
	Output() []JobLine
}

// JobStatus is the state of a job.
type JobStatus string

const (
	JobRunning JobStatus = "running"
	JobDone    JobStatus = "completed" // with exit code 0
	JobFailed  JobStatus = "failed"    // with another exit code, or it could not start
	JobKilled  JobStatus = "killed"
)

// JobInfo describes a job.
type JobInfo struct {
	ID      string // unique in the process
	Session core.SessionID
	Summary string // its purpose, in the agent's words; may be empty
	Command string
	Cwd     string
	Status  JobStatus
	Exit    *int // nil: it is running, or a signal ended it
	Started time.Time
	Ended   time.Time
}

// JobLine is a line that a job printed.
type JobLine struct {
	Text   string
	Stderr bool
}
