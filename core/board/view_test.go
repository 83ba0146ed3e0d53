package board_test

import (
	"context"
	"testing"

	"dragoman/core"
	"dragoman/core/board"
)

// A view shows only its topics. Its revisions are those of its topics, so that a
// reader with all of them waits for no others.
func TestView(t *testing.T) {
	b := board.New()
	v := b.For(func(topic board.Topic) bool { return topic.Layer == "" })
	put := func(name, layer string) {
		b.Put(board.Topic{Kind: "server", Name: name, Layer: layer}, board.Server{Name: name})
	}
	put("ours", "")
	put("theirs", "1")
	list, now := v.Now()
	if len(list) != 1 || list[0].Topic.Name != "ours" || now != list[0].Rev {
		t.Errorf("now %+v at %d", list, now)
	}
	if list, rev, err := v.Next(t.Context(), 0); err != nil || len(list) != 1 || rev != now {
		t.Errorf("first %+v at %d, %v", list, rev, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, rev, err := v.Next(ctx, now); err == nil || rev != now {
		t.Errorf("nothing is new, got %+v at %d", list, rev)
	}
	put("theirs too", "1")
	put("more", "")
	if list, rev, err := v.Next(t.Context(), now); err != nil || len(list) != 1 || list[0].Topic.Name != "more" || rev != list[0].Rev {
		t.Errorf("then %+v at %d, %v", list, rev, err)
	}
}

// A topic is got alone. What was removed and what the view does not show has no value.
func TestGet(t *testing.T) {
	b := board.New()
	v := b.For(func(topic board.Topic) bool { return topic.Layer == "" })
	ours, gone := board.PresentTopic(core.Local, "ours"), board.PresentTopic(core.Local, "gone")
	theirs := board.Topic{Kind: "server", Name: "theirs", Layer: "1"}
	b.Put(ours, board.Present{Clients: []core.Attendee{{ID: "z"}}})
	b.Put(gone, board.Present{})
	b.Drop(gone)
	b.Put(theirs, board.Server{Name: "theirs"})
	if list := board.Clients(v, core.Local, "ours"); len(list) != 1 || list[0].ID != "z" {
		t.Errorf("the clients are %v", list)
	}
	for _, topic := range []board.Topic{gone, theirs, board.PresentTopic("other", "ours")} {
		if item := v.Get(topic); item != nil {
			t.Errorf("%v has %v", topic, item)
		}
	}
	if b.Get(theirs) == nil {
		t.Error("the board itself shows less than all")
	}
}
