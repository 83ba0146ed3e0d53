package aggregate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	proto "dragoman/adapters/proto/mcp"
	"dragoman/bridge/bridgetest"
	"dragoman/bridge/upstream"
)

const pageURI, noteURI = "ui://widget/main.html", "file:///notes.md"

// likeServer is a server whose resources have the same addresses as those of any other one.
func likeServer(name string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{name + " of " + r.Params.Ref.URI}}}, nil
		},
	})
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: name + "'s " + r.Params.URI}}}, nil
	}
	for _, uri := range []string{pageURI, noteURI, "dragoman://sessions"} {
		s.AddResource(&mcp.Resource{URI: uri, Name: uri}, read)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "up://{id}", Name: "items"}, read)
	meta := mcp.Meta{"ui": map[string]any{"resourceUri": pageURI}, "ui/resourceUri": pageURI, "openai/outputTemplate": pageURI}
	mcp.AddTool(s, &mcp.Tool{Name: "show_" + name, Meta: meta}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Meta: meta, Content: []mcp.Content{
			&mcp.ResourceLink{URI: noteURI, Name: "n"}, &mcp.ResourceLink{URI: "up://7", Name: "n"}, &mcp.ResourceLink{URI: "unlisted://x", Name: "n"},
			&mcp.ResourceLink{URI: "https://example.com/", Name: "n"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: noteURI, Text: "embedded"}},
		}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "touch_" + name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: noteURI})
	})
	s.AddPrompt(&mcp.Prompt{Name: "prompt_" + name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: noteURI, Text: "embedded"}}}}}, nil
	})
	return s
}

// Each of two servers with the same addresses gives its own content, wherever a client has an address
// from.
func TestEachServerOfAnAddressGivesItsOwnContent(t *testing.T) {
	t.Parallel()
	for _, version := range bridgetest.Eras {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			servers := []upstream.Server{hosted(t, "a", likeServer("a"), nil), hosted(t, "b", likeServer("b"), nil)}
			updated := make(chan string, 10)
			cs := bridgetest.Connected(t, piped(t, aggregate(t, upstream.Options{Servers: servers}, Options{})), version, &mcp.ClientOptions{
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
			})
			for _, name := range []string{"a", "b"} {
				end := map[string]string{"a": "", "b": "#dragoman.server=b"}[name]
				read := func(uri, own string) {
					t.Helper()
					got, err := cs.ReadResource(bridgetest.Patient(t), &mcp.ReadResourceParams{URI: uri})
					if err != nil || got.Contents[0].Text != name+"'s "+own || got.Contents[0].URI != uri {
						t.Errorf("%s: %s: %s, %v", name, uri, text(got), err)
					}
				}
				for tool, err := range cs.Tools(bridgetest.Patient(t), nil) {
					if err == nil && tool.Name == "show_"+name {
						for _, uri := range []any{tool.Meta["ui"].(map[string]any)["resourceUri"], tool.Meta["ui/resourceUri"], tool.Meta["openai/outputTemplate"]} {
							if uri != pageURI+end {
								t.Errorf("%s lists the page as %v", name, uri)
							}
						}
					}
				}
				read(pageURI+end, pageURI)
				res, err := cs.CallTool(bridgetest.Patient(t), &mcp.CallToolParams{Name: "show_" + name})
				if err != nil || res.Meta["ui/resourceUri"] != pageURI+end {
					t.Fatalf("show_%s: %v, %v", name, text(res), err)
				}
				for i, own := range []string{noteURI, "up://7", "unlisted://x"} {
					if link := res.Content[i].(*mcp.ResourceLink).URI; link != own+end {
						t.Errorf("%s links to %s", name, link)
					}
					if i < 2 {
						read(own+end, own)
					}
				}
				if link := res.Content[3].(*mcp.ResourceLink).URI; link != "https://example.com/" {
					t.Errorf("%s links to the page %s", name, link)
				}
				if uri := res.Content[4].(*mcp.EmbeddedResource).Resource.URI; uri != noteURI+end {
					t.Errorf("%s embeds %s", name, uri)
				}
				prompt, err := cs.GetPrompt(bridgetest.Patient(t), &mcp.GetPromptParams{Name: "prompt_" + name})
				if err != nil || prompt.Messages[0].Content.(*mcp.EmbeddedResource).Resource.URI != noteURI+end {
					t.Errorf("prompt_%s: %s, %v", name, text(prompt), err)
				}
				read("up://8"+end, "up://8")
				read("dragoman://sessions#dragoman.server="+name, "dragoman://sessions")
				done, err := cs.Complete(bridgetest.Patient(t), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "up://{id}" + end}, Argument: mcp.CompleteParamsArgument{Name: "id", Value: "x"}})
				if err != nil || done.Completion.Values[0] != name+" of up://{id}" {
					t.Errorf("%s completes %s, %v", name, text(done), err)
				}
				if version == proto.Legacy {
					if err := cs.Subscribe(bridgetest.Patient(t), &mcp.SubscribeParams{URI: noteURI + end}); err != nil {
						t.Fatal(err)
					}
					bridgetest.Said(t, cs, "touch_"+name, nil)
					if got := <-updated; got != noteURI+end {
						t.Errorf("%s has updated %s", name, got)
					}
					if err := cs.Unsubscribe(bridgetest.Patient(t), &mcp.UnsubscribeParams{URI: noteURI + end}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if got := listedURIs(t, cs); !slices.Equal(got, []string{
				"dragoman://sessions", "dragoman://sessions#dragoman.server=a", noteURI, pageURI, "dragoman://sessions#dragoman.server=b", noteURI + "#dragoman.server=b", pageURI + "#dragoman.server=b",
			}) {
				t.Errorf("resources: %q", got)
			}
			var templates []string
			for r, err := range cs.ResourceTemplates(bridgetest.Patient(t), nil) {
				if err != nil {
					t.Fatal(err)
				}
				templates = append(templates, r.URITemplate)
			}
			if !slices.Equal(templates, []string{"up://{id}", "up://{id}#dragoman.server=b"}) {
				t.Errorf("templates: %q", templates)
			}
		})
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	return fmt.Sprint(string(b), err)
}

