package llm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

var wireKinds = []string{KindOpenAIChat, KindOpenAIResponses, KindAnthropic, KindOllama}

// growth makes a history longer, in the ways of a session.
type growth struct {
	rnd *rand.Rand
	n   int
}

func (g *growth) more(list []inference.Message) []inference.Message {
	g.n++
	text := []core.Block{core.Text{Text: fmt.Sprintf("<text> %d é", g.n)}}
	switch g.rnd.IntN(8) {
	case 0:
		text = []core.Block{core.Image{Data: []byte{byte(g.n)}}}
	case 1:
		text = append(text, core.Resource{URI: "file:///x", Text: "x"}, core.Link{URI: "file:///y"})
	case 2:
		text = nil
	}
	switch g.rnd.IntN(5) {
	case 0:
		return append(list, inference.Message{Role: inference.RoleUser, Blocks: text})
	case 1:
		return append(list, inference.Message{Role: inference.RoleAssistant, Text: strings.Repeat("said ", g.rnd.IntN(3))})
	}
	answer := inference.Message{Role: inference.RoleAssistant, Text: "I look.", Thoughts: []inference.Thought{
		{Text: "hm", Sealed: sealedData{Of: "svc/m", Signature: "sig", Item: []byte(`{"type":"reasoning"}`), Field: "thinking"}.encode()},
	}}
	calls := 1 + g.rnd.IntN(3)
	for i := range calls {
		answer.Calls = append(answer.Calls, inference.ToolUse{ID: core.CallID(fmt.Sprintf("c%d_%d", g.n, i)), Name: "get_time", Args: []byte(`{"tz":"CET"}`)})
	}
	list = append(list, answer)
	for _, c := range answer.Calls[:calls-g.rnd.IntN(2)] { // the last one may still be running
		list = append(list, inference.Message{Role: inference.RoleTool, Result: inference.ToolReturn{ID: c.ID, Name: c.Name, Blocks: text, Failed: g.rnd.IntN(9) == 0}})
	}
	return list
}

// The request is the same whether an earlier one was encoded or not, for any change of
// the history; and it begins like the previous request, so that prompt caches hit.
func TestPast(t *testing.T) {
	for _, kind := range wireKinds {
		t.Run(kind, func(t *testing.T) {
			for seed := range uint64(20) {
				m := remoteFor("http://svc.test/v1", kind)
				g := &growth{rnd: rand.New(rand.NewPCG(seed, 1))}
				r := coretest.ModelRequest()
				before := ""
				for step := range 30 {
					grown := true
					switch g.rnd.IntN(12) {
					case 0: // undone, or summarized
						r.Messages, grown = slices.Clone(r.Messages[:g.rnd.IntN(len(r.Messages)+1)]), false
					case 1: // something in the middle has changed
						if n := len(r.Messages); n > 0 {
							r.Messages, grown = slices.Clone(r.Messages), false
							r.Messages[g.rnd.IntN(n)].Text += "!"
						}
					case 2: // a new copy with the same content
						r.Messages = copied(r.Messages)
					case 3:
						r.System, grown = r.System+".", false
					}
					r.Messages = g.more(r.Messages)
					got, err := encodeWhole(m, r)
					if err != nil {
						t.Fatal(err)
					}
					want, err := encodeWhole(remoteFor("http://svc.test/v1", kind), r)
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got, want) {
						t.Fatalf("seed %d, step %d\n got %s\nwant %s", seed, step, got, want)
					}
					sent := unmarked(string(got))
					if old := strings.TrimRight(before, "]}"); grown && len(r.Messages) > 0 && !strings.HasPrefix(sent, settled(kind, old)) {
						t.Fatalf("seed %d, step %d: a request does not begin as the one before\n%s\n%s", seed, step, old, sent)
					}
					before = sent
				}
			}
		})
	}
}

// unmarked returns a body without cache marks, and without the members after the
// messages.
func unmarked(body string) string {
	body = strings.ReplaceAll(body, `,"cache_control":{"type":"ephemeral"}`, "")
	for _, end := range []string{`],"stream":true`, `],"tools":[{"type":"function","function":{"name":"get_weather"`, `],"thinking":{"type"`} {
		if i := strings.LastIndex(body, end); i >= 0 {
			body = body[:i]
		}
	}
	return body
}

// settled returns the part of a body that can no longer change: pictures of
// consecutive results come after the last of them, and the end of a message that
// others may join is open.
func settled(kind, body string) string {
	last := map[string]string{KindOpenAIChat: `,{"role":`, KindAnthropic: `,{"role":`}[kind]
	if last == "" {
		return body
	}
	for range 2 {
		if i := strings.LastIndex(body, last); i >= 0 {
			body = body[:i]
		}
	}
	return body
}

