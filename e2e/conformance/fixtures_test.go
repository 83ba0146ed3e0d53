package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const watched = "test://watched-resource"

// The smallest picture and the smallest sound.
var (
	picture = decoded("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	sound   = decoded("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decoded(s string) []byte {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func text(format string, args ...any) sdk.Content {
	return &sdk.TextContent{Text: fmt.Sprintf(format, args...)}
}

func said(c ...sdk.Content) (*sdk.CallToolResult, error) { return &sdk.CallToolResult{Content: c}, nil }

func embedded(uri, s string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: "text/plain", Text: s}}
}

// args are a call's arguments.
type args map[string]any

func (a args) str(name string) string { s, _ := a[name].(string); return s }

type tool func(ctx context.Context, req *sdk.CallToolRequest, a args) (*sdk.CallToolResult, error)

const anything = `{"type":"object"}`

// fixtures are what the suites' README asks of a server.
func fixtures(s *sdk.Server, j *jobs) {
	add := func(name, schema string, t tool) {
		s.AddTool(&sdk.Tool{Name: name, Description: "For the conformance suites: " + name, InputSchema: json.RawMessage(schema)}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			a := args{}
			if len(req.Params.Arguments) > 0 {
				if err := json.Unmarshal(req.Params.Arguments, &a); err != nil {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
				}
			}
			res, err := t(ctx, req, a)
			if e := (*jsonrpc.Error)(nil); err != nil && !errors.As(err, &e) {
				res, err = &sdk.CallToolResult{Content: []sdk.Content{text("%v", err)}, IsError: true}, nil
			}
			return res, err
		})
	}
	simple(add)
	talking(add)
	changing(s, add)
	again(add)
	j.tools(add)
	resources(s)
	prompts(s)
}

// simple tools answer at once.
func simple(add func(name, schema string, t tool)) {
	add("test_simple_text", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) {
		return said(text("This is a simple text response for testing."))
	})
	add("test_image_content", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) {
		return said(&sdk.ImageContent{Data: picture, MIMEType: "image/png"})
	})
	add("test_audio_content", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) {
		return said(&sdk.AudioContent{Data: sound, MIMEType: "audio/wav"})
	})
	add("test_embedded_resource", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) {
		return said(embedded("test://embedded-resource", "This is an embedded resource content."))
	})
	add("test_multiple_content_types", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) {
		return said(text("Multiple content types test:"), &sdk.ImageContent{Data: picture, MIMEType: "image/png"}, embedded("test://mixed-content-resource", "{}"))
	})
	add("test_error_handling", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) {
		return nil, errors.New("this tool intentionally returns an error for testing")
	})
	add("greet", `{"type":"object","properties":{"name":{"type":"string"}}}`, func(_ context.Context, _ *sdk.CallToolRequest, a args) (*sdk.CallToolResult, error) {
		return said(text("Hello, %s!", a.str("name")))
	})
	add("test_x_mcp_header", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`, func(_ context.Context, _ *sdk.CallToolRequest, a args) (*sdk.CallToolResult, error) {
		return said(text("region=%s", a.str("region")))
	})
	add("json_schema_2020_12_tool", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
"additionalProperties":false}`, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		return said(text("called with %s", req.Params.Arguments))
	})
	add("test_missing_capability", anything, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		if c := req.ClientCapabilities(); c == nil || c.Sampling == nil { //nolint:staticcheck // what the suite asks for
			return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is needed", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
		}
		return said(text("sampling is there"))
	})
	add("test_streaming_elicitation", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) {
		return said(text("no requests were made"))
	})
}

// pause is between two notifications of one call.
const pause = 50 * time.Millisecond

