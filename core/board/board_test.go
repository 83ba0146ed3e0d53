package board_test

import (
	"context"
	"fmt"
	"testing"

	"dragoman/core"
	"dragoman/core/board"
)

// The board keeps the newest value of each topic for readers that were away.
func TestBoard(t *testing.T) {
	b := board.New()
	for i := range 1000 {
		b.Put(board.Topic{Kind: "session", Name: fmt.Sprint(i % 3)}, board.Session{Summary: core.Summary{Messages: i}})
	}
	b.Drop(board.Topic{Kind: "session", Name: "0"})
	list, rev, err := b.Next(t.Context(), 0)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d postings, %v", len(list), err)
	}
	if _, gone := list[2].Item.(board.Gone); !gone || list[2].Rev != rev {
		t.Errorf("the last posting is %+v", list[2])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, _, err := b.Next(ctx, rev); err == nil {
		t.Errorf("nothing is new, got %v", list)
	}
}

// After any number of sessions and jobs, the board keeps the newest of them, and all
// current items.
func TestBoardForgets(t *testing.T) {
	b := board.New()
	b.Put(board.Topic{Kind: "models"}, board.Models{Default: "m"})
	b.Put(board.Topic{Kind: "session", Name: "first"}, board.Session{})
	for i := range 20000 {
		b.Put(board.Topic{Kind: "session", Name: fmt.Sprint(i)}, board.Session{Summary: core.Summary{Messages: i}})
		job := board.Topic{Kind: "job", Name: fmt.Sprint(i)}
		b.Put(job, board.Job{})
		b.Drop(job)
	}
	b.Put(board.Topic{Kind: "job", Name: "running"}, board.Job{})
	list, rev, err := b.Next(t.Context(), 0)
	if err != nil || len(list) < 1024 || len(list) > 2100 {
		t.Fatalf("%d postings, %v", len(list), err)
	}
	if list[0].Topic.Kind != "models" || list[len(list)-1].Topic.Name != "running" || list[len(list)-3].Topic.Name != "19999" || rev != list[len(list)-1].Rev {
		t.Errorf("the first is %+v, the last %+v", list[0], list[len(list)-1])
	}
	b.Put(board.Topic{Kind: "session", Name: "first"}, board.Session{}) // the board has forgotten it
	if list, _, err := b.Next(t.Context(), rev); err != nil || len(list) != 1 {
		t.Errorf("%d postings, %v", len(list), err)
	}
}
