package core_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/fork"
	"dragoman/core/workspace"
)

// lacks returns the capability that an error says the agent lacks; empty: it says nothing of that.
func lacks(err error) core.Capability {
	var e *core.UnsupportedError
	if errors.As(err, &e) && e.Agent == "code" {
		return e.What
	}
	return ""
}

// What an agent cannot do is refused by the same error whoever asks for it, as the agent is at
// that moment, and changes nothing.
func TestWhatAnAgentCannotDoIsRefused(t *testing.T) {
	image, sound, page := core.Image{MIME: "image/png"}, core.Audio{MIME: "audio/wav"}, core.Resource{URI: "file:///w/a", Text: "a"}
	for _, test := range []struct {
		caps                                 core.BackendCaps
		rewind, fork, image, audio, resource core.Capability
	}{
		{core.BackendCaps{}, "", "", core.CanImages, core.CanAudio, core.CanResources},
		{core.BackendCaps{Images: true, Audio: true, Resources: true}, "", "", "", "", ""},
		{core.BackendCaps{OwnsHistory: true, Audio: true}, core.CanRewind, core.CanFork, core.CanImages, "", core.CanResources},
		{core.BackendCaps{OwnsHistory: true, Rewind: true, Images: true}, "", core.CanFork, "", core.CanAudio, core.CanResources},
		{core.BackendCaps{OwnsHistory: true, Fork: true, Resources: true}, core.CanRewind, "", core.CanImages, core.CanAudio, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := reloadable(t)
			b := g.load("1", core.BackendCaps{Images: true, Audio: true, Resources: true})
			a := g.session(t, "a")
			prompt(t, a, say("hello"))
			synctest.Wait()
			b.Switch(test.caps)
			said := func(block core.Block) core.Capability {
				_, err := a.Prompt(t.Context(), core.Prompt{Blocks: []core.Block{core.Text{Text: "see"}, block}})
				synctest.Wait()
				return lacks(err)
			}
			before := a.Head()
			if got := [3]core.Capability{said(image), said(sound), said(page)}; got != [3]core.Capability{test.image, test.audio, test.resource} {
				t.Errorf("%+v: prompts are refused for %q", test.caps, got)
			}
			if test.image != "" && test.audio != "" && test.resource != "" && a.Head() != before {
				t.Errorf("%+v: refused prompts are in the log", test.caps)
			}
			_, fork := fork.Session(t.Context(), g.Gateway, a, a.Head(), "copy")
			_, rollback := workspace.Rollback(t.Context(), g.Gateway, a, core.Pos{Seq: 2}, true, true)
			if got := lacks(fork); got != test.fork || (got == "") != (fork == nil) {
				t.Errorf("%+v: fork: %v", test.caps, fork)
			}
			truncate := a.Truncate(t.Context(), core.Pos{Seq: 2})
			if lacks(rollback) != test.rewind || lacks(truncate) != test.rewind {
				t.Errorf("%+v: rollback: %v; truncate: %v", test.caps, rollback, truncate)
			}
			if left := a.State().Messages; (left > 0) != (test.rewind != "") {
				t.Errorf("%+v: %d messages are left", test.caps, left)
			}
			if _, err := workspace.Rollback(t.Context(), g.Gateway, a, core.Pos{Seq: 2}, false, true); err != nil {
				t.Errorf("%+v: files alone: %v", test.caps, err)
			}
		})
	}
}

// A prompt that waits goes to the agent of its time: one that cannot take it ends the turn with
// the same error. What a running turn cannot take is not said to it.
func TestAnAgentThatChangesMeanwhileIsNotHandedWhatItCannotTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := reloadable(t)
		all := core.BackendCaps{Images: true, Steer: true}
		b := g.load("1", all)
		a := g.session(t, "a")
		prompt(t, a, say("wait"))
		synctest.Wait()
		image := core.Prompt{Blocks: []core.Block{core.Text{Text: "see"}, core.Image{MIME: "image/png"}}}
		queued := prompt(t, a, image)
		b.Switch(core.BackendCaps{Steer: true})
		if a.Steer([]core.Block{core.Audio{MIME: "audio/wav"}}) {
			t.Error("a turn was told something that its agent does not take")
		}
		close(g.hold)
		r := a.Read(core.Pos{})
		defer r.Close()
		lines := follow(t, r, queued)
		if last := lines[len(lines)-1]; last != "TurnEnded error agent code takes no images" {
			t.Errorf("the turn ended with %q", last)
		}
		if heard := b.Heard(); !slices.Equal(heard, []string{"wait"}) {
			t.Errorf("the agent heard %q", heard)
		}
	})
}

