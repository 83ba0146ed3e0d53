package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// All that the reference server does for a client, and has a client do, it does
// through the gateway too: alone and beside the agent, over a pipe and over HTTP. Two of these four, but for
// DRAGOMAN_HOSTS=all.
func TestServerDoesEverythingThroughUs(t *testing.T) {
	p := newPlace(t)
	_, server := p.servers(t, "")
	cfg := p.config(t, fmt.Sprintf("mcp_servers:\n  everything: {command: node, args: [%q]}\n", server))
	over := func(args ...string) sdk.Transport {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env, cmd.Dir = p.nodeEnv(), p.work
		return &sdk.CommandTransport{Command: cmd}
	}
	direct := everything(t, over("node", server))
	if len(direct) < 20 || failed.MatchString(strings.Join(direct, "\n")) {
		t.Errorf("directly:\n%s", strings.Join(direct, "\n"))
	}
	address := p.serveMCP(t, cfg)
	for _, way := range []struct {
		name   string
		to     sdk.Transport
		always bool
	}{
		{"alone", over(binary, "--config", cfg, "mcp", "--only", "everything"), true},
		{"beside the agent", over(binary, "--config", cfg, "mcp"), false},
		{"alone over HTTP", &sdk.StreamableClientTransport{Endpoint: address + "/everything"}, false},
		{"beside the agent over HTTP", &sdk.StreamableClientTransport{Endpoint: address}, true},
	} {
		if !way.always && !everyHost() {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			got := everything(t, way.to)
			for i := range max(len(got), len(direct)) {
				a, b := append(direct, make([]string, len(got))...)[i], append(got, make([]string, len(direct))...)[i]
				if a != b {
					t.Errorf("directly:\n%s\nthrough us:\n%s", a, b)
				}
			}
		})
	}
}

