package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/core"
)

// askedModels is a service that records the model of each request, without those for a task apart.
// The model "bad" cannot be asked. It hands the task of a prompt "hand to AGENT" to that agent.
type askedModels struct {
	url string

	mu    sync.Mutex
	asked []string
}

func newAskedModels(t *testing.T) *askedModels {
	m := &askedModels{}
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.url = s.URL
	return m
}

func (m *askedModels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model    string `json:"model"`
		Effort   string `json:"reasoning_effort"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &in) != nil {
		http.Error(w, "no request", http.StatusBadRequest)
		return
	}
	asked := in.Model
	if in.Effort != "" {
		asked += " " + in.Effort
	}
	m.mu.Lock()
	m.asked = append(m.asked, asked)
	m.mu.Unlock()
	if in.Model == "bad" {
		http.Error(w, "the key is not accepted", http.StatusUnauthorized)
		return
	}
	delta := `{"content":"said"}`
	last := in.Messages[len(in.Messages)-1]
	if _, agent, ok := strings.Cut(string(last.Content), "hand to "); ok && last.Role == "user" {
		agent, _, _ = strings.Cut(agent, ".")
		args := string(mustJSON(fmt.Sprintf(`{"agent":%q,"task":"look"}`, agent)))
		delta = `{"tool_calls":[{"index":0,"id":"call1","type":"function","function":{"name":"spawn_agent","arguments":` + args + `}}]}`
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", delta)
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// take returns the models that were asked since the last call.
func (m *askedModels) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.asked
	m.asked = nil
	return list
}

// shownTo is a client that remembers the model and the effort that it was shown last for the session.
type shownTo struct {
	t     *testing.T
	who   string
	c     *idleClient
	lines chan string
	sent  int
	model string
	// efforts are those on offer, the chosen one first.
	efforts []string
	read    func(s *shownTo, line string)
}

func newShown(t *testing.T, who string, c *idleClient, read func(*shownTo, string)) *shownTo {
	s := &shownTo{t: t, who: who, c: c, lines: make(chan string, 10000), read: read}
	go func() { // it ends with the connection
		defer close(s.lines)
		for {
			line, err := c.Next()
			if err != nil {
				return
			}
			s.lines <- line
		}
	}()
	return s
}

// until reads until done, which is asked before each message, and returns the last one.
func (s *shownTo) until(what string, done func(line string) bool) (line string) {
	s.t.Helper()
	late := time.After(20 * time.Second)
	for !done(line) {
		select {
		case next, ok := <-s.lines:
			if !ok {
				s.t.Fatalf("%s: the connection has ended before %s", s.who, what)
			}
			line = next
			s.read(s, line)
		case <-late:
			s.t.Fatalf("%s is shown the model %q with the efforts %q, and not %s", s.who, s.model, s.efforts, what)
		}
	}
	return line
}

// call sends a request and returns its response.
func (s *shownTo) call(method, params string) string {
	s.t.Helper()
	s.sent++
	id := fmt.Sprintf("%s%d", s.who, s.sent)
	if err := s.c.Send(request(id, method, params)); err != nil {
		s.t.Fatal(err)
	}
	return s.until("the response to "+method, func(line string) bool {
		return strings.HasPrefix(line, `{"jsonrpc":"2.0","id":"`+id+`","result"`) || strings.Contains(line, `"id":"`+id+`","error"`)
	})
}

func (s *shownTo) notify(method, params string) {
	s.t.Helper()
	if err := s.c.Send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)); err != nil {
		s.t.Fatal(err)
	}
}

// readACP takes the options of a session from an update or a response, in all of their forms.
func readACP(s *shownTo, line string) {
	type option struct {
		ID      string          `json:"id"`
		Current json.RawMessage `json:"currentValue"`
		Options []struct {
			Value string `json:"value"`
		} `json:"options"`
	}
	var in struct {
		Params struct {
			Update struct {
				Options []option `json:"configOptions"`
			} `json:"update"`
		} `json:"params"`
		Result struct {
			Options []option `json:"configOptions"`
			Models  *struct {
				Current string `json:"currentModelId"`
			} `json:"models"`
		} `json:"result"`
	}
	if json.Unmarshal([]byte(line), &in) != nil {
		return
	}
	list := append(in.Params.Update.Options, in.Result.Options...)
	if len(list) == 0 {
		return
	}
	s.efforts = nil
	for _, o := range list {
		now := strings.Trim(string(o.Current), `"`)
		switch o.ID {
		case "model":
			s.model = now
		case "effort":
			s.efforts = []string{now}
			for _, v := range o.Options {
				s.efforts = append(s.efforts, v.Value)
			}
		}
	}
	if m := in.Result.Models; m != nil && m.Current != s.model {
		s.t.Errorf("%s is shown the models %q and %q", s.who, m.Current, s.model)
	}
}

