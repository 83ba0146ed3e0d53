package setup

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/control"
)

// The options of two editors. Bob's send data elsewhere, which needs his consent.
const (
	optionsOfAda = `{"agents":{"adas":{"description":"Ada's"}},"model":"offline/demo","policy":{"deny":[{"tool":"shell_command"}]},"mcp_servers":{"adas-server":{"url":"http://127.0.0.1:1/mcp"}}}`
	optionsOfBob = `{"agents":{"bobs":{"disabled_tools":["read_file"]}},"providers":{"bobs-house":{"base_url":"http://127.0.0.1:1/v1"}}}`
)

// connect begins another connection of the room's process.
func (r *room) connect(options string, people bool) *Client {
	r.t.Helper()
	c := r.profiles.process.Client(ClientOptions{Principal: core.Local, People: people})
	if options != "" {
		if err := c.Configure(json.RawMessage(options)); err != nil {
			r.t.Fatal(err)
		}
	}
	return c
}

// seen describes the offer and the messages of a connection.
func (r *room) seen(c *Client) string {
	r.t.Helper()
	made, err := c.In(r.t.Context(), []string{r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	check := core.Check{Spec: core.Spec{Server: core.Native, Name: "shell_command", Kind: core.KindExecute}, Meta: core.Meta{Cwd: r.dir}}
	check.Call = core.Call{Server: core.Native, Tool: "shell_command", Kind: core.KindExecute, Args: json.RawMessage("{}")}
	parts := []string{AgentNames(made.Agents), string(made.Policy.Decide(check).Effect)}
	var names []string
	for _, a := range control.AccountsOf(&made.Profile).List(r.t.Context()) {
		if strings.HasSuffix(a.Provider, "-house") {
			names = append(names, a.Provider)
		}
	}
	posted, _ := c.Board().Now()
	for _, p := range posted {
		switch item := p.Item.(type) {
		case board.Server:
			names = append(names, item.Name)
		case board.Agents:
			names = append(names, "["+AgentNames(item.Agents)+"]")
		default:
		}
	}
	slices.Sort(names)
	return strings.Join(append(parts, strings.Join(names, " ")), "; ")
}

// Two editors in one process see nothing of each other's options, whoever connects first, and
// neither does a client without any.
func TestEditorsDoNotSeeEachOthersOptions(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.configure("mcp_servers: {ours: {command: x, disabled: true}}\n")
	ada, bob, plain := r.connect(optionsOfAda, true), r.connect(optionsOfBob, true), r.connect("", true)
	want := map[*Client]string{
		ada: "code, plan, adas; deny; adas-server native ours", bob: "code, plan, bobs; ask; native ours", plain: "code, plan; ask; native ours",
	}
	look := func(when string) {
		t.Helper()
		for _, c := range []*Client{ada, bob, plain, ada} {
			if got := r.seen(c); got != want[c] {
				t.Errorf("%s: seen %q, want %q", when, got, want[c])
			}
		}
	}
	look("at first")
	agree(t, bob, "use") // his provider waits for consent
	want[bob] = "code, plan, bobs; ask; [code, plan, bobs] bobs-house native ours"
	look("after bob's consent")
	before := map[*Client]*Profile{}
	for _, c := range []*Client{ada, plain} {
		before[c], _ = c.In(t.Context(), []string{r.dir})
	}
	if err := bob.Providers().Set(t.Context(), "openai", "openai", "http://127.0.0.1:1/v1", map[string]string{"Authorization": "Bearer bobs"}); err != nil {
		t.Fatal(err)
	}
	if made, err := bob.Load(); err != nil || !made.Config.Directed("openai") {
		t.Errorf("bob's route is not taken: %v", err)
	}
	for c, was := range before {
		made, err := c.In(t.Context(), []string{r.dir})
		if err != nil || made != was || made.Config.Directed("openai") {
			t.Errorf("another connection's profile was made anew by bob's route: %v", err)
		}
	}
	bob.Close()
	for _, c := range []*Client{ada, plain} {
		if got := r.seen(c); got != want[c] {
			t.Errorf("without bob: seen %q, want %q", got, want[c])
		}
	}
}

// agree makes a connection's user answer the question about the editor's options.
func agree(t *testing.T, c *Client, answer string) {
	t.Helper()
	asked := 0
	c.Before(t.Context(), core.Meta{ID: "s"}, answeringHost{answer: func(core.Ask) core.Reply {
		asked++
		return core.Reply{Outcome: core.OutcomeAnswered, Option: answer}
	}})
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// answeringHost is a host whose user answers at once.
type answeringHost struct {
	core.Host

	answer func(core.Ask) core.Reply
}

func (a answeringHost) Ask(_ context.Context, q core.Ask) (core.Reply, error) {
	return a.answer(q), nil
}

func (answeringHost) Publish(context.Context, ...core.Event) error { return nil }

// A consent applies to the connection that asked; only a permanent one applies to later ones of
// the same principal.
func TestConsentBelongsToItsConnection(t *testing.T) {
	r := newRoom(t, nil, nil)
	has := func(c *Client) bool {
		made, err := c.Load()
		if err != nil {
			t.Fatal(err)
		}
		_, ok := made.Config.Provider("bobs-house")
		return ok
	}
	one, two := r.connect(optionsOfBob, true), r.connect(optionsOfBob, true)
	if has(one) || has(two) {
		t.Fatal("nobody has agreed")
	}
	agree(t, one, "use")
	if !has(one) || has(two) {
		t.Errorf("the one that has agreed %v, the other %v", has(one), has(two))
	}
	agree(t, two, "always")
	later := r.connect(optionsOfBob, true)
	other := r.profiles.process.Client(ClientOptions{Principal: "somebody else", People: true})
	if err := other.Configure(json.RawMessage(optionsOfBob)); err != nil {
		t.Fatal(err)
	}
	if !has(later) || has(other) {
		t.Errorf("a later connection %v, another principal's %v", has(later), has(other))
	}
	agree(t, other, "always")
	if !has(other) {
		t.Error("the other principal's consent does not count")
	}
}

// Connections with equal overlays share the very same profiles; a change of one connection leaves
// the others' unchanged, and unused profiles are released.
func TestEqualOverlaysShareProfiles(t *testing.T) {
	r := newRoom(t, nil, nil)
	p := r.profiles.process
	spaced := strings.ReplaceAll(optionsOfAda, ",", " , ")
	one, two, program := r.connect(optionsOfAda, true), r.connect(spaced, true), r.connect(optionsOfAda, false)
	in := func(c *Client) *Profile {
		t.Helper()
		made, err := c.In(t.Context(), []string{r.dir})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	first := in(one)
	if in(two) != first || in(one) != first {
		t.Error("equal overlays have different profiles")
	}
	if in(program) == first {
		t.Error("prompts of people and of programs have one profile")
	}
	n := len(p.all())
	if err := two.Configure(json.RawMessage(optionsOfBob)); err != nil {
		t.Fatal(err)
	}
	if in(one) != first || in(two) == first || len(p.all()) != n+1 {
		t.Errorf("a change of one connection changed the other's, or %d editions", len(p.all()))
	}
	edition := two.edition()
	if err := two.Configure(json.RawMessage(`{"model":"offline/demo"}`)); err != nil {
		t.Fatal(err)
	}
	if two.edition() != edition || len(p.all()) != n+1 {
		t.Error("a connection that changes its overlay alone has another edition")
	}
	two.Close()
	two.Close()
	program.Close()
	if all := p.all(); len(all) != n-1 || slices.Contains(all, edition) {
		t.Errorf("%d editions are left, want %d", len(all), n-1)
	}
	if in(two) == nil {
		t.Error("a turn that still runs has no profile")
	}
}
