package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"dragoman/core"
)

const (
	formatName    = "dragoman session"
	formatVersion = 1
)

// The first characters of lines.
const (
	tagHeader  = 'h'
	tagSession = 's'
	tagRecord  = 'r'
	tagSpill   = 'f'
	tagEnd     = 'e'
)

const (
	// MaxSize is the most bytes that a file may have when it is unpacked, unless the reader is told
	// another number.
	MaxSize = 4 << 30
	// maxLine is the longest line, in bytes: no message of a client is longer.
	maxLine = 96 << 20
	// maxSessions is the most sessions of a file: each is locked while they are imported.
	maxSessions = 1000
	// maxOpen is the most bytes of calls, questions and prompts that are open at once, and of marks of
	// messages: as long as the session is open they are kept in memory.
	maxOpen = 64 << 20
	// maxEpoch is the highest epoch: later owners of the session have still higher ones.
	maxEpoch = 1 << 40
	// maxSeq is the highest record number.
	maxSeq = 1 << 53
)

// header is the first line.
type header struct {
	Format   string           `json:"format"`
	Version  int              `json:"version"`
	By       string           `json:"by,omitempty"`
	Made     time.Time        `json:"made"`
	Sessions []core.SessionID `json:"sessions"`
}

// spill describes the cut output that follows.
type spill struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

// Info describes a file.
type Info struct {
	By       string           // the program that wrote it
	Made     time.Time        // when it was written
	Sessions []core.SessionID // as they are called in the file: the exported one, then those of tasks

	Chosen []core.SessionID // as they are called here

	// Of the exported session, as it is imported:
	ID    core.SessionID
	Title string
	Roots []string

	Records uint64 // of all sessions
	Missing uint64 // records that were missing in the logs that were written
	Bytes   int64  // unpacked
}

// Source is a store to export from.
type Source interface {
	Open(context.Context, core.Principal, core.SessionID) (core.Journal, error)
	List(context.Context, core.Principal) iter.Seq2[core.Summary, error]
	// SpillNames lists the names of a session's cut output.
	SpillNames(core.Principal, core.SessionID) ([]string, error)
}

// errForm refuses a file that is not one of ours, or is damaged.
var errForm = errors.New("it is damaged, or not a file of \"dragoman sessions export\"")

// appendLine appends a line.
func appendLine(dst []byte, tag byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return dst, err
	}
	return append(append(append(dst, tag, ' '), b...), '\n'), nil
}
