package eca

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/eca/content"
	"dragoman/adapters/eca/offer"
	"dragoman/core"
	"dragoman/core/coretest"
)

var dialects = []Dialect{Now, Doc000, Doc001}

// silent lists the records that each dialect deliberately does not encode. "Change" and "History"
// give the condition; "": always.
var silent = map[string]map[Dialect]bool{
	"Opened":       {Now: true, Doc000: true, Doc001: true},
	"Claimed":      {Now: true, Doc000: true, Doc001: true},
	"Expanded":     {Now: true, Doc000: true, Doc001: true},
	"Shortened":    {Now: true, Doc000: true, Doc001: true},
	"Moved":        {Now: true, Doc000: true, Doc001: true},
	"Bound":        {Now: true, Doc000: true, Doc001: true},
	"Archived":     {Now: true, Doc000: true, Doc001: true},
	"Offered":      {Now: true, Doc000: true, Doc001: true},
	"Unknown":      {Now: true, Doc000: true, Doc001: true},
	"CallOutput":   {Now: true, Doc000: true, Doc001: true}, // toolCalled has all of it
	"Asked":        {Now: true, Doc000: true, Doc001: true}, // but for an approval that waits: its call is shown then
	"Answered":     {Now: true, Doc000: true, Doc001: true}, // the call's own record shows the decision
	"PromptQueued": {Now: true, Doc000: true, Doc001: true}, // shown when it begins
	"CallArgs":     {Doc001: true},                          // there a call is prepared once

	"TitleChanged":    {Doc001: true},
	"SettingsChanged": {Doc001: true},
	"Flagged":         {Doc000: true, Doc001: true},
}

// silentCalls lists the changes of a call in Samples, by index, that are not encoded.
var silentCalls = map[Dialect][]int{
	Now:    {1, 4},       // arguments that were streamed before; another title while it runs
	Doc000: {1, 4},       //
	Doc001: {0, 1, 3, 4}, // prepared with all of its arguments; no toolCallRunning
}

// silentHistory lists other events that a replay holds back.
var silentHistory = []string{"TitleChanged", "SettingsChanged", "Phase", "Flagged", "Truncated"}

func nameOfEvent(ev core.Event) string { return strings.TrimPrefix(fmt.Sprintf("%T", ev), "core.") }

// Every sample is encoded for the client, or is on a list.
func TestEverySample(t *testing.T) {
	for _, d := range dialects {
		for _, history := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s history=%t", d, history), func(t *testing.T) {
				v, sent := earlyView(d)
				v.live = !history
				client := newClient(t, d)
				calls := 0
				for _, r := range coretest.Records(3, coretest.Samples()...) {
					name := nameOfEvent(r.Event)
					quiet := silent[name][d] || history && slices.Contains(silentHistory, name)
					if c, ok := r.Event.(core.CallChanged); ok {
						quiet = slices.Contains(silentCalls[d], calls)
						if c.Call.State == core.Awaiting { // the request for approval shows it
							quiet = true
						}
						if history && d == Doc001 && c.Call.State == core.Running && calls == 3 {
							quiet = false // toolCallRun, which was held back
						}
						calls++
					}
					if a, ok := r.Event.(core.Asked); ok && a.Ask.Kind == core.AskApproval && a.Ask.Fits() { // another list is a question
						quiet = history // held back
					}
					lines := sent(encode(nil, v, r))
					if gathered := history && d == Now; !gathered && (lines == "") != quiet {
						t.Errorf("%s: got %q, on the list of silent ones: %t", name, lines, quiet)
					}
					client.take(lines)
				}
			})
		}
	}
}

// client folds the messages, as clients do, and checks for known causes of failures.
type client struct {
	t        testing.TB
	dialect  Dialect
	loading  bool
	said     strings.Builder // texts of all roles, in order
	thoughts map[string]string
	calls    map[string]*shownCall
	other    []string
}

type shownCall struct{ args, state string }

func newClient(t testing.TB, d Dialect) *client {
	return &client{t: t, dialect: d, thoughts: map[string]string{}, calls: map[string]*shownCall{}}
}

