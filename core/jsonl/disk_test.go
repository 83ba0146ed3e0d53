package jsonl_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/core"
	"dragoman/core/jsonl"
)

// childFill writes to a session until the disk is full, then checks that the log is
// sound, that other sessions are not affected, and that writing continues when there
// is room. It asks for room, and for less, by a line of its output.
func childFill(dir string, id core.SessionID) error {
	if err := lessRoom(); err != nil {
		return fmt.Errorf("cannot test: %w", err)
	}
	ctx := context.Background()
	j, err := jsonl.New(dir).Open(ctx, core.Local, id)
	if err != nil {
		return err
	}
	epoch, err := j.Claim(ctx)
	if err != nil {
		return err
	}
	batch := []core.Record{next(j, epoch, core.Claimed{Epoch: epoch})}
	written := 1
	for n := 0; ; n++ {
		if err = j.Write(ctx, batch); err != nil {
			break
		}
		if n > 1000 {
			return errors.New("the disk is never full")
		}
		written += len(batch)
		seq := batch[len(batch)-1].Seq
		call := core.Call{ID: core.CallID(fmt.Sprint("c", n)), Tool: "x", Title: strings.Repeat("title ", 100), State: core.Proposed}
		batch = []core.Record{
			{Epoch: epoch, Seq: seq + 1, Event: core.Notice{Text: strings.Repeat("y", 500)}},
			{Epoch: epoch, Seq: seq + 2, Event: core.CallChanged{Call: call}},
		}
	}
	if !errors.Is(err, errFull) {
		return fmt.Errorf("a write to a full disk fails with %w, which is not %w", err, errFull)
	}
	count := func() (n int) {
		for r, err := range j.Read(ctx, core.Pos{}) {
			if n++; err != nil || r.Seq != uint64(n) {
				return -1
			}
		}
		return n
	}
	if n := count(); n != written {
		return fmt.Errorf("%d records were written before the disk was full, %d are there", written, n)
	}
	for range 3 { // repeatedly
		if err := j.Write(ctx, batch); !errors.Is(err, errFull) {
			return fmt.Errorf("a second write to a full disk: %w", err)
		}
	}
	if err := moreRoom(); err != nil {
		return err
	}
	if err := j.Write(ctx, batch); err != nil {
		return fmt.Errorf("a write when there is room again: %w", err)
	}
	written += len(batch)
	last := core.Record{}
	for r := range j.Read(ctx, core.Pos{}) {
		last = r
	}
	if c, ok := last.Event.(core.CallChanged); !ok || len(c.Call.Title) != 600 {
		return fmt.Errorf("the record written again is %+v", last)
	}
	if n := count(); n != written {
		return fmt.Errorf("%d records were written, %d are there", written, n)
	}
	fmt.Println("whole")
	return j.Close()
}
