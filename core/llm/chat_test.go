package llm

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/tools/txtar"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// folders are the folders with the answers of each wire format.
var folders = map[string]string{"chat": KindOpenAIChat, "messages": KindAnthropic, "responses": KindOpenAIResponses, "ollama": KindOllama}

// TestAnswers reads each file of these folders in testdata: "answer" is the body of a
// service's answer, "deltas" has core's deltas for it. Each answer is read in one
// piece and byte by byte. "(new)" replaces a new id of ours.
func TestAnswers(t *testing.T) {
	for folder, kind := range folders {
		t.Run(folder, func(t *testing.T) {
			coretest.Golden(t, filepath.Join("testdata", folder, "*.txtar"), *update, func(t *testing.T, _ string, ar *txtar.Archive) {
				body := coretest.Section(ar, "answer")
				for _, escape := range []struct{ in, out string }{{`\r\n`, "\r\n"}, {`\r`, "\r"}, {`\ufeff`, "\ufeff"}, {"(no newline)\n", ""}} {
					body = strings.ReplaceAll(body, escape.in, escape.out)
				}
				got := readAnswer(t, kind, strings.NewReader(body))
				if slow := readAnswer(t, kind, iotest.OneByteReader(strings.NewReader(body))); slow != got {
					t.Errorf("byte by byte (-whole +bytes):\n%s", lineDiff(got, slow))
				}
				coretest.SetSection(ar, "deltas", got)
			})
		})
	}
}

// chatFor makes a model without a service, for tests that need none.
func chatFor(base string) *remote { return remoteFor(base, KindOpenAIChat) }

// remoteFor is the same in any wire format.
func remoteFor(base, kind string) *remote {
	u, err := url.Parse(base)
	if err != nil {
		panic(err)
	}
	return newRemote(&provider{Provider: Provider{Name: "svc", Kind: kind, BaseURL: base, KeyHint: "Set SVC_KEY"}, experience: experienceOf(nil, Provider{}), pasts: newPastCache()}, u, "m", wireOf(kind))
}