// An agent that owns its history and can fork is asked for its side at once, before the original
// goes on, and only where the copy ends where the agent does.
func TestAnAgentForksItsOwnSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := reloadable(t)
		b := g.load("1", core.BackendCaps{OwnsHistory: true, Fork: true})
		a := g.session(t, "a")
		prompt(t, a, say("hello"))
		synctest.Wait()
		middle := a.Head()
		prompt(t, a, say("more"))
		synctest.Wait()
		if _, err := fork.Session(t.Context(), g.Gateway, a, middle, ""); lacks(err) != core.CanRewind {
			t.Errorf("a fork in front of what the agent has said: %v", err)
		}
		s, err := fork.Session(t.Context(), g.Gateway, a, a.Head(), "copy")
		if err != nil {
			t.Fatal(err)
		}
		bound := b.Bindings()
		if len(bound) != 2 || bound[0].Fork != nil || string(bound[1].Fork) != `"1"` || bound[1].State != nil || bound[1].Meta.ID != "copy" {
			t.Fatalf("the agent was bound to %+v", bound)
		}
		copied := s.Attach(core.Client{Name: "tester"})
		prompt(t, copied, say("on"))
		synctest.Wait()
		<-time.After(5 * time.Minute)
		if n := len(b.Bindings()); n != 2 || copied.State().Messages == 0 {
			t.Errorf("the copy of %d messages has had %d conversations in all", copied.State().Messages, n)
		}
	})
}

// Commands come before the back end, whatever it is: they work where its agent cannot even
// start. What is none goes to the agent as it was typed, and a command that stands for a text
// as that text.
func TestCommandsComeBeforeTheBackEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := reloadable(t)
		b := g.load("1", owns)
		fails := failing{b}
		prof := g.prof.Load()
		prof.Agents = append(prof.Agents, core.Agent{Name: "broken", Backend: fails})
		prof.Command = func(ctx context.Context, turn *core.Turn, text string) (core.CommandResult, bool, error) {
			switch text {
			case "/model x":
				set := turn.State().Settings
				set.Model = "x"
				return core.CommandResult{Answer: "x it is"}, true, turn.Set(ctx, set)
			case "/init":
				return core.CommandResult{Prompt: "Look around."}, true, nil
			case "/bad":
				return core.CommandResult{}, true, errors.New("there is no such model")
			}
			return core.CommandResult{}, false, nil
		}
		a := g.session(t, "a")
		r := a.Read(a.Head())
		defer r.Close()
		for _, agent := range []string{"", "broken", "gone"} {
			p := say("/model x")
			p.Settings = &core.Settings{Agent: agent}
			wantLines(t, changes(follow(t, r, prompt(t, a, p))), "TextDelta x it is", "TurnEnded end_turn")
		}
		if set := a.State().Settings; set.Model != "x" || len(b.Bindings()) != 0 {
			t.Errorf("the settings are %+v, and the agent was bound %d times", set, len(b.Bindings()))
		}
		p := say("/own a b")
		p.Settings = &core.Settings{}
		follow(t, r, prompt(t, a, p))
		follow(t, r, prompt(t, a, say("/init")))
		wantLines(t, changes(follow(t, r, prompt(t, a, say("/bad")))), "TurnEnded error there is no such model")
		if heard := b.Heard(); !slices.Equal(heard, []string{"/own a b", "Look around."}) {
			t.Errorf("the agent heard %q", heard)
		}
	})
}

// changes leaves out what every turn begins with.
func changes(lines []string) []string {
	return slices.DeleteFunc(lines, func(l string) bool {
		return l != "" && !slices.ContainsFunc([]string{"TextDelta", "TurnEnded"}, func(kind string) bool { return len(l) >= len(kind) && l[:len(kind)] == kind })
	})
}

