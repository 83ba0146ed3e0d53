package llm

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

const turns = `{"fixtures":[
  {"match":{"userMessage":"plain"},"chunkSize":10,"response":{"content":"the quick brown fox jumps over it","usage":{"prompt_tokens":100,"completion_tokens":4}}},
  {"match":{"userMessage":"reason"},"response":{"reasoning":"First I think.","content":"42"}},
  {"match":{"userMessage":"tools","hasToolResult":false},"chunkSize":6,"response":{"content":"Let me look.","toolCalls":[
    {"id":"call_a","name":"get_weather","arguments":{"city":"Bern"}},{"id":"call_b","name":"get_time","arguments":"{\"tz\":\"CET\"}"}]}},
  {"match":{"userMessage":"tools","hasToolResult":true,"toolResultContains":"21"},"response":{"content":"It is 21C."}},
  {"match":{"userMessage":"limit"},"response":{"error":{"message":"slow down","type":"rate_limit_error"},"status":429,"retryAfter":3}},
  {"match":{"userMessage":"flaky","sequenceIndex":0},"response":{"error":{"message":"again"},"status":500}},
  {"match":{"userMessage":"flaky","sequenceIndex":1},"response":{"content":"recovered"}},
  {"match":{"userMessage":"cut"},"chunkSize":4,"latency":5,"truncateAfterChunks":3,"response":{"content":"abcdefghijklmnopqrstuvwxyz"}},
  {"match":{"userMessage":"slow"},"chunkSize":2,"streamingProfile":{"ttft":300,"tps":10},"response":{"content":"abcd"}},
  {"match":{"userMessage":"length"},"response":{"content":"cut","finishReason":"length"}}
]}`

// playerOf makes a model that plays a file.
func playerOf(t *testing.T, text string, options map[string]string) inference.Model {
	t.Helper()
	if options == nil {
		options = map[string]string{}
	}
	options["file"] = filepath.Join(t.TempDir(), "turns.json")
	if err := os.WriteFile(options["file"], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return model(t, New(Config{Providers: []Provider{{Name: "svc", Kind: KindReplay, Options: options}}}))
}

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := playerOf(t, turns, nil)
		hear := func(text string, more ...inference.Message) *coretest.Transcript {
			r := coretest.ModelRequest(core.Text{Text: text})
			r.Messages = append(r.Messages, more...)
			return coretest.Hear(t.Context(), t, m, r, nil)
		}
		kind := func(h *coretest.Transcript) inference.ErrorKind {
			var e *inference.Error
			if !errors.As(h.Err, &e) {
				t.Fatalf("no error of a model: %v", h.Err)
			}
			return e.Kind
		}
		if h := hear("plain, please"); h.Text != "the quick brown fox jumps over it" || h.Usage.In != 100 || h.Deltas != 4+2 {
			t.Errorf("plain: %+v", h)
		}
		if h := hear("reason"); h.Thought != "First I think." || h.Text != "42" || !h.Usage.Estimated {
			t.Errorf("reason: %+v", h)
		}
		h := hear("tools")
		if len(h.Calls) != 2 || h.Calls[0].Args != `{"city":"Bern"}` || h.Calls[1].Args != `{"tz":"CET"}` || len(h.Calls[0].Pieces) < 2 {
			t.Errorf("tools: %+v", h)
		}
		result := inference.Message{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "call_a", Name: "get_weather", Blocks: []core.Block{core.Text{Text: "21 degrees"}}}}
		if h := hear("tools", inference.Message{Role: inference.RoleAssistant, Calls: []inference.ToolUse{{ID: "call_a", Name: "get_weather"}}}, result); h.Text != "It is 21C." {
			t.Errorf("after the tool: %+v", h)
		}
		if h := hear("limit"); kind(h) != inference.ErrRateLimit {
			t.Errorf("limit: %v", h.Err)
		}
		if a, b := hear("flaky"), hear("flaky"); kind(a) != inference.ErrServer || b.Text != "recovered" {
			t.Errorf("flaky: %v, %+v", a.Err, b)
		}
		if h := hear("cut"); kind(h) != inference.ErrTruncated || h.Text != "abcdefghijkl" {
			t.Errorf("cut: %+v", h)
		}
		began := time.Now()
		if h := hear("slow"); h.Text != "abcd" || time.Since(began) != 400*time.Millisecond {
			t.Errorf("slow: %+v after %v", h, time.Since(began))
		}
		if h := hear("length"); h.Stop != core.StopTokens {
			t.Errorf("length: %+v", h)
		}
		if h := hear("something else"); kind(h) != inference.ErrBadRequest {
			t.Errorf("no turn: %v", h.Err)
		}
		if h := coretest.Hear(t.Context(), t, playerOf(t, "{", nil), coretest.ModelRequest(), nil); kind(h) != inference.ErrBadRequest {
			t.Errorf("a broken file: %v", h.Err)
		}
	})
}