// encodeWhole returns a request's body in one piece.
func encodeWhole(m *remote, r *inference.Request) ([]byte, error) {
	p, err := m.wire.encode(m, r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(p.reader())
}

// bodyModel makes a chat model read a body.
type bodyModel struct {
	*remote
	body io.Reader
}

func (m bodyModel) Stream(ctx context.Context, r *inference.Request) seq {
	return func(yield func(inference.Delta, error) bool) {
		a := &answer{model: m.info.ID, request: r, yield: yield, sent: 400}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if err := read(ctx, guard(m.body, idleTimeout, cancel), m.wire, a); err != nil {
			_, err = m.broken(err, a, credentials{})
			yield(inference.Delta{}, err)
		}
	}
}

func readAnswer(t *testing.T, kind string, body io.Reader) string {
	var b strings.Builder
	old := map[core.CallID]bool{"call_1": true, "call_2": true}
	r := &inference.Request{Messages: []inference.Message{{Role: inference.RoleAssistant, Calls: []inference.ToolUse{{ID: "used", Name: "x"}}}}}
	m := bodyModel{remoteFor("http://svc.test/v1", kind), body}
	h := coretest.Hear(t.Context(), t, m, r, func(d inference.Delta) bool {
		switch d.Kind {
		case inference.DeltaToolStart:
			if !old[d.ToolID] {
				d.ToolID = "(new)"
			}
			coretest.WriteDelta(&b, d)
		case inference.DeltaToolEnd:
			if d.Bad != nil {
				fmt.Fprintf(&b, "%d tool_end bad: %v\n", d.Block, d.Bad)
				return true
			}
			coretest.WriteDelta(&b, d)
		case inference.DeltaSealed:
			fmt.Fprintf(&b, "%d sealed %s\n", d.Block, d.Sealed)
		case inference.DeltaUsage:
			u := d.Usage
			fmt.Fprintf(&b, "usage in=%d out=%d cached=%d/%d reasoning=%d estimated=%v", u.In, u.Out, u.CacheRead, u.CacheWrite, u.Reasoning, u.Estimated)
			if u.Cost != nil {
				fmt.Fprintf(&b, " cost=%g", *u.Cost)
			}
			b.WriteByte('\n')
		case inference.DeltaText, inference.DeltaThought, inference.DeltaToolArgs, inference.DeltaRetry, inference.DeltaStop:
			coretest.WriteDelta(&b, d)
		}
		return true
	})
	if h.Err != nil {
		fmt.Fprintf(&b, "error %v\n", h.Err)
	}
	return b.String()
}

// lineDiff shows the first line that differs, with the lines around it.
func lineDiff(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < len(w) && i < len(g) && w[i] == g[i] {
		i++
	}
	return fmt.Sprintf("line %d\n-%s\n+%s", i+1, strings.Join(w[i:min(i+3, len(w))], "\n-"), strings.Join(g[i:min(i+3, len(g))], "\n+"))
}

func FuzzAnswer(f *testing.F) {
	for folder, kind := range folders {
		files, _ := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
		for _, file := range files {
			if ar, err := txtar.ParseFile(file); err == nil {
				f.Add(kind, []byte(coretest.Section(ar, "answer")))
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		if wireOf(kind) != nil {
			readAnswer(t, kind, bytes.NewReader(body)) // checks the rules of inference.Model
		}
	})
}

// TestChatRequest encodes one history that has all kinds of content.
func TestChatRequest(t *testing.T) {
	seal := sealedData{Of: "svc/m", Field: "reasoning_content"}.encode()
	extra := sealedData{Of: "svc/m", Calls: []sealedCall{{Call: 1, Extra: []byte(`{"google":{"thought_signature":"abc"}}`)}}}.encode()
	signed := sealedData{Of: "svc/m", Signature: "sig"}.encode()
	redacted := sealedData{Of: "svc/m", Redacted: "xyz"}.encode()
	item := sealedData{Of: "svc/m", Item: []byte(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"abc"}`)}.encode()
	thinking := sealedData{Of: "svc/m", Field: "thinking"}.encode()
	other := sealedData{Of: "other/m", Field: "reasoning_content"}.encode()
	picture := core.Image{MIME: "image/png", Data: []byte{1, 2, 3}}
	r := &inference.Request{
		Session: "s1", System: "Be brief & <kind>.", Effort: "high", MaxOut: 1000,
		Tools: []inference.ToolSpec{
			{Name: "zeta", Description: "Does z.", Schema: []byte(`{"type": "object", "properties": {"b": {}, "a": {}}}`)},
			{Name: "alpha"},
		},
		Messages: []inference.Message{
			{Role: inference.RoleUser, Blocks: []core.Block{
				core.Text{Text: "look at"},
				core.Link{URI: "file:///a.go", Name: "a.go", Description: "the file"},
				core.Resource{URI: "file:///b.go", Text: "package b", Lines: [2]int{3, 9}},
				core.Resource{URI: "file:///c.bin", MIME: "application/zip", Blob: []byte{1}},
				core.Audio{MIME: "audio/wav", Data: []byte{1, 2}},
				core.Image{URI: "file:///d.png"},
				core.Text{},
			}},
			{Role: inference.RoleAssistant, Text: "I look.", Thoughts: []inference.Thought{
				{Text: "hm", Sealed: seal}, {Sealed: extra}, {Text: "so", Sealed: signed}, {Sealed: redacted}, {Text: "well", Sealed: item}, {Text: "then", Sealed: thinking},
			}, Calls: []inference.ToolUse{
				{ID: "c1", Name: "zeta", Args: []byte(`{"a":1}`)}, {ID: "c2", Name: "alpha", Args: []byte(`{"broken`)},
			}},
			{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "c1", Name: "zeta", Blocks: []core.Block{core.Text{Text: "seen"}, picture}}},
			{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "c2", Name: "alpha", Failed: true, Blocks: []core.Block{core.Text{Text: "no such file"}}}},
			{Role: inference.RoleAssistant},
			{Role: inference.RoleAssistant, Text: "Another's thoughts stay there.", Thoughts: []inference.Thought{{Text: "secret", Sealed: other}}},
			{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: "and this"}, picture, core.Image{URI: "https://x.test/y.png"}}},
			{Role: inference.RoleAssistant, Calls: []inference.ToolUse{{ID: "c3", Name: "zeta"}}},
			{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "c3", Name: "zeta", Blocks: []core.Block{core.Diff{Path: "/a", Added: 2, Removed: 1}}}},
			{Role: inference.RoleAssistant, Calls: []inference.ToolUse{{ID: "c4", Name: "zeta"}}},
			{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "c4", Name: "zeta"}},
		},
	}
	for name, at := range map[string][2]string{
		"plain": {"http://svc.test/v1", KindOpenAIChat}, "openai": {"https://api.openai.com/v1", KindOpenAIChat}, "mistral": {"https://api.mistral.ai/v1", KindOpenAIChat},
		"anthropic": {"https://api.anthropic.com/v1", KindAnthropic}, "responses": {"https://api.openai.com/v1", KindOpenAIResponses},
		"ollama": {"http://localhost:11434", KindOllama},
	} {
		m := remoteFor(at[0], at[1])
		body, err := encodeWhole(m, r)
		if err != nil {
			t.Fatal(err)
		}
		got := indented(t, body) + "\n"
		coretest.GoldenFile(t, filepath.Join("testdata", "request", name+".json"), got, *update)
	}
}

// wireOf returns the wire format of a kind; nil: it has none.
func wireOf(name string) wire {
	k, _ := kindOf(name)
	return k.wire
}
