package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// model is a service of models that does what the last prompt of a request says: "bench:flood N RATE SIZE"
// streams N chunks of SIZE bytes, RATE a second (0: at once), each with the time at which it was sent;
// "bench:tool NAME ARGUMENTS" calls a tool, and answers its result with one chunk.
type model struct {
	*httptest.Server

	mu     sync.Mutex // guards the fields below
	called time.Time  // when a call of a tool was sent
	took   []time.Duration
	last   []byte // request
}

func newModel() *model {
	m := &model{}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	return m
}

// api is the base of the service's addresses.
func (m *model) api() string { return m.URL + "/v1" }

// tools returns how long the calls of tools have taken since it was asked last: from the model's call
// to the request with its result.
func (m *model) tools() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	took := m.took
	m.took = nil
	return took
}

// lastRequest returns the request that came last.
func (m *model) lastRequest() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	if r.Method != http.MethodPost {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"any"}]}`)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w).Flush
	end := func() {
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}
	var n, rate, size int
	flood, tool := bytes.LastIndex(body, []byte("bench:flood ")), bytes.LastIndex(body, []byte("bench:tool "))
	if tool > flood {
		if bytes.LastIndex(body, []byte(`"role":"tool"`)) > tool {
			m.mu.Lock()
			m.took = append(m.took, arrived.Sub(m.called))
			m.mu.Unlock()
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"done"}}]}`+"\n\n")
			end()
			return
		}
		var text string // from here to the end of the string is JSON
		if err := json.NewDecoder(io.MultiReader(strings.NewReader(`"`), bytes.NewReader(body[tool+len("bench:tool "):]))).Decode(&text); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		name, args, _ := strings.Cut(text, " ")
		quoted, _ := json.Marshal(args) // a string
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":%q,"arguments":%s}}]}}]}`+"\n\n", arrived.UnixNano(), name, quoted)
		m.mu.Lock()
		m.called = time.Now()
		m.mu.Unlock()
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
		return
	}
	m.mu.Lock()
	m.last = body
	m.mu.Unlock()
	if _, err := fmt.Sscanf(string(body[max(flood, 0):min(len(body), flood+64)]), "bench:flood %d %d %d", &n, &rate, &size); err != nil {
		n, size = 1, 20 // a request for a title, say
	}
	var chunk []byte
	next := time.Now()
	for range n {
		chunk = fmt.Appendf(append(chunk[:0], `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"`...), "@%d ", time.Now().UnixNano())
		for range size - 21 {
			chunk = append(chunk, 'x')
		}
		chunk = append(chunk, "\"}}]}\n\n"...)
		if _, err := w.Write(chunk); err != nil {
			return
		}
		if rate > 0 {
			if flush() != nil {
				return
			}
			next = next.Add(time.Second / time.Duration(rate))
			time.Sleep(time.Until(next))
		}
	}
	end()
}