func (c *client) take(lines string) {
	c.t.Helper()
	if lines == "" {
		return
	}
	if !strings.HasSuffix(lines, "\n") {
		c.t.Fatalf("the last message has no line feed: %q", lines)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\n"), "\n") {
		c.message(line)
	}
}

var methodsOf = map[Dialect][]string{
	Now:    {"chat/contentReceived", "chat/statusChanged", "chat/cleared", "config/updated"},
	Doc000: {"chat/contentReceived", "config/updated"},
	Doc001: {"chat/contentReceived"},
}

func (c *client) message(line string) {
	c.t.Helper()
	var m struct {
		JSONRPC string
		Method  string
		ID      *int
		Params  map[string]any
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" || m.ID != nil {
		c.t.Fatalf("not a notification: %v: %s", err, line)
	}
	if !slices.Contains(methodsOf[c.dialect], m.Method) {
		c.t.Errorf("%s is not a method of %s", m.Method, c.dialect)
	}
	if m.Method != "chat/contentReceived" {
		if id, ok := m.Params["chatId"]; c.dialect == Now && (!ok || id == "") {
			c.t.Errorf("no chat: %s", line)
		}
		c.other = append(c.other, line)
		return
	}
	content, ok := m.Params["content"].(map[string]any)
	if !ok || m.Params["chatId"] == "" || !slices.Contains([]any{"user", "system", "assistant"}, m.Params["role"]) {
		c.t.Fatalf("not a content: %s", line)
	}
	c.content(content, line)
}

func (c *client) content(content map[string]any, line string) {
	c.t.Helper()
	kind, id := str(content, "type"), str(content, "id")
	switch kind {
	case "text":
		c.said.WriteString(str(content, "text"))
	case "progress":
		c.loading = content["state"] == "running"
		if _, ok := content["text"].(string); !ok {
			c.t.Errorf("a progress without text: %s", line)
		}
	case "reasonStarted", "reasonText", "reasonFinished":
		if id == "" {
			c.t.Errorf("no id: %s", line)
		}
		c.thoughts[id] += str(content, "text")
	case "usage":
		if _, ok := content["sessionTokens"].(float64); !ok {
			c.t.Errorf("usage without sessionTokens: %s", line)
		}
	case "url", "image":
		if a, b := str(content, map[string]string{"url": "title", "image": "mediaType"}[kind]), str(content, map[string]string{"url": "url", "image": "base64"}[kind]); a == "" || b == "" || kind == "image" && c.dialect != Now {
			c.t.Errorf("not a content: %s", line)
		}
		c.other = append(c.other, line)
	case "metadata":
		if c.dialect == Doc001 || str(content, "title") == "" {
			c.t.Errorf("metadata: %s", line)
		}
		c.other = append(c.other, line)
	case "flag":
		if c.dialect != Now || str(content, "text") == "" || str(content, "contentId") == "" {
			c.t.Errorf("flag: %s", line)
		}
		c.other = append(c.other, line)
	case "toolCallPrepare", "toolCallRun", "toolCallRunning", "toolCalled", "toolCallRejected":
		c.call(kind, id, content, line)
	default:
		c.t.Errorf("unknown content: %s", line)
	}
}

func (c *client) call(kind, id string, content map[string]any, line string) {
	c.t.Helper()
	shown := c.calls[id]
	switch {
	case id == "" || str(content, "name") == "" || str(content, "server") == "":
		c.t.Errorf("a call without id, name or server: %s", line)
	case kind == "toolCallPrepare" && shown == nil:
		shown = &shownCall{}
		c.calls[id] = shown
	case kind == "toolCallPrepare" && c.dialect == Doc001:
		c.t.Errorf("prepared twice: %s", line)
	case shown == nil:
		c.t.Fatalf("a call that was not prepared: %s", line)
	case kind == "toolCallRun" && strings.Contains(shown.state, kind):
		c.t.Errorf("run twice: %s", line)
	}
	if kind == "toolCallRunning" && c.dialect == Doc001 {
		c.t.Errorf("not in this document: %s", line)
	}
	if kind == "toolCallPrepare" {
		if shown.state != "" {
			c.t.Errorf("prepared behind %s: %s", shown.state, line)
		}
		shown.args += str(content, "argumentsText")
		return
	}
	if _, ok := content["arguments"].(map[string]any); !ok {
		c.t.Errorf("arguments are no object: %s", line)
	}
	if kind == "toolCallRun" || kind == "toolCallRunning" { // as the webview does
		args, err := json.Marshal(content["arguments"])
		if err != nil {
			c.t.Error(err)
		}
		shown.args = string(args)
	}
	details, _ := content["details"].(map[string]any)
	if panel := content["server"] == "eca" && content["name"] == "task"; c.dialect == Now && panel != (details["type"] == "task") {
		c.t.Errorf("clients take the plan, and nothing else, for their panel of tasks: %s", line)
	} else if panel && content["manualApproval"] == true {
		c.t.Errorf("nobody can approve this: %s", line)
	}
	shown.state += " " + kind
}