// copied returns a history with the same content in other memory.
func copied(list []inference.Message) []inference.Message {
	list = slices.Clone(list)
	for i := range list {
		m := &list[i]
		m.Text = strings.Clone(m.Text)
		m.Blocks, m.Result.Blocks = slices.Clone(m.Blocks), slices.Clone(m.Result.Blocks)
		m.Thoughts, m.Calls = slices.Clone(m.Thoughts), slices.Clone(m.Calls)
		for j := range m.Thoughts {
			m.Thoughts[j].Sealed = bytes.Clone(m.Thoughts[j].Sealed)
		}
	}
	return list
}

// Many concurrent sessions, two of which are the same one, are encoded correctly, and
// little memory is kept.
func TestPastCacheIsShared(t *testing.T) {
	m := remoteFor("http://svc.test/v1", KindOpenAIChat)
	var all sync.WaitGroup
	for i := range 2 * maxPasts {
		all.Go(func() {
			g := &growth{rnd: rand.New(rand.NewPCG(uint64(i), 2))}
			r := coretest.ModelRequest()
			r.Session = core.SessionID(fmt.Sprint("s", i/2))
			for range 8 {
				r.Messages = g.more(r.Messages)
				got, err := encodeWhole(m, r)
				want, _ := encodeWhole(remoteFor("http://svc.test/v1", KindOpenAIChat), r)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("session %s: %v\n got %s\nwant %s", r.Session, err, got, want)
					return
				}
			}
		})
	}
	all.Wait()
	r := coretest.ModelRequest()
	for i := range 3 * maxPasts { // small ones
		r.Session = core.SessionID(fmt.Sprint("u", i))
		r.Messages[0].Blocks = []core.Block{core.Text{Text: "x"}}
		if _, err := m.wire.encode(m, r); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(m.p.pasts.kept); n != maxPasts {
		t.Errorf("%d small sessions are kept", n)
	}
	if m.p.pasts.most != maxPastBytes {
		t.Errorf("%d bytes are kept", m.p.pasts.most)
	}
	m.p.pasts.most = 4 << 20
	for i := range 3 * maxPasts {
		r.Session = core.SessionID(fmt.Sprint("t", i))
		r.Messages[0].Blocks = []core.Block{core.Text{Text: strings.Repeat("x", m.p.pasts.most/maxPasts/2*(1+i%5))}}
		if _, err := m.wire.encode(m, r); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for _, one := range m.p.pasts.kept {
		total += cap(one.json)
	}
	if p := m.p.pasts; len(p.kept) > maxPasts || len(p.kept) == 0 || p.bytes > p.most || p.bytes != total {
		t.Errorf("%d sessions are kept, %d bytes counted, %d there", len(p.kept), p.bytes, total)
	}
}

// BenchmarkRequest encodes the next request of a session with this number of calls.
func BenchmarkRequest(b *testing.B) {
	for _, kind := range wireKinds {
		for _, n := range []int{10, 1000} {
			b.Run(fmt.Sprintf("%s/%d calls", kind, n), func(b *testing.B) {
				r := coretest.ModelRequest()
				for i := range n {
					id := core.CallID(fmt.Sprintf("c%d", i))
					r.Messages = append(r.Messages,
						inference.Message{Role: inference.RoleAssistant, Text: "I look.", Calls: []inference.ToolUse{{ID: id, Name: "get_time", Args: []byte(`{"tz":"CET"}`)}}},
						inference.Message{Role: inference.RoleTool, Result: inference.ToolReturn{ID: id, Blocks: []core.Block{core.Text{Text: strings.Repeat(wireDelta, 4)}}}})
				}
				m := remoteFor("http://svc.test/v1", kind)
				if _, err := m.wire.encode(m, r); err != nil { // of the previous request
					b.Fatal(err)
				}
				list := slices.Grow(slices.Clone(r.Messages), 2)
				key := pastKey{m.info.ID, r.Session, true}
				before := *m.p.pasts.take(key)
				before.json, before.messages = slices.Grow(before.json, 64<<10), slices.Grow(before.messages, 16) // as after some requests
				b.ReportAllocs()
				for b.Loop() {
					again := before
					m.p.pasts.put(key, &again)
					r.Messages = append(list, // like the loop: a new list with mostly old messages
						inference.Message{Role: inference.RoleAssistant, Calls: []inference.ToolUse{{ID: "new", Name: "get_time", Args: []byte(`{"tz":"CET"}`)}}},
						inference.Message{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "new", Blocks: []core.Block{core.Text{Text: wireDelta}}}})
					if _, err := m.wire.encode(m, r); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