// failing is a back end that cannot start.
type failing struct{ core.Backend }

func (failing) Caps(context.Context) (core.BackendCaps, error) {
	return core.BackendCaps{}, errors.New("no such program")
}

func (failing) Open(context.Context, core.Binding) (core.Conversation, error) {
	return nil, errors.New("no such program")
}

// announced is a listing that looks at a session's commands each time it is told of others.
type announced struct {
	core.Listing
	look func()
}

func (announced) Listed(core.Principal, core.Summary)      {}
func (l announced) Offered(core.Principal, core.SessionID) { l.look() }

// An agent lists its commands before its capabilities are known. Whoever looks at the list at each
// announcement has seen the one without the commands that the agent cannot carry out.
func TestCommandsAreAnnouncedWithCapabilities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g *core.Gateway
		var a *core.Attachment
		var last []string
		l := announced{look: func() {
			all, err := g.Commands(t.Context(), a)
			if last = nil; err != nil {
				t.Error(err)
			}
			for _, c := range all {
				last = append(last, c.Name)
			}
		}}
		b := &coretest.Backend{CapsNow: owns, Run: echo, Offers: []core.Command{{Name: "review"}}}
		prof := &core.Profile{Agents: []core.Agent{{Name: "code", Backend: b}}, Commands: func(context.Context, core.Meta) []core.Command {
			return []core.Command{{Name: "export"}, {Name: "fork", Needs: core.CanFork}}
		}}
		g = core.New(core.Config{Store: coretest.NewMemory(), Node: "test", Listing: l, Profiles: coretest.Profiles(func(context.Context, []string) (*core.Profile, error) { return prof, nil })})
		defer closeGateway(t, g)
		s, err := g.Create(t.Context(), core.Meta{Principal: core.Local, ID: "s", Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		a = s.Attach(core.Client{Name: "tester"})
		for range 2 {
			last = []string{"nothing was announced"}
			prompt(t, a, say("hello"))
			synctest.Wait()
			if want := []string{"export", "review"}; !slices.Equal(last, want) {
				t.Errorf("the last announcement is of %q, want %q", last, want)
			}
			b.Switch(core.BackendCaps{OwnsHistory: true, Images: true})
		}
	})
}

// The commands of an agent's own join the list: in the place of ours of that name where ours
// gives way, and not where it does not. What the agent lacks a capability for is left out.
func TestCommandsOfTheAgentJoinTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := reloadable(t)
		b := g.load("1", owns)
		b.Offers = []core.Command{{Name: "review", Description: "theirs"}, {Name: "export", Description: "theirs"}, {Name: "init", Description: "theirs"}}
		g.prof.Load().Commands = func(context.Context, core.Meta) []core.Command {
			return []core.Command{
				{Kind: core.CommandBuiltin, Name: "export", Description: "ours"},
				{Kind: core.CommandBuiltin, Name: "init", Description: "ours", Yields: true},
				{Kind: core.CommandBuiltin, Name: "fork", Description: "ours", Needs: core.CanFork},
				{Kind: core.CommandCustom, Name: "review", Description: "ours"},
				{Kind: core.CommandSkill, Name: "release", Description: "ours"},
			}
		}
		a := g.session(t, "a")
		list := func() (names []string) {
			t.Helper()
			all, err := g.Commands(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range all {
				names = append(names, c.Name+" "+c.Description)
			}
			return names
		}
		if got, want := list(), []string{"export ours", "init ours", "fork ours", "review ours", "release ours"}; !slices.Equal(got, want) {
			t.Errorf("before the agent was asked: %q", got)
		}
		prompt(t, a, say("hello"))
		synctest.Wait()
		if got, want := list(), []string{"export ours", "release ours", "review theirs", "init theirs"}; !slices.Equal(got, want) {
			t.Errorf("behind the first turn: %q", got)
		}
		g.prof.Load().Agents = append(g.prof.Load().Agents, core.Agent{Name: "other", Backend: &coretest.Backend{}})
		if err := a.Set(t.Context(), core.Settings{Agent: "other"}); err != nil {
			t.Fatal(err)
		}
		if got := list(); len(got) != 5 {
			t.Errorf("of another agent: %q", got)
		}
	})
}