func listedURIs(t *testing.T, cs *mcp.ClientSession) (all []string) {
	t.Helper()
	for r, err := range cs.Resources(bridgetest.Patient(t), nil) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.URI)
	}
	return all
}

// A server that joins later gets other addresses, wherever it stands in the order; those that a client
// knows keep their meaning, and have none when their server has gone.
func TestAddressesKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	servers := []upstream.Server{hosted(t, "a", likeServer("a"), nil), hosted(t, "b", likeServer("b"), nil)}
	a := aggregate(t, upstream.Options{Servers: servers}, Options{Servers: []string{"b"}})
	cs := bridgetest.Connected(t, piped(t, a), proto.Legacy, nil)
	read := func(uri, want string) {
		t.Helper()
		got, err := cs.ReadResource(bridgetest.Patient(t), &mcp.ReadResourceParams{URI: uri})
		if err != nil && want != "" || err == nil && got.Contents[0].Text != want {
			t.Errorf("%s: %s, %v", uri, text(got), err)
		}
	}
	listedURIs(t, cs)
	read(noteURI, "b's "+noteURI)
	a.Update(Options{Agent: standIn{}, Servers: []string{"*"}})
	if got := listedURIs(t, cs); !slices.Contains(got, noteURI+"#dragoman.server=a") {
		t.Errorf("resources: %q", got)
	}
	read(noteURI, "b's "+noteURI)
	read(noteURI+"#dragoman.server=a", "a's "+noteURI)
	a.Update(Options{Agent: standIn{}, Servers: []string{"a"}})
	listedURIs(t, cs)
	read(noteURI, "")
	read(noteURI+"#dragoman.server=a", "a's "+noteURI)
	a.Update(Options{Agent: standIn{}, Servers: []string{"*"}})
	read(noteURI, "b's "+noteURI)
}