// A recording plays the same answers again, and contains no secret.
func TestRecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recorded.json")
	const key = "sk-canary-0123456789"
	texts := strings.Replace(turns, "the quick brown fox", "the quick "+key+" fox", 1)
	source := filepath.Join(t.TempDir(), "turns.json")
	if err := os.WriteFile(source, []byte(texts), 0o600); err != nil {
		t.Fatal(err)
	}
	m := model(t, New(Config{Providers: []Provider{{
		Name: "svc", Kind: KindReplay, Options: map[string]string{"file": source, "record": file}, Key: func(context.Context) (string, error) { return key, nil },
	}}}))
	bystander := filepath.Join(t.TempDir(), "bystander")
	if err := os.Symlink(bystander, file+".tmp"); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	asked := []string{"plain", "reason", "tools", "limit", "length"}
	var first []*coretest.Transcript
	for i, text := range asked {
		// A consumer that has the end of an answer may stop reading.
		leaves := func(d inference.Delta) bool { return i%2 == 0 || d.Kind != inference.DeltaStop }
		first = append(first, coretest.Hear(t.Context(), t, m, coretest.ModelRequest(core.Text{Text: text}), leaves))
	}
	b, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(b), key) || !json.Valid(b) {
		t.Fatalf("%v: %s", err, b)
	}
	if _, err := os.Lstat(bystander); err == nil {
		t.Error("it was written where a link led that others could put there")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".recording-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if n := strings.Count(string(b), `"match"`); n != len(asked) {
		t.Errorf("%d of %d answers were recorded", n, len(asked))
	}
	again := playerOf(t, string(b), nil)
	for i, text := range asked {
		h := coretest.Hear(t.Context(), t, again, coretest.ModelRequest(core.Text{Text: text}), nil)
		want := strings.ReplaceAll(first[i].Text, key, "[key]")
		if h.Text != want || h.Thought != first[i].Thought || len(h.Calls) != len(first[i].Calls) || h.Stop != first[i].Stop || (h.Err == nil) != (first[i].Err == nil) {
			t.Errorf("%s: %+v, recorded of %+v", text, h, first[i])
		}
	}
}

func FuzzFixtures(f *testing.F) {
	f.Add([]byte(turns))
	f.Add([]byte(`[{"match":{},"chunkSize":-1,"latency":-5,"response":{"content":"text"}}]`))
	f.Add([]byte(`[{"match":{},"chunkSize":9000000000000000000,"response":{"content":"text"}}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return // the limits of a file have their own test
		}
		synctest.Test(t, func(t *testing.T) { // pauses take no time
			m := playerOf(t, string(b), nil)
			for _, text := range []string{"plain", "tools", "slow", "cut", "x"} {
				coretest.Hear(t.Context(), t, m, coretest.ModelRequest(core.Text{Text: text}), nil)
			}
		})
	})
}
