package setup

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/cmd/internal/program/programtest"
	"dragoman/core"
	"dragoman/core/board"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

func (r *room) configure(text string) {
	r.t.Helper()
	programtest.Write(r.t, filepath.Join(r.profiles.process.env.Getenv("XDG_CONFIG_HOME"), "dragoman", "config.yaml"), text)
}

// posted lists the kinds of topics that were posted since a revision.
func (r *room) posted(since *uint64) []string {
	r.t.Helper()
	r.profiles.process.board.Put(board.Topic{Kind: "mark"}, board.Gone{}) // Next needs a posting
	list, rev, err := r.profiles.process.board.Next(r.t.Context(), *since)
	if err != nil {
		r.t.Fatal(err)
	}
	*since = rev
	var kinds []string
	for _, p := range list {
		if p.Topic.Kind != "mark" && !slices.Contains(kinds, p.Topic.Kind) {
			kinds = append(kinds, p.Topic.Kind)
		}
	}
	return kinds
}

// A change of the file is noticed and announced; a mistake keeps the previous configuration, and
// is reported once; an unchanged part stays the same value.
func TestConfigurationIsReloaded(t *testing.T) {
	r := newRoom(t, nil, nil)
	var since uint64
	roots := []string{r.dir}
	get := func() *core.Profile {
		t.Helper()
		p, err := r.gateway.Profile(t.Context(), nil, roots)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	r.configure("agents: {one: {description: the first}}\n")
	first := get()
	r.posted(&since)
	if get() != first {
		t.Error("nothing changed, and the profile is another one")
	}
	r.profiles.edition().look(t.Context())
	if kinds := r.posted(&since); len(kinds) > 0 {
		t.Errorf("nothing changed, and %v were posted", kinds)
	}
	r.configure("agents: {one: {description: the first}, two: {description: the second}}\n")
	r.profiles.edition().look(t.Context())
	if kinds := r.posted(&since); !slices.Contains(kinds, "models") || !slices.Contains(kinds, "agents") {
		t.Errorf("a change posted %v", kinds)
	}
	second := get()
	if got := AgentNames(second.Agents); got != "code, plan, one, two" || second.Fault != "" {
		t.Errorf("agents: %s, fault %q", got, second.Fault)
	}
	if !slices.Equal(first.Toolboxes, second.Toolboxes) {
		t.Error("the tools are others, and what runs behind the sessions ends")
	}
	r.configure("agents: {one: {descriptoin: the first}}\n")
	r.profiles.edition().look(t.Context())
	if kinds := r.posted(&since); !slices.Contains(kinds, "models") {
		t.Errorf("a mistake posted %v", kinds)
	}
	wrong := get()
	if got := AgentNames(wrong.Agents); got != "code, plan, one, two" || !strings.Contains(wrong.Fault, `did you mean "description"`) {
		t.Errorf("with a mistake: %s, fault %q", got, wrong.Fault)
	}
	r.profiles.edition().look(t.Context())
	if kinds := r.posted(&since); len(kinds) > 0 {
		t.Errorf("the mistake is told again: %v", kinds)
	}
	notices := func() (n int) {
		for _, ev := range r.events {
			if e, ok := ev.(core.Notice); ok && strings.Contains(e.Text, "descriptoin") {
				n++
			}
		}
		return n
	}
	if r.say("hello"); notices() != 1 {
		t.Errorf("the turn's notices: %d", notices())
	}
	if r.say("hello"); notices() != 0 {
		t.Error("the same mistake was told to the same session again")
	}
	r.configure("agents: {three: {}}\n")
	r.profiles.edition().look(t.Context())
	if got := get(); AgentNames(got.Agents) != "code, plan, three" || got.Fault != "" {
		t.Errorf("mended: %s, %q", AgentNames(got.Agents), got.Fault)
	}
	if err := os.Remove(r.profiles.process.env.ConfigFile()); err != nil {
		t.Fatal(err)
	}
	if got := AgentNames(get().Agents); got != "code, plan" {
		t.Errorf("without a file: %s", got)
	}
}

// A mistake at the start is reported to every client, and its correction is announced, even
// without a request.
func TestConfigurationIsCorrected(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.configure("modle: x\n")
	if _, err := r.gateway.Profile(t.Context(), nil, nil); err == nil {
		t.Fatal("no error")
	}
	var since uint64
	r.posted(&since)
	r.profiles.edition().look(t.Context())
	if kinds := r.posted(&since); len(kinds) > 0 {
		t.Errorf("nothing changed, and %v were posted", kinds)
	}
	r.configure("model: offline/demo\n")
	r.profiles.edition().look(t.Context())
	if kinds := r.posted(&since); !slices.Contains(kinds, "models") || !slices.Contains(kinds, "server") {
		t.Errorf("mended: %v", kinds)
	}
}

// A file that the configuration refers to, and the workspace's files, are watched like the
// configuration itself.
func TestOtherFilesAreFollowed(t *testing.T) {
	r := newRoom(t, nil, map[string]string{"AGENTS.md": "Be kind."})
	programtest.Write(t, filepath.Join(r.dir, "..", "prompt.md"), "Be short.")
	r.configure("agents: {one: {instructions: \"${file:" + filepath.ToSlash(filepath.Join(r.dir, "..", "prompt.md")) + "}\"}}\n")
	system := func(name string) string {
		made, err := r.profiles.In(t.Context(), []string{r.dir})
		if err != nil {
			t.Fatal(err)
		}
		role, _ := made.role(name)
		return systemText(role, r.profiles.edition().guides, core.Meta{Cwd: r.dir, Roots: []string{r.dir}})
	}
	if s := system("one"); !strings.Contains(s, "Be short.") || !strings.Contains(s, "Be kind.") {
		t.Errorf("%s", s)
	}
	programtest.Write(t, filepath.Join(r.dir, "..", "prompt.md"), "Be very short.")
	if s := system("one"); !strings.Contains(s, "Be very short.") {
		t.Errorf("%s", s)
	}
	var since uint64
	r.posted(&since)
	programtest.Write(t, filepath.Join(r.dir, ".dragoman", "agents", "scout.md"), "---\ndescription: Looks around\nmode: primary\n---\nLook.")
	programtest.Write(t, filepath.Join(r.dir, ".dragoman", "commands", "go.md"), "read x")
	r.profiles.edition().look(t.Context())
	if kinds := r.posted(&since); !slices.Equal(kinds, []string{"agents"}) {
		t.Errorf("an agent's file posted %v", kinds)
	}
	made, err := r.gateway.Profile(t.Context(), nil, []string{r.dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := AgentNames(made.Agents); got != "code, plan, one, scout" {
		t.Errorf("agents: %s", got)
	}
	elsewhere, err := r.gateway.Profile(t.Context(), nil, []string{t.TempDir()})
	if err != nil || AgentNames(elsewhere.Agents) != "code, plan, one" {
		t.Errorf("elsewhere: %v, %v", AgentNames(elsewhere.Agents), err)
	}
}

func TestEditorsOptions(t *testing.T) {
	r := newRoom(t, nil, nil)
	r.configure("limits: {max_turn_requests: 5}\n")
	err := r.profiles.Configure(json.RawMessage(`{"chatAgent":"plan","whatever":1,"model":"nowhere/x","agents":{"mine":{"description":"From the editor"}},"limits":{"max_turn_requests":9,"compact_at":33}}`))
	if err == nil || !strings.Contains(err.Error(), `model: provider "nowhere"`) {
		t.Errorf("said: %v", err)
	}
	made, err := r.profiles.Load()
	if err != nil {
		t.Fatal(err)
	}
	if got := AgentNames(made.Agents); got != "code, plan, mine" || made.Config.Limits.MaxTurnRequests != 5 || made.Config.Limits.CompactAt != 33 {
		t.Errorf("%s, %+v", got, made.Config.Limits)
	}
	r.configure("agents: {mine: {description: Mine}}\n")
	if made, err = r.profiles.Load(); err != nil || made.Config.Agents["mine"].Description != "Mine" || made.Config.Limits.CompactAt != 33 {
		t.Errorf("%+v, %v", made.Config.Agents, err)
	}
}

// A reloaded configuration keeps the count of the requests to a service within the last minute.
func TestLimitsOutliveAReload(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"fine\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	}))
	defer srv.Close()
	r := newRoom(t, nil, nil)
	config := "model: house/m\nproviders:\n  house: {base_url: " + srv.URL + ", requests_per_minute: 1}\n"
	r.configure(config)
	if said := r.say("hello"); !strings.Contains(said, "fine") {
		t.Fatalf("said %q", said)
	}
	r.configure(config + "agents: {one: {description: the first}}\n")
	prof, err := r.gateway.Profile(t.Context(), nil, []string{r.dir})
	if err != nil || AgentNames(prof.Agents) != "code, plan, one" {
		t.Fatalf("%v, %v", prof, err)
	}
	asked, err := inference.ModelsOf(prof).Model(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	h := coretest.Hear(t.Context(), t, asked, coretest.ModelRequest(), func(d inference.Delta) bool { return d.Kind != inference.DeltaRetry })
	if len(h.Retries) != 1 || h.Retries[0] <= 0 || h.Text != "" {
		t.Errorf("%q after %v: %v", h.Text, h.Retries, h.Err)
	}
}
