package acp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
	"dragoman/core/coretest"
)

// maxLine is the longest line that every client can read.
const maxLine = 1 << 20

// links returns the links in updates, after checking the length of every line.
func links(t *testing.T, out []byte) (list []acp.ContentBlock) {
	t.Helper()
	for line := range bytes.Lines(out) {
		if !json.Valid(line) || len(line) > maxLine {
			t.Errorf("a line of %d bytes: %.200s", len(line), line)
		}
		var m struct {
			Params struct {
				Update struct{ Content json.RawMessage }
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		var one acp.ContentBlock
		var several []acp.ToolContent
		if json.Unmarshal(m.Params.Update.Content, &one) == nil {
			several = append(several, acp.ToolContent{Content: &one})
		} else if json.Unmarshal(m.Params.Update.Content, &several) != nil {
			continue
		}
		for _, c := range several {
			if c.Content != nil && c.Content.Type == "resource_link" {
				list = append(list, *c.Content)
			}
		}
	}
	return list
}

// What is too large for a line is replaced by a link with its size and type: to its file or page,
// and otherwise to its place in the session.
func TestLargeContentBecomesALink(t *testing.T) {
	big := strings.Repeat("\x01\n", 1<<20) // six bytes in a line for each character
	data := bytes.Repeat([]byte{1}, 9<<20)
	small := []byte("small")
	call := func(blocks ...core.Block) core.Event {
		return core.CallChanged{Call: core.Call{ID: "c1", Tool: "t", State: core.Running, Content: blocks}}
	}
	prompt := func(blocks ...core.Block) core.Event {
		return core.Steered{Message: "m1", Prompt: blocks}
	}
	third := bytes.Repeat([]byte{1}, 300<<10)
	tests := []struct {
		name  string
		event core.Event
		uri   string
		mime  string
		size  int64
	}{
		{"image", prompt(core.Text{Text: "see"}, core.Image{MIME: "image/png", Data: data}), "dragoman://session/s1/message/m1/1", "image/png", 9 << 20},
		{"image of a file", prompt(core.Image{MIME: "image/png", Data: data, URI: "file:///w/a.png"}), "file:///w/a.png", "image/png", 9 << 20},
		{"image of a data URI", prompt(core.Image{MIME: "image/png", URI: "data:image/png;base64," + big}), "dragoman://session/s1/message/m1/0", "image/png", 0},
		{"audio", prompt(core.Audio{MIME: "audio/wav", Data: data}), "dragoman://session/s1/message/m1/0", "audio/wav", 9 << 20},
		{"text resource", prompt(core.Resource{URI: "file:///w/a.txt", MIME: "text/plain", Text: big}), "file:///w/a.txt", "text/plain", 2 << 20},
		{"link", prompt(core.Link{URI: "x:" + big, Name: big, Size: 7}), "dragoman://session/s1/message/m1/0", "", 7},
		{"resource of a call", call(core.Resource{URI: "u:a", MIME: "x/y", Blob: data}), "u:a", "x/y", 9 << 20},
		{"the last of three images", call(core.Image{MIME: "image/png", Data: third}, core.Image{MIME: "image/png", Data: small}, core.Image{MIME: "image/png", Data: data}), "dragoman://session/s1/call/c1/2", "image/png", 9 << 20},
		{"the second of two halves", call(core.Image{MIME: "image/png", Data: third}, core.Image{MIME: "image/png", Data: third}), "dragoman://session/s1/call/c1/1", "image/png", 300 << 10},
		{"new file", call(core.Diff{Path: "/w/new.txt", New: big, Created: true, Added: 1 << 20}), "file:///w/new.txt", "", 2 << 20},
		{"change", call(core.Diff{Path: "/w/all.txt", Old: "a", New: big}), "file:///w/all.txt", "", 2 << 20},
		{"citation", core.Cited{Message: "m1", Link: core.Link{URI: "https://example.org", Title: big}}, "https://example.org", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := NewView("s1", "", core.Pos{})
			got := links(t, Encode(nil, v, coretest.Records(1, tt.event)[0]))
			if len(got) != 1 {
				t.Fatalf("%d links", len(got))
			}
			size := int64(0)
			if got[0].Size != nil {
				size = *got[0].Size
			}
			if got[0].URI != tt.uri || got[0].MIMEType != tt.mime || size != tt.size || got[0].Name == "" {
				t.Errorf("uri %.100q mimeType %q size %d name %.100q, want %q %q %d", got[0].URI, got[0].MIMEType, size, got[0].Name, tt.uri, tt.mime, tt.size)
			}
		})
	}
}

// Whatever a tool or a model writes, a line stays short.
func TestNoLongLine(t *testing.T) {
	big := strings.Repeat("\x01", 1<<20)
	c := core.Call{ID: "c1", Tool: "t", State: core.Running, Title: big, Args: json.RawMessage(`{"a":"` + strings.Repeat("a", 2<<20) + `"}`)}
	for range 110 {
		c.Locations = append(c.Locations, core.Location{Path: "/" + big[:4000]})
		c.Content = append(c.Content, core.Text{Text: big}, core.Image{Data: []byte(big[:100_000])}, core.Diff{Path: "/a", Old: "a", New: big[:9000]})
	}
	entries := make([]core.PlanEntry, 110)
	for i := range entries {
		entries[i].Text = big
	}
	ended := c
	ended.State, ended.Why = core.Rejected, big
	v := NewView("s1", "", core.Pos{})
	out := []byte{}
	for _, r := range coretest.Records(1, core.CallChanged{Call: c}, core.CallOutput{Call: "c1", Text: big}, core.CallChanged{Call: ended},
		core.PlanChanged{Entries: entries}, core.TitleChanged{Title: big}, core.Notice{Text: big}, core.TextDelta{Message: "m", Text: big}) {
		out = Encode(out, v, r)
	}
	links(t, out)
}

// The change that a call makes is sent once: not again when the call has completed, and nothing
// that the call prints takes its place.
func TestAChangeIsSentOnce(t *testing.T) {
	c := core.Call{ID: "c1", Tool: "write_file", Kind: core.KindEdit, State: core.Proposed}
	asked, runs, done := c, c, c
	asked.State = core.Awaiting
	asked.Content = []core.Block{core.Diff{Path: "/w/a", Old: "a", New: "THE NEW TEXT"}}
	runs.State, runs.Content = core.Running, asked.Content
	done.State = core.Succeeded
	done.Content = append(asked.Content[:1:1], core.Text{Text: "written"})
	var out []byte
	v := NewView("s1", "", core.Pos{})
	for _, r := range coretest.Records(1, core.CallChanged{Call: c}, core.CallChanged{Call: asked}, core.CallChanged{Call: runs},
		core.CallOutput{Call: "c1", Text: "printed"}, core.CallChanged{Call: done}) {
		out = Encode(out, v, r)
	}
	if n := bytes.Count(out, []byte("THE NEW TEXT")); n != 1 || bytes.Contains(out, []byte("printed")) {
		t.Errorf("the change was sent %d times:\n%s", n, out)
	}
	if !bytes.HasSuffix(out, []byte(`"toolCallId":"c1","status":"completed"}}}`+"\n")) {
		t.Errorf("the end of the call is\n%s", out)
	}
}
