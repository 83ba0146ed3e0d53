package llm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"dragoman/core/coretest"
)

// A feature that a service refuses is dropped, once and for later requests too, and no
// other one is.
func TestAdapts(t *testing.T) {
	type denial struct{ has, says string } // the refused feature, and the words of the refusal
	for _, c := range []struct {
		name, kind string
		voice      func() voice
		refuses    []denial
		tries      int    // of the first request
		ends       string // content of the last body
	}{
		{"adaptive", KindAnthropic, func() voice { return &messagesVoice{} }, []denial{
			{`"budget_tokens"`, `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking.`},
		}, 2, `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}`},
		{"adaptive without effort", KindAnthropic, func() voice { return &messagesVoice{} }, []denial{
			{`"budget_tokens"`, "thinking.budget_tokens: Extra inputs are not permitted"}, {`"output_config"`, "output_config: Extra inputs are not permitted"},
		}, 3, `"thinking":{"type":"adaptive"},"stream"`},
		{"does not think", KindAnthropic, func() voice { return &messagesVoice{} }, []denial{{`"thinking"`, "thinking is not supported on this model"}}, 2, `],"stream":true`},
		{"nothing else", KindAnthropic, func() voice { return &messagesVoice{} }, []denial{{`"model"`, "messages: at least one message is required"}}, 1, ""},
		{"effort", KindOpenAIChat, nil, []denial{{`"reasoning_effort"`, "Unrecognized request argument supplied: reasoning_effort"}}, 2, `"stream":true`},
		{"limit", KindOpenAIChat, nil, []denial{
			{`"max_tokens"`, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."},
			{`"stream_options"`, "stream_options: unknown field"},
		}, 3, `"stream":true,"max_completion_tokens":100,"reasoning_effort":"high"`},
		{"summary", KindOpenAIResponses, func() voice { return &responsesVoice{} }, []denial{
			{`"summary"`, "Your organization must be verified to generate reasoning summaries."},
		}, 2, `"reasoning":{"effort":"high"}`},
		{"no reasoning", KindOpenAIResponses, func() voice { return &responsesVoice{} }, []denial{
			{`"include"`, "Encrypted content is not supported with this model."},
			{`"effort"`, "Unsupported parameter: 'reasoning.effort' is not supported with this model."},
			{`"reasoning"`, "Unknown parameter: 'reasoning'."},
		}, 4, `"store":false,"max_output_tokens"`},
		{"level", KindOllama, func() voice { return ollamaVoice{} }, []denial{{`"think":"`, `think value "high" is not supported for this model`}}, 2, `"think":true`},
		{"no thinking", KindOllama, func() voice { return ollamaVoice{} }, []denial{{`"think"`, `"m" does not support thinking`}}, 2, `"options"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bodies []string
				m := model(t, serve(t, Provider{Kind: c.kind}, func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					bodies = append(bodies, string(b))
					for _, n := range c.refuses {
						if strings.Contains(string(b), n.has) {
							fail(w, http.StatusBadRequest, n.says, "invalid_request_error")
							return
						}
					}
					if c.voice == nil {
						cases[coretest.ModelText](w, r, b)
						return
					}
					speaks(c.voice(), coretest.ModelText, w, r, b)
				}))
				r := coretest.ModelRequest()
				r.Effort, r.MaxOut = "high", 100
				h := coretest.Hear(t.Context(), t, m, r, nil)
				if len(bodies) != c.tries || len(h.Retries) != 0 || (h.Err == nil) != (c.ends != "") {
					t.Fatalf("%d tries, error %v:\n%s", len(bodies), h.Err, strings.Join(bodies, ""))
				}
				if c.ends == "" {
					return
				}
				if last := bodies[len(bodies)-1]; !strings.Contains(last, c.ends) {
					t.Errorf("sent %s", last)
				}
				if h := coretest.Hear(t.Context(), t, m, r, nil); h.Err != nil || len(bodies) != c.tries+1 {
					t.Errorf("the next request: %v after %d more", h.Err, len(bodies)-c.tries)
				}
			})
		})
	}
}

// TestEfforts shows the form of each effort in each wire format.
func TestEfforts(t *testing.T) {
	got := ""
	for _, kind := range wireKinds {
		for _, effort := range []string{"", "minimal", "low", "medium", "high", "xhigh", "max", "unheard-of"} {
			r := coretest.ModelRequest()
			r.Effort = effort
			body, err := encodeWhole(remoteFor("http://svc.test/v1", kind), r)
			if err != nil {
				t.Fatal(err)
			}
			var all map[string]json.RawMessage
			if err := json.Unmarshal(body, &all); err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf("%s %q:", kind, effort)
			for _, field := range []string{"reasoning_effort", "reasoning", "include", "thinking", "max_tokens", "think"} {
				if all[field] != nil {
					line += fmt.Sprintf(" %s %s", field, all[field])
				}
			}
			got += line + "\n"
		}
	}
	coretest.GoldenFile(t, filepath.Join("testdata", "request", "efforts.txt"), got, *update)
}