func str(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// shown returns the whole display of the client, for comparison.
func (c *client) shown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "loading %t\n%s\n", c.loading, c.said.String())
	for _, id := range sortedKeys(c.thoughts) {
		fmt.Fprintf(&b, "thought %s: %s\n", id, c.thoughts[id])
	}
	for _, id := range sortedKeys(c.calls) {
		fmt.Fprintf(&b, "call %s: %s%s\n", id, c.calls[id].args, c.calls[id].state)
	}
	return b.String() + strings.Join(c.other, "\n")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// However a run is split, the client shows the same.
func TestPiecesDoNotMatter(t *testing.T) {
	samples := coretest.Samples()
	long := strings.Repeat("äöü\U0001F600 \"quoted\"\n", 1200)
	samples = append(samples, core.TurnStarted{Turn: "t9", Message: "m9", Prompt: []core.Block{core.Text{Text: "more"}}}, core.TextDelta{Message: "m8", Text: long})
	for _, d := range dialects {
		want := fold(t, d, samples)
		for seed := range uint64(60) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var cut []core.Event
			for _, ev := range samples {
				cut = append(cut, pieces(rnd, ev)...)
			}
			if got := fold(t, d, cut); got != want {
				t.Fatalf("%s, seed %d: got\n%s\nwant\n%s", d, seed, got, want)
			}
		}
	}
}

func fold(t *testing.T, d Dialect, events []core.Event) string {
	t.Helper()
	c := newClient(t, d)
	v, sent := earlyView(d)
	v.live = true
	for i, r := range coretest.Records(1, events...) {
		r.Time = time.Unix(int64(i)/1000, 0) // nearly the same for the same event
		c.take(sent(encode(nil, v, r)))
	}
	return c.shown()
}

// pieces cuts a delta at random places between runes.
func pieces(rnd *rand.Rand, ev core.Event) []core.Event {
	text, with := "", (func(string) core.Event)(nil)
	switch e := ev.(type) {
	case core.TextDelta:
		text, with = e.Text, func(s string) core.Event { return core.TextDelta{Message: e.Message, Text: s} }
	case core.ThoughtDelta:
		text, with = e.Text, func(s string) core.Event { return core.ThoughtDelta{Thought: e.Thought, Text: s} }
	case core.CallArgs:
		text, with = e.Text, func(s string) core.Event { return core.CallArgs{Call: e.Call, Text: s} }
	}
	if with == nil {
		return []core.Event{ev}
	}
	runes, list := []rune(text), []core.Event(nil)
	for len(runes) > 0 {
		n := 1 + rnd.IntN(len(runes))
		list = append(list, with(string(runes[:n])))
		runes = runes[n:]
	}
	return list
}

// A long text is cut between runes, and no message is much longer than its part.
func TestLongText(t *testing.T) {
	text := strings.Repeat("ä", 100_000)
	var got strings.Builder
	for part := range parts(text, frameText) {
		if len(part) > frameText {
			t.Errorf("a part of %d bytes", len(part))
		}
		got.WriteString(part)
	}
	if got.String() != text {
		t.Error("the parts are not the text")
	}
}