// readECA takes the choices of the chat from a notification or a response.
func readECA(s *shownTo, line string) {
	type chosen struct {
		Model    string   `json:"model"`
		Variant  *string  `json:"variant"`
		Variants []string `json:"variants"`
	}
	var in struct {
		Method string `json:"method"`
		Params struct {
			ChatID string `json:"chatId"`
			Chat   struct {
				Model    string   `json:"selectModel"`
				Variant  *string  `json:"selectVariant"`
				Variants []string `json:"variants"`
			} `json:"chat"`
		} `json:"params"`
		Result struct {
			ChatID    string  `json:"chatId"`
			Model     string  `json:"model"`
			Selection *chosen `json:"selection"`
		} `json:"result"`
	}
	if json.Unmarshal([]byte(line), &in) != nil {
		return
	}
	now := chosen{}
	switch {
	case in.Method == "config/updated" && in.Params.ChatID != "":
		now = chosen(in.Params.Chat)
	case in.Result.Selection != nil:
		now = *in.Result.Selection
	case in.Result.ChatID != "" && in.Result.Model != "": // of a prompt
		s.model = in.Result.Model
		return
	default:
		return
	}
	s.model, s.efforts = now.Model, nil
	if len(now.Variants) > 0 {
		effort := "default"
		if now.Variant != nil {
			effort = *now.Variant
		}
		s.efforts = append([]string{effort, "default"}, now.Variants...)
	}
}

const modelsConfig = `policy: {sandbox: none}
model: fake/m
fallback: [fake/o]
providers:
  fake: {kind: openai-chat, base_url: %s/v1, api_key: x, models: {m: {}, n: {efforts: [low, high]}, o: {}, bad: {}}}
agents:
  fast: {model: fake/n, description: quick}
  slow: {model: fake/o}
  plain: {}
  helper: {mode: subagent, model: fake/o, description: helps}
  aide: {mode: subagent, description: helps}
`

