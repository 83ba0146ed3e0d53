package serve

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"dragoman/cmd/internal/program/programtest"
	"dragoman/cmd/internal/setup"
	"dragoman/core"
	"dragoman/core/coretest"
)

// pictureAnswers are answers of one word, by the kind of a provider.
var pictureAnswers = map[string]string{
	"openai-chat": `data: {"choices":[{"index":0,"delta":{"content":"seen"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
	"openai-responses": `data: {"type":"response.output_text.delta","output_index":0,"delta":"seen"}` + "\n\n" +
		`data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n",
	"anthropic": `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"seen"}}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n",
	"ollama": `{"message":{"content":"seen"},"done":true,"done_reason":"stop"}` + "\n",
}

// TestBudgetPicture sends one prompt with a picture through the server, its store and a model. The line that is
// read, the picture and its stored form are each in memory once, and only the picture stays.
func TestBudgetPicture(t *testing.T) {
	if coretest.Race {
		t.Skip("the race detector allocates")
	}
	const size = 12 << 20
	for kind, answer := range pictureAnswers {
		t.Run(kind, func(t *testing.T) {
			allocated, held := pictureCosts(t, size, kind, answer)
			t.Logf("it allocates %.2f times its size, and holds %.2f", allocated, held)
			if allocated > 4.5 || held > 1.2 {
				t.Errorf("a picture allocates %.2f times its size, and holds %.2f", allocated, held)
			}
		})
	}
}

// pictureCosts returns what a prompt with a picture allocates, and what is held after its turn, in sizes of the picture.
func pictureCosts(t *testing.T, size int, kind, answer string) (allocated, held float64) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); err != nil || n < int64(base64.StdEncoding.EncodedLen(size)) {
			t.Errorf("the request has %d bytes: %v", n, err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, answer)
	}))
	t.Cleanup(srv.Close)
	o, work := inPlace(t)
	programtest.Write(t, o.Env.Flags.Config, fmt.Sprintf(
		"policy: {sandbox: none}\nmodel: house/m\nproviders: {house: {kind: %s, base_url: %q, api_key: x, models: {m: {context_window: 900000}}}}\n", kind, srv.URL))
	h, end := inProcess(t, o)
	defer end()
	conn := &connection{h, core.Local, h.process.Client(setup.ClientOptions{Principal: core.Local, People: true, Quiet: true})}
	in, to := io.Pipe()
	from, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- idleFaces["acp"].serve(conn, work).Serve(t.Context(), in, out) }()
	lines := bufio.NewScanner(from)
	until := func(text string) string {
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return lines.Text()
			}
		}
		t.Fatalf("there is no answer with %s: %v", text, lines.Err())
		return ""
	}
	send := func(text string) { io.WriteString(to, text) }
	send(idleFaces["acp"].hello + "\n")
	until(`"id":"hello"`)
	send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", work))
	_, id, _ := strings.Cut(until(`"id":"new"`), `"sessionId":"`)
	id, _, _ = strings.Cut(id, `"`)

	piece := []byte(base64.StdEncoding.EncodeToString(make([]byte, 3<<16)))
	heap := heapNow()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() {
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"go","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"image","mimeType":"image/png","data":"`, id))
		for range size / (3 << 16) {
			to.Write(piece)
		}
		send(`"},{"type":"text","text":"what is it?"}]}}` + "\n")
	}()
	if said := until(`"id":"go"`); !strings.Contains(said, "end_turn") {
		t.Error(said)
	}
	runtime.ReadMemStats(&after)
	now := heapNow()
	to.Close()
	go io.Copy(io.Discard, from)
	<-ended
	conn.profiles.Close()
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(size), float64(now-heap) / float64(size)
}
