package llm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"testing"
	"testing/iotest"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
)

// The body of a request has every picture in its place, however it is read, and is as long as it says. A body that
// is sent in one piece has them, too, and so has one whose beginning was encoded before.
func TestPicturesAreEncodedWhileSent(t *testing.T) {
	for _, kind := range wireKinds {
		for _, size := range []int{10, pictureStep, 3*pictureStep + 1} {
			t.Run(kind, func(t *testing.T) {
				var want [][]byte
				picture := func() core.Image {
					data := bytes.Repeat([]byte{byte(len(want)), 'x', 'y'}, size/3+1)[:size]
					want = append(want, []byte(base64.StdEncoding.EncodeToString(data)))
					return core.Image{MIME: "image/png", Data: data}
				}
				r := coretest.ModelRequest()
				r.Session, r.Messages = "s", []inference.Message{
					{Role: inference.RoleUser, Blocks: []core.Block{core.Text{Text: "one"}, picture()}},
					{Role: inference.RoleAssistant, Text: "I look.", Calls: []inference.ToolUse{{ID: "c1", Name: "get_time", Args: []byte(`{}`)}}},
					{Role: inference.RoleTool, Result: inference.ToolReturn{ID: "c1", Name: "get_time", Blocks: []core.Block{picture()}}},
				}
				m := remoteFor("http://svc.test/v1", kind)
				for range 3 {
					p, err := m.wire.encode(m, r)
					if err != nil {
						t.Fatal(err)
					}
					body, err := io.ReadAll(p.reader())
					if err != nil || !json.Valid(body) || p.len() != int64(len(body)) || !bytes.Equal(body, p.whole()) {
						t.Fatalf("%d bytes, said to be %d: %v", len(body), p.len(), err)
					}
					if err := iotest.TestReader(p.reader(), body); err != nil {
						t.Error(err)
					}
					at := 0
					for i, data := range want {
						n := bytes.Index(body[at:], data)
						if at += n + len(data); n < 0 {
							t.Fatalf("picture %d is not in its place", i)
						}
					}
					if p.chars > 5000 {
						t.Errorf("%d characters: the pictures count", p.chars)
					}
					r.Messages = append(r.Messages,
						inference.Message{Role: inference.RoleAssistant, Text: "Seen."},
						inference.Message{Role: inference.RoleUser, Blocks: []core.Block{picture(), picture()}})
				}
			})
		}
	}
}