// talking tools notify and ask while they run.
func talking(add func(name, schema string, t tool)) {
	log := func(ctx context.Context, req *sdk.CallToolRequest, what string) error {
		return req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: what}) //nolint:staticcheck // as above
	}
	add("test_tool_with_logging", anything, func(ctx context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		for _, what := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if err := log(ctx, req, what); err != nil {
				return nil, err
			}
			<-time.After(pause)
		}
		return said(text("logged"))
	})
	add("test_logging_tool", anything, func(ctx context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		if err := log(ctx, req, "test_logging_tool executed"); err != nil {
			return nil, err
		}
		return said(text("logged, if wanted"))
	})
	add("test_tool_with_progress", anything, func(ctx context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		token := req.Params.GetProgressToken()
		for _, n := range []float64{0, 50, 100} {
			if err := req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Total: 100, Message: fmt.Sprintf("Completed step %v of 100", n)}); err != nil {
				return nil, err
			}
			<-time.After(pause)
		}
		return said(text("%v", token))
	})
	add("test_sampling", `{"type":"object","required":["prompt"],"properties":{"prompt":{"type":"string"}}}`, func(ctx context.Context, req *sdk.CallToolRequest, a args) (*sdk.CallToolResult, error) {
		res, err := req.Session.CreateMessage(ctx, sampling(a.str("prompt"))) //nolint:staticcheck // as above
		if err != nil {
			return nil, err
		}
		b, err := json.Marshal(res.Content)
		return &sdk.CallToolResult{Content: []sdk.Content{text("LLM response: %s", b)}}, err
	})
	for name, schema := range map[string]string{
		"test_elicitation": `{"type":"object","required":["username","email"],"properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}}}`,
		"test_elicitation_sep1034_defaults": `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`,
		"test_elicitation_sep1330_enums": `{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`,
	} {
		add(name, anything, func(ctx context.Context, req *sdk.CallToolRequest, a args) (*sdk.CallToolResult, error) {
			message := a.str("message")
			if message == "" {
				message = "Please fill this in"
			}
			res, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
			if err != nil {
				return nil, err
			}
			b, err := json.Marshal(res.Content)
			return &sdk.CallToolResult{Content: []sdk.Content{text("Elicitation completed: action=%s, content=%s", res.Action, b)}}, err
		})
	}
	add("test_reconnection", anything, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		if req.Extra != nil && req.Extra.CloseSSEStream != nil {
			req.Extra.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		<-time.After(2 * pause)
		return said(text("the stream was closed, and this came after it"))
	})
}

func sampling(prompt string) *sdk.CreateMessageParams { //nolint:staticcheck // as above
	return &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: text("%s", prompt)}}} //nolint:staticcheck // as above
}

// changing tools change what is listed.
func changing(s *sdk.Server, add func(name, schema string, t tool)) {
	add("test_trigger_tool_change", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) {
		add("test_transient_tool", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) { return said() })
		return said(text("the tools have changed"))
	})
	add("test_trigger_prompt_change", anything, func(context.Context, *sdk.CallToolRequest, args) (*sdk.CallToolResult, error) {
		s.AddPrompt(&sdk.Prompt{Name: "test_transient_prompt", Description: "Comes later"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{}}, nil
		})
		return said(text("the prompts have changed"))
	})
}

// form asks for one value.
func form(message, name, kind string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","required":[%q],"properties":{%q:{"type":%q}}}`, name, name, kind))}
}

// accepted is what the user has filled in; nil when there is no such answer.
func accepted(answers sdk.InputResponseMap, key string) map[string]any {
	if r, ok := answers[key].(*sdk.ElicitResult); ok && r != nil && r.Action == "accept" {
		return r.Content
	}
	return nil
}

func sampled(answers sdk.InputResponseMap, key string) (string, bool) {
	r, ok := answers[key].(*sdk.CreateMessageWithToolsResult) //nolint:staticcheck // as above
	if !ok || r == nil {
		return "", false
	}
	b, err := json.Marshal(r.Content)
	return string(b), err == nil
}

func rooted(answers sdk.InputResponseMap, key string) (int, bool) {
	r, ok := answers[key].(*sdk.ListRootsResult) //nolint:staticcheck // as above
	if !ok || r == nil {
		return 0, false
	}
	return len(r.Roots), true
}

func ask(state string, requests sdk.InputRequestMap) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{InputRequests: requests, RequestState: state}, nil
}