// Each of two servers with the same ids of tasks gives its own tasks.
func TestEachServerOfATaskIDHasItsOwnTasks(t *testing.T) {
	t.Parallel()
	tasked := func(name string) upstream.Server {
		task := `{"taskId":"1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":1000,"statusMessage":"` + name + `'s"}`
		related := `"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}`
		return upstream.Server{Name: name, Endpoint: plays("script", `SCRIPT=initialize {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}}
tools/list {"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"t_`+name+`","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}}
tools/call {"jsonrpc":"2.0","method":"notifications/tasks/status","params":`+task+`}
tools/call {"jsonrpc":"2.0","id":$ID,"result":{"task":`+task+`}}
tasks/list {"jsonrpc":"2.0","id":$ID,"result":{"tasks":[`+task+`]}}
tasks/get {"jsonrpc":"2.0","id":$ID,"result":`+task+`}
tasks/result {"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"`+name+`'s"}],`+related+`}}`)}
	}
	c := spoken(t, aggregate(t, upstream.Options{Servers: []upstream.Server{tasked("a"), tasked("b")}}, Options{}), `{}`)
	for _, name := range []string{"a", "b"} {
		id := map[string]string{"a": `"1"`, "b": `"1#dragoman.server=b"`}[name]
		c.Say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t_` + name + `","arguments":{},"task":{}}}`)
		for _, line := range c.Until(`"id":1`) {
			if !strings.Contains(line, `"taskId":`+id) {
				t.Errorf("a task of %s: %s", name, line)
			}
		}
		for i, method := range []string{"tasks/get", "tasks/result"} {
			c.Say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"taskId":%s}}`, i+2, method, id))
			if line := bridgetest.Last(c.Until(fmt.Sprintf(`"id":%d`, i+2))); !strings.Contains(line, name+"'s") || !strings.Contains(line, `"taskId":`+id) {
				t.Errorf("%s: %s: %s", name, method, line)
			}
		}
	}
	c.Say(`{"jsonrpc":"2.0","id":9,"method":"tasks/list"}`)
	if line := bridgetest.Last(c.Until(`"id":9`)); strings.Count(line, `"taskId":"1"`) != 1 || strings.Count(line, `"taskId":"1#dragoman.server=b"`) != 1 {
		t.Errorf("tasks: %s", line)
	}
}

// The addresses that are remembered are bounded; what is forgotten is looked for again.
func TestRememberedAddressesAreBounded(t *testing.T) {
	t.Parallel()
	a := newAddresses(100)
	for i := range 1000 {
		for _, server := range []string{"x", "y"} {
			r := ref{server, fmt.Sprint("a://", i)}
			if got, ok := a.find(a.give(r, true)); !ok || got != r || len(a.by) > 100 || len(a.given) > 100 {
				t.Fatalf("%v: %v, %d are remembered", r, got, len(a.by))
			}
		}
	}
}

// An address is unique even if a server chooses one that looks like another's.
func TestAddressesAreUnique(t *testing.T) {
	t.Parallel()
	a := newAddresses(100)
	taken := map[string]bool{}
	for _, r := range []ref{{"x", "a://1"}, {"x", "a://1#dragoman.server=y"}, {"y", "a://1"}, {"z", "a://1#f"}, {"y", "a://1#f"}, {"y z", "a://1"}, {"", "a://1"}} {
		address := a.give(r, true)
		if got, _ := a.find(address); got != r || taken[address] || a.give(r, false) != address {
			t.Errorf("%v: %s means %v", r, address, got)
		}
		taken[address] = true
	}
	for address, want := range map[string]string{"a://1#dragoman.server=y": "a://1", "a://1#f&dragoman.server=y": "a://1#f", "a://1dragoman.server=y": "", "#dragoman.server=y": "", "a://1": ""} {
		if own, ok := unmarked(address, "y"); own != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", address, own, ok)
		}
	}
}