// A replay followed by live messages results in the same display as for a client that watched
// from the beginning.
func TestHistoryEqualsLiveMessages(t *testing.T) {
	records := coretest.Records(3, coretest.Samples()...)
	for cut := range records {
		live, again := newClient(t, Now), newClient(t, Now)
		lv, av := newView("c1", nil, "", offer.New(nil)), newView("c1", nil, "", offer.New(nil))
		lv.live = true
		for i, r := range records {
			if i == cut {
				again.take(string(av.settle(nil)))
			}
			if _, ok := r.Event.(core.Truncated); ok {
				continue // a replay never sees one
			}
			live.take(string(encode(nil, lv, r)))
			again.take(string(encode(nil, av, r)))
		}
		if live.said.String() != again.said.String() || live.loading != again.loading {
			t.Fatalf("history of %d: said %q, want %q", cut, again.said.String(), live.said.String())
		}
		for id, want := range live.calls {
			if got := again.calls[id]; compacted(t, got.args) != compacted(t, want.args) || lastWord(got.state) != lastWord(want.state) {
				t.Errorf("history of %d: call %s: %v, want %v", cut, id, got, want)
			}
		}
	}
}

// compacted returns a call's arguments without white space, if they are whole.
func compacted(t *testing.T, args string) string {
	var value any
	if json.Unmarshal([]byte(args), &value) != nil {
		return args
	}
	whole, err := json.Marshal(value)
	if err != nil {
		t.Error(err)
	}
	return string(whole)
}

func lastWord(s string) string { return s[strings.LastIndex(s, " ")+1:] }