// The model that every client, list and command shows is the one that is asked next, whichever way and
// on whichever face it was chosen: each row is a choice, the model that is to be shown before the next
// prompt, and the models that the next prompt asks, if they are others.
func TestTheModelShownIsTheModelAsked(t *testing.T) {
	o, work := inPlace(t)
	service := newAskedModels(t)
	if err := os.WriteFile(o.Env.ConfigFile(), fmt.Appendf(nil, modelsConfig, service.url), 0o600); err != nil {
		t.Fatal(err)
	}
	var (
		zed, emacs, agent *shownTo
		end               func()
	)
	id := "shared"
	start := func() {
		h, endAll := inProcess(t, o)
		var leaves []func()
		join := func(face string) *idleClient {
			hello := strings.Replace(idleFaces[face].hello, `"clientCapabilities":{}`, `"clientCapabilities":{},"clientInfo":{"name":"zed","version":"1"}`, 1)
			c, leave := idleFaces[face].join(t, h, core.Local, hello, work)
			leaves = append(leaves, leave)
			return c
		}
		zed, emacs, agent = newShown(t, "zed", join("acp"), readACP), newShown(t, "emacs", join("eca"), readECA), newShown(t, "agent", join("mcp"), func(*shownTo, string) {})
		emacs.notify("initialized", `{}`)
		agent.notify("notifications/initialized", `{}`)
		end = func() {
			for _, leave := range leaves {
				leave()
			}
			endAll()
		}
	}
	load := func() {
		zed.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, work))
	}
	prompt := func(extra string) {
		emacs.call("chat/prompt", fmt.Sprintf(`{"chatId":%q,"message":"hello"%s}`, id, extra))
		emacs.until("the end", func(line string) bool { return strings.Contains(line, `"state":"finished"`) })
	}
	say := func(text string) (said string) {
		said = zed.call("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, id, text))
		return said
	}
	answer := func(command string) (all string) {
		zed.sent++
		turn := fmt.Sprintf("zed%d", zed.sent)
		if err := zed.c.Send(request(turn, "session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, id, command))); err != nil {
			t.Fatal(err)
		}
		zed.until("the answer to "+command, func(line string) bool {
			all += line + "\n"
			return strings.Contains(line, `"id":"`+turn+`"`)
		})
		return all
	}
	mode := func(name string) {
		zed.call("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":%q}`, id, name))
	}
	option := func(name, value string) {
		zed.call("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%q}`, id, name, value))
	}
	selected := func(what, name string) {
		emacs.notify("chat/selected"+strings.ToUpper(what[:1])+what[1:]+"Changed", fmt.Sprintf(`{"chatId":%q,%q:%q}`, id, what, name))
	}
	ask := func(more string) {
		agent.call("tools/call", fmt.Sprintf(`{"name":"agent_prompt","arguments":{"session_id":%q,"prompt":"hello"%s}}`, id, more))
	}

	start()
	prompt("")
	load()
	only := func(model string) []string { return []string{model} }
	for _, step := range []struct {
		choice string
		choose func()
		want   string
		asks   []string // without its provider
	}{
		{"nothing", func() {}, "fake/m", only("m")},
		{"an agent, as a mode", func() { mode("fast") }, "fake/n", only("n")},
		{"an effort", func() { option("effort", "high") }, "fake/n", only("n high")},
		{"an agent in an editor", func() { selected("agent", "plain") }, "fake/m", only("m")},
		{"an agent with a prompt", func() { prompt(`,"agent":"slow"`) }, "fake/o", only("o")},
		{"the model that is shown anyway, with a prompt", func() { prompt(`,"agent":"slow","model":"fake/o"`) }, "fake/o", only("o")},
		{"another agent after that", func() { mode("code") }, "fake/m", only("m")},
		{"an agent, as an option", func() { option("agent", "fast") }, "fake/n", only("n")},
		{"the agent's own model", func() { selected("model", "fake/n") }, "fake/n", only("n")},
		{"another agent, which leaves the user's model", func() { mode("slow") }, "fake/n", only("n")},
		{"a model, as an option", func() { option("model", "fake/m") }, "fake/m", only("m")},
		{"an agent behind a model of the user's", func() { selected("agent", "fast") }, "fake/m", only("m")},
		{"a model with a prompt", func() { prompt(`,"agent":"fast","model":"fake/o"`) }, "fake/o", only("o")},
		{"/model", func() { say("/model fake/n") }, "fake/n", only("n")},
		{"/agent", func() { say("/agent slow") }, "fake/n", only("n")},
		{"an older request of a model", func() {
			zed.call("session/set_model", fmt.Sprintf(`{"sessionId":%q,"modelId":"fake/o"}`, id))
		}, "fake/o", only("o")},
		{"a program's model", func() { ask(`,"model":"fake/n"`) }, "fake/n", only("n")},
		{"a program's agent", func() { ask(`,"agent":"plain"`) }, "fake/n", only("n")},
		{"a model that cannot be asked", func() { option("model", "fake/bad") }, "fake/bad", []string{"bad", "o"}},
		{"nothing, after the other one was asked", func() {}, "fake/bad", []string{"bad", "o"}},
		{"a model again", func() { option("model", "fake/n") }, "fake/n", only("n")},
		{"a copy of the session", func() {
			said := zed.call("session/fork", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, work))
			_, id, _ = strings.Cut(said, `"sessionId":"`)
			id, _, _ = strings.Cut(id, `"`)
			emacs.call("chat/open", fmt.Sprintf(`{"chatId":%q}`, id))
		}, "fake/n", only("n")},
		{"nothing, in another process", func() {
			end()
			start()
			load()
			emacs.call("chat/open", fmt.Sprintf(`{"chatId":%q}`, id))
		}, "fake/n", only("n")},
	} {
		step.choose()
		service.take()
		for _, c := range []*shownTo{zed, emacs} {
			_, effort, _ := strings.Cut(step.asks[0], " ")
			var efforts []string
			if step.want == "fake/n" {
				efforts = []string{cmp.Or(effort, "default"), "default", "low", "high"}
			}
			c.until(fmt.Sprintf("%s with %q after the choice of %s", step.want, efforts, step.choice), func(string) bool {
				return c.model == step.want && slices.Equal(c.efforts, efforts)
			})
		}
		has(t, "the list after "+step.choice, emacs.call("chat/list", `{}`), fmt.Sprintf(`"id":%q`, id), fmt.Sprintf(`"model":%q`, step.want))
		has(t, "a program after "+step.choice, agent.call("tools/call", fmt.Sprintf(`{"name":"session_get","arguments":{"session_id":%q}}`, id)), fmt.Sprintf(`"model":%q`, step.want))
		has(t, "/model after "+step.choice, answer("/model"), "`"+step.want+"` (this session's)")
		has(t, "/context after "+step.choice, answer("/context"), "**Context** of `"+step.want+"`")
		if asked := service.take(); len(asked) > 0 {
			t.Errorf("%s: the commands have asked %q", step.choice, asked)
		}
		say("hello")
		if asked := service.take(); !slices.Equal(asked, step.asks) {
			t.Errorf("%s: %s is shown, and %q was asked", step.choice, step.want, asked)
		}
	}

	// A task is done by the model that its call shows: the agent's own, else that of the session.
	for _, task := range []struct{ choice, agent, want string }{
		{"fake/n", "helper", "fake/o"},
		{"fake/n", "aide", "fake/n"},
		{"", "aide", "fake/n"}, // that of the agent that hands it over
	} {
		if id = "tasks" + task.choice[max(len(task.choice)-1, 0):] + task.agent; task.choice == "" {
			prompt(`,"agent":"fast"`)
		} else {
			prompt(`,"agent":"code","model":"` + task.choice + `"`)
		}
		service.take()
		emacs.call("chat/prompt", fmt.Sprintf(`{"chatId":%q,"message":"hand to %s."}`, id, task.agent))
		shown := ""
		emacs.until("the end", func(line string) bool {
			if strings.Contains(line, `"subagentChatId"`) {
				shown = line
			}
			return strings.Contains(line, `"state":"finished"`) && !strings.Contains(line, "parentChatId")
		})
		has(t, "the call of a task of "+task.agent, shown, fmt.Sprintf(`"model":%q`, task.want))
		if asked := service.take(); len(asked) != 3 || "fake/"+asked[1] != task.want {
			t.Errorf("a task of %s asked %q, want %s", task.agent, asked, task.want)
		}
	}
	end()
}