// again are the tools of 2026-07-28 that ask by a result and are called again.
func again(add func(name, schema string, t tool)) {
	const prefix = "test_input_required_result_"
	add(prefix+"elicitation", anything, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		if name, ok := accepted(req.Params.InputResponses, "user_name")["name"].(string); ok && name != "" {
			return said(text("Hello, %s!", name))
		}
		return ask("", sdk.InputRequestMap{"user_name": form("What is your name?", "name", "string")})
	})
	add(prefix+"sampling", anything, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		if answer, ok := sampled(req.Params.InputResponses, "capital_question"); ok {
			return said(text("%s", answer))
		}
		return ask("", sdk.InputRequestMap{"capital_question": sampling("What is the capital of France?")})
	})
	add(prefix+"list_roots", anything, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		if n, ok := rooted(req.Params.InputResponses, "client_roots"); ok {
			return said(text("%d roots", n))
		}
		return ask("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}}) //nolint:staticcheck // as above
	})
	for _, name := range []string{"request_state", "tampered_state"} {
		add(prefix+name, anything, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
			switch state := req.Params.RequestState; {
			case state != "" && state != name:
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState was changed"}
			case state == name && accepted(req.Params.InputResponses, "confirm") != nil:
				return said(text("state-ok"))
			}
			return ask(name, sdk.InputRequestMap{"confirm": form("Please confirm", "ok", "boolean")})
		})
	}
	add(prefix+"multiple_inputs", anything, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		name, _ := accepted(req.Params.InputResponses, "user_name")["name"].(string)
		greeting, greeted := sampled(req.Params.InputResponses, "greeting")
		if n, ok := rooted(req.Params.InputResponses, "client_roots"); ok && greeted && name != "" {
			return said(text("%s %s, %d roots", greeting, name, n))
		}
		return ask("multiple", sdk.InputRequestMap{
			"user_name": form("What is your name?", "name", "string"), "greeting": sampling("Generate a greeting"),
			"client_roots": &sdk.ListRootsParams{}, //nolint:staticcheck // as above
		})
	})
	add(prefix+"multi_round", anything, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		name, second := strings.CutPrefix(req.Params.RequestState, "2 ")
		switch {
		case second:
			return said(text("%s likes %v", name, accepted(req.Params.InputResponses, "step2")["color"]))
		case req.Params.RequestState == "1":
			name := fmt.Sprint(accepted(req.Params.InputResponses, "step1")["name"])
			return ask("2 "+name, sdk.InputRequestMap{"step2": form("Step 2: What is your favorite color?", "color", "string")})
		}
		return ask("1", sdk.InputRequestMap{"step1": form("Step 1: What is your name?", "name", "string")})
	})
	add(prefix+"capabilities", anything, func(_ context.Context, req *sdk.CallToolRequest, _ args) (*sdk.CallToolResult, error) {
		requests := sdk.InputRequestMap{}
		if c := req.ClientCapabilities(); c != nil {
			if c.Elicitation != nil {
				requests["user_name"] = form("What is your name?", "name", "string")
			}
			if c.Sampling != nil { //nolint:staticcheck // as above
				requests["greeting"] = sampling("Generate a greeting")
			}
		}
		if len(requests) == 0 || len(req.Params.InputResponses) > 0 {
			return said(text("nothing to ask"))
		}
		return ask("", requests)
	})
}

func resources(s *sdk.Server) {
	read := func(mime, text string, blob []byte) sdk.ResourceHandler {
		return func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			uri := req.Params.URI
			id := strings.TrimSuffix(strings.TrimPrefix(uri, "test://template/"), "/data")
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mime, Text: strings.ReplaceAll(text, "ID", id), Blob: blob}}}, nil
		}
	}
	s.AddResource(&sdk.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain"}, read("text/plain", "This is the content of the static text resource.", nil))
	s.AddResource(&sdk.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png"}, read("image/png", "", picture))
	s.AddResource(&sdk.Resource{Name: "watched", URI: watched, MIMEType: "text/plain"}, read("text/plain", "Watched resource content", nil))
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"}, read("application/json", `{"id":"ID","templateTest":true,"data":"Data for ID: ID"}`, nil))
}

func prompts(s *sdk.Server) {
	add := func(name string, arguments []string, messages func(map[string]string) []sdk.Content) {
		p := &sdk.Prompt{Name: name, Description: "For the conformance suites: " + name}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: a, Description: a, Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			res := &sdk.GetPromptResult{}
			for _, c := range messages(req.Params.Arguments) {
				res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
			}
			return res, nil
		})
	}
	add("test_simple_prompt", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{text("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) []sdk.Content {
		return []sdk.Content{text("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) []sdk.Content {
		return []sdk.Content{embedded(a["resourceUri"], "Embedded resource content for testing."), text("Please process the embedded resource above.")}
	})
	add("test_prompt_with_image", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{&sdk.ImageContent{Data: picture, MIMEType: "image/png"}, text("Please analyze the image above.")}
	})
	s.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt", Description: "Asks for its context"}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if c := accepted(req.Params.InputResponses, "user_context"); c != nil {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: text("Context: %v", c["context"])}}}, nil
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": form("Please provide context for the prompt", "context", "string")}}, nil
	})
}