func TestPhases(t *testing.T) {
	v := newView("c1", nil, "", offer.New(nil))
	v.live = true
	var got []string
	for _, ev := range []core.Event{
		core.TurnStarted{Turn: "t1"},
		core.Phase{Turn: "t1", Kind: core.PhaseWaiting}, // reported when the turn began
		core.Phase{Turn: "t1", Kind: core.PhaseGenerating},
		core.Phase{Turn: "t1", Kind: core.PhaseGenerating},
		core.Phase{Turn: "t1", Kind: core.PhaseCalling, Tool: "read_file"},
		core.Phase{Turn: "t1", Kind: core.PhaseRetrying, After: 90 * time.Second},
		core.Phase{Turn: "t1", Kind: core.PhaseStarting, Tool: "files"},
		core.Phase{Turn: "t0", Kind: core.PhaseGenerating}, // of another turn
		core.TurnEnded{Turn: "t1", Stop: core.StopEnd},
		core.Phase{Turn: "t1", Kind: core.PhaseGenerating},
	} {
		for line := range strings.Lines(string(encode(nil, v, core.Record{Event: ev}))) {
			if _, rest, ok := strings.Cut(line, `"state":"`); ok {
				got = append(got, strings.TrimSuffix(rest, "\"}}}\n"))
			}
		}
	}
	want := []string{`running","text":"Waiting model`, `running","text":"Generating`, `running","text":"Calling tool`, `running","text":"Waiting for the model's service, next try in 1m30s`, `running","text":"Starting MCP servers: files`, `finished","text":"`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Unusual values from models and foreign tools must not break a client.
func TestOddCalls(t *testing.T) {
	call := core.Call{ID: "c1", Server: "eca", Tool: "task", State: core.Proposed, Args: json.RawMessage(`["no object"]`)}
	events := []core.Event{core.CallChanged{Call: call}}
	call.State = core.Errored
	call.Content = []core.Block{core.Diff{Path: "/a", Old: "x\ny\n", New: "z"}, core.Diff{Path: "/b", New: "n\n", Patch: "+n", Added: 1}, core.Image{MIME: "image/png", Data: []byte("1")}}
	events = append(events, core.CallChanged{Call: call})
	call = core.Call{ID: "c2", Server: core.Native, Tool: "task", State: core.Rejected, Why: "no", Args: json.RawMessage(`{"broken`)}
	events = append(events, core.CallChanged{Call: call}, core.CallArgs{Call: "unheard of", Text: "{}"})
	for _, d := range dialects {
		c := newClient(t, d)
		for _, line := range RenderEarly(d, coretest.Records(1, events...), RenderOptions{Chat: "c", Client: "eca-cli"}) {
			c.take(line + "\n")
			if strings.Contains(line, "toolCalled") && !strings.Contains(line, `"diff":"@@ -1,2 +1,1 @@\n-x\n-y\n+z\n+n","linesAdded":2,"linesRemoved":2`) {
				t.Errorf("the change is not shown: %s", line)
			}
			if strings.Contains(line, "toolCalled") && !strings.Contains(line, `"output":"[image image/png, 1 bytes]"`) {
				t.Errorf("eca-cli sees no output: %s", line)
			}
		}
		if len(c.calls) != 2 {
			t.Errorf("%s: %d calls", d, len(c.calls))
		}
	}
}

// A user who decides about a call of an MCP server's tool sees all of its arguments, even those
// for which a title has no room. Once the call runs, the arguments are unchanged.
func TestApprovalsSpellOutArguments(t *testing.T) {
	hidden := `{"a":"` + strings.Repeat("x", 300) + `\u202e"}`
	for server, want := range map[string]string{"db": `x⟨U+202E⟩"}`, core.Native: `x\u202e"}`} {
		call := core.Call{ID: "c1", Server: server, Tool: "query", State: core.Awaiting, Args: json.RawMessage(hidden)}
		v := newView("c1", nil, "", offer.New(nil))
		v.live = true
		asked := string(v.asked(v.callChanged(nil, call), core.Ask{Kind: core.AskApproval, Call: "c1"}))
		_, asked, _ = strings.Cut(asked, `"toolCallRun"`)
		if !strings.Contains(asked, want) {
			t.Errorf("%s: %s is not in %s", server, want, asked)
		}
		call.State = core.Running
		if runs := string(v.callChanged(nil, call)); !strings.Contains(runs, `"toolCallRunning"`) || !strings.Contains(runs, `x\u202e"}`) {
			t.Errorf("%s: %s", server, runs)
		}
	}
}

// The text of a prompt is shown with the references in between, and without attachments.
func TestPromptText(t *testing.T) {
	for want, prompt := range map[string][]core.Block{
		"look at [a.go](file:///a.go) please": {core.Text{Text: "look at"}, core.Link{Name: "a.go", URI: "file:///a.go"}, core.Text{Text: "please"}, core.Image{}},
		"file:///a.go":                        {core.Link{URI: "file:///a.go"}},
		"":                                    nil,
	} {
		if got := content.Prompt(prompt); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func BenchmarkEncodeText(b *testing.B) {
	v := newView("c1", nil, "", offer.New(nil))
	v.live = true
	r := core.Record{Event: core.TextDelta{Message: "m", Text: "a part of an answer, as models send them"}}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = encode(buf[:0], v, r)
	}
}

// Whatever the texts of a session contain, each message is a line of JSON with the members that
// clients need.
func FuzzEncode(f *testing.F) {
	f.Add("text", `{"a":1}`, uint8(0), false)
	f.Add(coretest.Awkward, "[1]", uint8(1), true)
	f.Add("\xff\u2028", "{", uint8(2), false)
	f.Fuzz(func(t *testing.T, text, args string, dialect uint8, history bool) {
		d := Dialect(dialect % 3)
		call := core.Call{ID: core.CallID("c" + text), Server: "s" + text, Tool: "t" + text, Title: text, Why: text, Args: json.RawMessage(args), State: core.Proposed}
		content := []core.Block{core.Text{Text: text}, core.Diff{Path: text, Old: text, New: args}, core.Resource{URI: text}, core.Link{Name: text, URI: args}}
		events := []core.Event{core.TurnStarted{Turn: "t", Prompt: content}, core.TextDelta{Text: text}, core.ThoughtDelta{Thought: "h", Text: args}}
		for _, state := range []core.CallState{core.Proposed, core.Awaiting, core.Running, core.Errored} {
			call.State, call.Content = state, content
			events = append(events, core.CallChanged{Call: call}, core.CallArgs{Call: call.ID, Text: args})
		}
		events = append(events, core.TitleChanged{Title: "t" + text}, core.SettingsChanged{Settings: core.Settings{Model: text, Agent: args}},
			core.Notice{Text: text}, core.TurnEnded{Turn: "t", Stop: core.StopError, Err: text})
		c := newClient(t, d)
		for _, line := range RenderEarly(d, coretest.Records(1, events...), RenderOptions{Chat: "c", History: history}) {
			c.take(line + "\n")
		}
	})
}