// serveMCP serves over HTTP and returns the address.
func (p *place) serveMCP(t *testing.T, cfg string) string {
	t.Helper()
	cmd := exec.Command(binary, "--config", cfg, "mcp", "--http", "127.0.0.1:0", "--no-auth")
	cmd.Env, cmd.Dir = p.nodeEnv(), p.work
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it has ended then
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	line, err := bufio.NewReader(errs).ReadString('\n')
	address := regexp.MustCompile(`http://[^ ]+/mcp`).FindString(line)
	if err != nil || address == "" {
		t.Fatalf("%q, %v", line, err)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return address
}

// failed is a line of what went wrong.
var failed = regexp.MustCompile(`(?m)^\S+ error: `)

// changing is what the server says otherwise each time.
var changing = regexp.MustCompile(`\d{1,2}:\d\d:\d\d( [AP]M)?|for session [0-9a-f-]+|session undefined|"level":"[a-z]+"|[A-Z][a-z]+[- ]level[- ]message[^"]*`)

// everything is what the reference server's features come to, one a line.
func everything(t *testing.T, to sdk.Transport) (lines []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	say := func(what string, v any, err error) {
		b, bad := json.Marshal(v)
		if err != nil || bad != nil {
			b = fmt.Appendf(nil, "error: %v %v", err, bad)
		}
		lines = append(lines, what+" "+changing.ReplaceAllString(string(b), "_"))
	}
	lists, steps := make(chan struct{}, 100), make(chan float64, 100)
	logs, updates := make(chan any, 100), make(chan string, 100)
	c := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, &sdk.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case lists <- struct{}{}:
			default:
			}
		},
		CreateMessageHandler: func(_ context.Context, r *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) { //nolint:staticcheck // the server asks so
			return &sdk.CreateMessageResult{Model: "m", Role: "assistant", Content: &sdk.TextContent{Text: fmt.Sprintf("%d of %s", r.Params.MaxTokens, r.Params.SystemPrompt)}}, nil //nolint:staticcheck // as above
		},
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": "ann", "check": true, "integer": 7}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { steps <- r.Params.Progress },
		LoggingMessageHandler:       func(_ context.Context, r *sdk.LoggingMessageRequest) { logs <- r.Params.Data }, //nolint:staticcheck // the server logs so
		ResourceUpdatedHandler:      func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) { updates <- r.Params.URI },
	})
	c.AddRoots(&sdk.Root{URI: "file:///r", Name: "r"}) //nolint:staticcheck // the server asks for them
	cs, err := c.Connect(ctx, to, &sdk.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(lines, "\n"))
		}
	}()

	// It registers some of its tools when it knows its client.
	for {
		res, err := cs.ListTools(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		theirs := slices.DeleteFunc(res.Tools, func(tool *sdk.Tool) bool {
			return strings.HasPrefix(tool.Name, "agent_") || strings.HasPrefix(tool.Name, "session_")
		})
		has := func(name string) bool {
			return slices.ContainsFunc(theirs, func(tool *sdk.Tool) bool { return tool.Name == name })
		}
		if has("trigger-sampling-request") && has("trigger-elicitation-request") && has("get-roots-list") {
			slices.SortFunc(theirs, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
			say("tools", theirs, nil)
			break
		}
		select {
		case <-lists:
		case <-ctx.Done():
			t.Fatal("the list has not become whole")
		}
	}
	call := func(name string, args map[string]any) {
		t.Helper()
		params := &sdk.CallToolParams{Name: name, Arguments: args}
		params.SetProgressToken("token of " + name)
		res, err := cs.CallTool(ctx, params)
		say(name, res, err)
	}
	call("echo", map[string]any{"message": "x"})
	call("get-sum", map[string]any{"a": 1, "b": 2.5})
	call("get-sum", map[string]any{"a": "one"})
	call("get-structured-content", map[string]any{"location": "Chicago"})
	call("get-annotated-message", map[string]any{"messageType": "error", "includeImage": true})
	call("get-resource-links", map[string]any{"count": 2})
	call("get-resource-reference", map[string]any{"resourceType": "Text", "resourceId": 1})
	call("trigger-long-running-operation", map[string]any{"duration": 0.2, "steps": 4})
	for i := range 4 {
		if got := await(ctx, t, steps); got != float64(i+1) {
			t.Errorf("step %d is %v", i+1, got)
		}
	}
	call("trigger-sampling-request", map[string]any{"prompt": "2+2?", "maxTokens": 9})
	call("trigger-elicitation-request", map[string]any{})
	call("get-roots-list", map[string]any{})

	prompts, err := cs.ListPrompts(ctx, nil)
	if prompts != nil {
		prompts.Prompts = slices.DeleteFunc(prompts.Prompts, func(p *sdk.Prompt) bool { return !strings.HasSuffix(p.Name, "-prompt") })
	}
	say("prompts", prompts.Prompts, err)
	prompt, err := cs.GetPrompt(ctx, &sdk.GetPromptParams{Name: "args-prompt", Arguments: map[string]string{"city": "Ulm"}})
	say("prompt", prompt, err)
	done, err := cs.Complete(ctx, &sdk.CompleteParams{
		Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "completable-prompt"}, Argument: sdk.CompleteParamsArgument{Name: "name", Value: "A"},
		Context: &sdk.CompleteContext{Arguments: map[string]string{"department": "Engineering"}},
	})
	say("completion", done, err)
	templates, err := cs.ListResourceTemplates(ctx, nil)
	if templates != nil {
		templates.ResourceTemplates = slices.DeleteFunc(templates.ResourceTemplates, func(r *sdk.ResourceTemplate) bool { return !strings.HasPrefix(r.URITemplate, "demo:") })
		say("templates", templates.ResourceTemplates, err)
	}
	for _, uri := range []string{"demo://resource/static/document/architecture.md", "demo://resource/dynamic/text/2", "demo://resource/none"} {
		res, err := cs.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
		if strings.HasSuffix(uri, "none") {
			say("no such resource", err != nil, nil)
			continue
		}
		say("resource", res, err)
	}
	const watched = "demo://resource/dynamic/text/1"
	say("subscribe", nil, cs.Subscribe(ctx, &sdk.SubscribeParams{URI: watched}))
	call("toggle-subscriber-updates", map[string]any{})
	say("updated", await(ctx, t, updates), nil)
	say("level", nil, cs.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: "debug"})) //nolint:staticcheck // the server logs so
	call("toggle-simulated-logging", map[string]any{})
	for {
		if data := await(ctx, t, logs); !strings.HasPrefix(fmt.Sprint(data), "Roots updated") { // which may come at any time
			say("logged", data, nil)
			break
		}
	}
	return lines
}

// await takes what a notification brings.
func await[T any](ctx context.Context, t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-ctx.Done():
		t.Fatal("a notification did not come")
	}
	return v
}
