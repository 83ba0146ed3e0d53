package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// paced builds the agent that answers as a prompt says, and a program that copies lines to it.
func paced(b *testing.B) (agent, relay string) {
	b.Helper()
	dir := b.TempDir()
	agent, relay = filepath.Join(dir, "pace"), filepath.Join(dir, "lines")
	for _, name := range []string{"pace", "lines"} {
		if text, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), "./testdata/"+name).CombinedOutput(); err != nil {
			b.Fatalf("go build: %v\n%s", err, text)
		}
	}
	script := filepath.Join(dir, "relay") // an editor adds an argument of its own
	newPlace(b).put(b, script, fmt.Sprintf("#!/bin/sh\nexec %q %q\n", relay, agent))
	if text, err := exec.Command("chmod", "+x", script).CombinedOutput(); err != nil {
		b.Fatalf("chmod: %v\n%s", err, text)
	}
	return agent, script
}

// streaming is a service of models that answers each prompt "flat N SIZE" with N chunks.
func streaming(b testing.TB, n, size int) (url string) {
	chunk := `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", size) + `"}}]}` + "\n\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range n {
			_, _ = w.Write([]byte(chunk)) // who has left is told nothing
		}
		_, _ = w.Write([]byte(`data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
	}))
	b.Cleanup(s.Close)
	return s.URL + "/v1"
}

// BenchmarkPassingThrough is what an external agent's updates cost on their way to an ACP editor:
// processor time of an update, beside a chunk of a turn of the built-in agent with a model behind
// HTTP and with the offline one; the time from the agent's writing to the editor's reading, beside
// the agent alone and a program that copies lines; and session/new. All in one run, by turns.
func BenchmarkPassingThrough(b *testing.B) {
	const updates, size = 20_000, 40
	dragoman := quickly(b)
	agent, relay := paced(b)
	p := newPlace(b)
	p.userConfig(b, fmt.Sprintf(
		"agents: {pace: {acp: {command: [%q]}}}\nproviders: {mock: {kind: openai-chat, base_url: %q, api_key: none, models: {any: {}}}}\nmodel: mock/any\n",
		agent, streaming(b, updates, size)))
	open := func(l launch, flags ...string) (*editor, string) {
		e := p.edit(b, acpDialect(), l, flags...)
		return e, e.begin()
	}
	alone, aloneID := open(launch{binary: agent})
	copied, copiedID := open(launch{binary: relay})
	through, throughID := open(dragoman, "--agent", "pace")
	builtin, builtinID := open(dragoman)
	offline := newPlace(b).edit(b, acpDialect(), dragoman) // without a key or a configuration
	offlineID := offline.begin()
	flat := fmt.Sprintf("flat %d %d", updates, size)
	used := func(e *editor, id, prompt string) time.Duration {
		before := cpu(b, e.cmd.Process.Pid)
		e.prompt(id, prompt)
		e.gulp(`"stopReason":`)
		return cpu(b, e.cmd.Process.Pid) - before
	}
	delays := func(e *editor, id string) []time.Duration { return e.delays(id, "pace 200 2") }
	used(through, throughID, flat)
	used(builtin, builtinID, flat)
	used(offline, offlineID, fmt.Sprintf("stream %d of %d", updates, size))
	var update, chunk, demo time.Duration
	var direct, relayed, ours, news []time.Duration
	n := 0
	for b.Loop() {
		n++
		for range 5 {
			update += used(through, throughID, flat)
			chunk += used(builtin, builtinID, flat)
			demo += used(offline, offlineID, fmt.Sprintf("stream %d of %d", updates, size))
		}
		direct = append(direct, delays(alone, aloneID)...)
		relayed = append(relayed, delays(copied, copiedID)...)
		ours = append(ours, delays(through, throughID)...)
		for range 5 {
			began := time.Now()
			through.begin()
			news = append(news, time.Since(began))
			began = time.Now()
			e, _ := open(launch{binary: agent})
			news[len(news)-1] -= time.Since(began)
			e.stop()
		}
	}
	each := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(n*5*updates) / 1000 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(each(update), "µs/update")
	b.ReportMetric(each(chunk), "µs/chunk")
	b.ReportMetric(each(demo), "µs/demo-chunk")
	b.ReportMetric(each(update)/each(chunk), "ratio")
	added := func(list []time.Duration) float64 { return (median(list) - median(direct)) * 1000 }
	b.ReportMetric(added(ours), "added-µs")
	b.ReportMetric(added(relayed), "relay-µs")
	b.ReportMetric(median(news), "new-ms")
	for _, e := range []*editor{alone, copied, through, builtin, offline} {
		e.stop()
	}
}

// delays sends a prompt for updates with the times at which they were sent, and returns how long
// each took to the editor.
func (e *editor) delays(id, prompt string) (list []time.Duration) {
	e.t.Helper()
	e.prompt(id, prompt)
	for {
		frame, err := e.frame()
		if err != nil {
			e.t.Fatal(err)
		}
		now := time.Now()
		text := string(frame)
		if strings.Contains(text, `"stopReason":`) {
			return list
		}
		_, rest, ok := strings.Cut(text, `"text":"`)
		if !ok || !strings.Contains(text, "agent_message_chunk") {
			continue
		}
		rest, _, _ = strings.Cut(rest, `"`)
		for _, at := range strings.Fields(rest) {
			sent, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				e.t.Fatalf("%q: %v", text, err)
			}
			list = append(list, now.Sub(time.Unix(0, sent)))
		}
	}
}

// median is in milliseconds.
func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2].Microseconds()) / 1000
}

// gulp reads until a frame holds an end, without looking at the others, and counts
// them.
func (e *editor) gulp(end string) (frames int) {
	e.t.Helper()
	if err := e.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		e.t.Fatal(err)
	}
	for {
		frame, err := e.frame()
		if err != nil {
			e.t.Fatal(err)
		}
		if frames++; bytes.Contains(frame, []byte(end)) {
			return frames
		}
	}
}
