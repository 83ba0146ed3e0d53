package models

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dragoman/core/coretest"
	"dragoman/core/inference"
	"dragoman/core/llm"
)

// suiteName is a case as a model's name, by which aimock tells the cases apart.
func suiteName(kind string, c coretest.ModelCase) string {
	return "gpt-5-" + kind + "-" + strings.ReplaceAll(strings.ReplaceAll(string(c), " ", "-"), ",", "")
}

// suiteSays is what aimock answers in each case that it can play, the first time;
// from then on it is what it says to ModelText, unless that is named here too.
var suiteSays = map[coretest.ModelCase]string{
	coretest.ModelText:    `"chunkSize":5,"response":{"content":"Hello, world.","usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15,"input_tokens":12,"output_tokens":3}}`,
	coretest.ModelThought: `"chunkSize":6,"response":{"reasoning":"First I think.","reasoningSignature":"sig-1","content":"42"}`,
	coretest.ModelCall:    `"chunkSize":6,"response":{"toolCalls":[{"id":"call_1","name":"get_weather","arguments":{"city":"Zürich"}}]}`,
	coretest.ModelParallel: `"chunkSize":6,"response":{"content":"Let me look.","toolCalls":[{"id":"call_a","name":"get_weather","arguments":{"city":"Bern"}},` +
		`{"id":"call_b","name":"get_time","arguments":{"tz":"CET"}}]}`,
	coretest.ModelBadArgs:   `"response":{"toolCalls":[{"id":"call_1","name":"get_weather","arguments":"{\"city\":"}]}`,
	coretest.ModelEndless:   `"chunkSize":5,"response":{"content":"` + strings.Repeat("word ", 8000) + `"}`,
	coretest.ModelRateLimit: `"response":{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"},"status":429,"retryAfter":1}`,
	coretest.ModelFlaky:     `"response":{"error":{"message":"boom","type":"server_error"},"status":500}`,
	coretest.ModelReset:     `"chunkSize":1,"latency":5,"truncateAfterChunks":10,"response":{"content":"abcdefghijklmnopqrstuvwxyz"}`,
	coretest.ModelLongLine:  `"chunkSize":200000,"response":{"content":"` + strings.Repeat("x", 100<<10) + `"}`,
	coretest.ModelOverflow:  `"response":{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum","type":"invalid_request_error"},"status":400}`,
	coretest.ModelNoKey:     `"response":{"error":{"message":"invalid key ` + coretest.ModelSecret + `","type":"authentication_error"},"status":401}`,
}

// Every wire format passes what aimock can play of the suite of models: a second
// opinion of how its service speaks.
func TestModelSuite(t *testing.T) {
	kinds := []struct {
		kind, path string
		not        map[coretest.ModelCase]string
	}{
		{llm.KindOpenAIChat, "/v1", nil},
		{llm.KindOpenAIResponses, "/v1", nil},
		{llm.KindAnthropic, "/v1", map[coretest.ModelCase]string{coretest.ModelBadArgs: "aimock mends them"}},
		{llm.KindOllama, "", map[coretest.ModelCase]string{
			coretest.ModelText: "aimock counts no tokens there", coretest.ModelThought: "aimock has another name for thinking", coretest.ModelCall: "calls come whole", coretest.ModelBadArgs: "arguments are JSON",
		}},
	}
	var fixtures []string
	for _, k := range kinds {
		for c, says := range suiteSays {
			match := `{"model":"` + suiteName(k.kind, c) + `"`
			if slices.Contains([]coretest.ModelCase{coretest.ModelEndless, coretest.ModelText, coretest.ModelCall}, c) { // each time
				fixtures = append(fixtures, `{"match":`+match+`},`+says+`}`)
				continue
			}
			fixtures = append(fixtures, `{"match":`+match+`,"sequenceIndex":0},`+says+`}`, `{"match":`+match+`},`+suiteSays[coretest.ModelText]+`}`)
		}
	}
	all := `{"fixtures":[` + strings.Join(fixtures, ",\n") + `]}`
	if !json.Valid([]byte(all)) {
		t.Fatal("the fixtures are not JSON")
	}
	url := aimock(t, all)
	for _, k := range kinds {
		t.Run(k.kind, func(t *testing.T) {
			coretest.ModelLive(t, func(t *testing.T, c coretest.ModelCase) inference.Model {
				if why := k.not[c]; why != "" {
					t.Skip(why)
				}
				if suiteSays[c] == "" {
					t.Skip("aimock cannot play this")
				}
				direct := http.DefaultTransport.(*http.Transport).Clone()
				direct.Proxy = nil
				r := llm.New(llm.Config{Transport: direct, Providers: []llm.Provider{{
					Name: "svc", Kind: k.kind, BaseURL: url + k.path, KeyHint: "Set SVC_KEY",
					Key: func(context.Context) (string, error) { return coretest.ModelSecret, nil },
				}}})
				t.Cleanup(r.Close)
				m, err := r.Model("svc/" + suiteName(k.kind, c))
				if err != nil {
					t.Fatal(err)
				}
				return m
			})
		})
	}
}
