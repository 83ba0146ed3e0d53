package adapters

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"dragoman/adapters/acp"
	"dragoman/adapters/eca"
	"dragoman/adapters/mcp"
	"dragoman/adapters/wire"
	"dragoman/core"
	"dragoman/core/codec"
	"dragoman/core/coretest"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// Each file of testdata/rosetta shows one kind of turn: its events as they are
// stored, and what each dialect's client gets for them. Nothing runs: the encoders
// are functions of the records.
func TestRosetta(t *testing.T) {
	coretest.Golden(t, "testdata/rosetta/*.txtar", *updateGolden, func(t *testing.T, _ string, ar *txtar.Archive) {
		if len(ar.Files) == 0 || ar.Files[0].Name != "events" {
			t.Fatal("the first section must be events")
		}
		records := parse(t, ar.Files[0].Data)
		ar.Files = []txtar.File{
			{Name: "events", Data: events(records)},
			{Name: "eca", Data: lines(eca.Render(records, eca.RenderOptions{Chat: "s1"}))},
			{Name: "acp", Data: lines(renderACP(t, records))},
			{Name: "mcp", Data: lines(mcp.Render(records))},
		}
	})
}

func parse(t *testing.T, data []byte) (records []core.Record) {
	t.Helper()
	var d codec.Decoder
	for line := range bytes.Lines(data) {
		r, err := d.Decode(bytes.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		records = append(records, r)
	}
	return records
}

func events(records []core.Record) (out []byte) {
	var e codec.Encoder
	for _, r := range records {
		out = append(e.Append(out, r), '\n')
	}
	return out
}

// renderACP is what the client gets that prompted: updates, the permission
// requests, and the answer to its prompt.
func renderACP(t *testing.T, records []core.Record) (out []string) {
	t.Helper()
	v := acp.NewView("s1", "key-", core.Pos{})
	for _, r := range records {
		for line := range strings.Lines(string(acp.Encode(nil, v, r))) {
			out = append(out, strings.TrimSpace(line))
		}
		switch e := r.Event.(type) {
		case core.Asked:
			out = append(out, request(t, "session/request_permission", acp.Permission(v, e.Ask)))
		case core.TurnEnded:
			res, err := acp.Answer(e)
			out = append(out, string(wire.AppendAnswer(nil, []byte("2"), res, err)))
		}
	}
	return out
}

func request(t *testing.T, method string, params any) string {
	t.Helper()
	b, err := wire.AppendJSON(nil, params)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, b)
}

func lines(list []string) []byte {
	if len(list) == 0 {
		return nil
	}
	return []byte(strings.Join(list, "\n") + "\n")
}

func BenchmarkRosetta(b *testing.B) {
	ar, err := txtar.ParseFile("testdata/rosetta/approval.txtar")
	if err != nil {
		b.Fatal(err)
	}
	var d codec.Decoder
	var records []core.Record
	for line := range bytes.Lines(ar.Files[0].Data) {
		r, err := d.Decode(bytes.TrimSpace(line))
		if err != nil {
			b.Fatal(err)
		}
		records = append(records, r)
	}
	var dst []byte
	for b.Loop() {
		v := acp.NewView("s1", "key-", core.Pos{})
		for _, r := range records {
			dst = acp.Encode(dst[:0], v, r)
		}
	}
}
