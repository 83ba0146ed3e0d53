package refer

import (
	"context"
	"fmt"
	"testing"

	"dragoman/core"
	"dragoman/core/workspace"
)

// keeper counts the workspaces whose names it was asked to keep.
type keeper struct {
	workspace.Files

	kept int
}

func (k *keeper) Keep(roots []string) workspace.Finder {
	k.kept++
	return keptNames(fmt.Sprint(roots, k.kept))
}

// keptNames finds its own name.
type keptNames string

func (k keptNames) Find(context.Context, string, int) []workspace.FileName {
	return []workspace.FileName{{Path: string(k)}}
}

// Names are kept for one workspace and one profile, until they are dropped.
func TestTypingKeepsNames(t *testing.T) {
	var k keeper
	one := &core.Profile{Workspace: workspace.Contents{Files: &k}}
	two := &core.Profile{Workspace: workspace.Contents{Files: &k}}
	var ty Typing
	find := func(p *core.Profile, root, want string) {
		t.Helper()
		if got := ty.Find(t.Context(), p, []string{root}, "x", 9); len(got) != 1 || got[0].Path != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	find(one, "/a", "[/a] 1")
	find(one, "/a", "[/a] 1")
	find(two, "/a", "[/a] 2") // other rules, perhaps
	find(two, "/b", "[/b] 3")
	ty.Drop()
	find(two, "/b", "[/b] 4")
	if got := ty.Find(t.Context(), nil, []string{"/b"}, "x", 9); got != nil {
		t.Errorf("found %v without a profile", got)
	}
}

// A newer query ends the older one of its method and chat, and no other.
func TestTypingEndsOlderQueries(t *testing.T) {
	var ty Typing
	first, done := ty.Begin(t.Context(), "m", "c")
	other, otherDone := ty.Begin(t.Context(), "m", "d")
	defer otherDone()
	second, secondDone := ty.Begin(t.Context(), "m", "c")
	if done(); first.Err() == nil || second.Err() != nil || other.Err() != nil {
		t.Errorf("ended: first %v, second %v, other %v", first.Err(), second.Err(), other.Err())
	}
	third, thirdDone := ty.Begin(t.Context(), "m", "c")
	defer thirdDone()
	if secondDone(); second.Err() == nil || third.Err() != nil || len(ty.newest) != 2 {
		t.Errorf("%v, %v, %d queries", second.Err(), third.Err(), len(ty.newest))
	}
	var k keeper
	p := &core.Profile{Workspace: workspace.Contents{Files: &k}}
	if got := ty.Find(second, p, []string{"/a"}, "x", 9); got != nil || k.kept != 0 {
		t.Errorf("an ended query found %v", got)
	}
}
