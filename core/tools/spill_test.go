package tools

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/core"
)

// Output that was cut can be read and searched by its reference, like a file, and by
// no other tool.
func TestCutOutput(t *testing.T) {
	b := newBed(t)
	w, ref, err := b.spills.Spill("output-1.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, strings.Repeat("line\n", 2999)+"the needle\n"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool string
		args m
		want string
	}{
		{"read_file", m{"path": ref, "offset": 3000}, "the needle\n"},
		{"read_file", m{"path": ref, "offset": 2999, "limit": 1}, "line\n\n[spill:output-1.txt: lines 2999–2999 of 3000; go on with offset 3000]"},
		{"grep", m{"path": ref, "pattern": "n..dle"}, "spill:output-1.txt:3000:the needle\n"},
		{"grep", m{"path": ref, "pattern": "nothing"}, "no matches for nothing in spill:output-1.txt"},
	} {
		inv, pv, err := b.preview(c.tool, c.args)
		if want := (core.Access{Op: core.OpRead, Path: ref, Spilled: true}); err != nil || pv.Access[0] != want || len(pv.Locations) > 0 {
			t.Fatalf("%s %v: %+v, %v", c.tool, c.args, pv, err)
		}
		if out, err := b.finish(c.tool, inv); err != nil || strings.TrimSpace(out) != strings.TrimSpace(c.want) {
			t.Errorf("%s %v: %q, %v", c.tool, c.args, out, err)
		}
	}
	for _, c := range []struct {
		tool string
		args m
		want string
	}{
		{"read_file", m{"path": "spill:output-2.txt"}, "there is no spill:output-2.txt in this session"},
		{"grep", m{"path": "spill:output-2.txt", "pattern": "x"}, "there is no spill:output-2.txt in this session"},
		{"read_file", m{"path": "spill:../a"}, "no name for cut output"},
		{"read_file", m{"path": "spill:"}, "no name for cut output"},
		{"write_file", m{"path": ref, "content": "x"}, "only read_file and grep take it"},
		{"edit_file", m{"path": ref, "old": "x", "new": "y"}, "only read_file and grep take it"},
		{"glob", m{"pattern": "*", "path": ref}, "folder"},
		{"directory_tree", m{"path": ref}, "folder"},
	} {
		if _, _, err := b.preview(c.tool, c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.tool, c.args, err, c.want)
		}
	}
	b.put("spill:mine", "a file of the workspace")
	if out := b.ok("read_file", m{"path": "./spill:mine"}); out != "a file of the workspace" {
		t.Errorf("a file with such a name: %q", out)
	}
}

// earlierHost is a session of an earlierHost version: its log has the paths of its files.
type earlierHost struct {
	core.Spills
	dir string
}

func (e earlierHost) Spilled(ref string) (fs.File, error) {
	if filepath.Dir(ref) != e.dir {
		return nil, fs.ErrNotExist
	}
	return os.Open(ref)
}

// bedOfEarlier is a bed with such a session.
type bedOfEarlier struct {
	*bed
	spills earlierHost
}

func (b bedOfEarlier) Spills() core.Spills { return b.spills }

// The path of cut output that an earlier version has shown to the model can still be
// read, and only read, without asking.
func TestCutOutputByItsPath(t *testing.T) {
	b := newBed(t)
	dir := filepath.Join(filepath.Dir(b.dir), "spill")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path, beside := b.put(filepath.Join(dir, "output.txt"), "one\ntwo\n"), b.put(filepath.Join(b.away, "o.txt"), "x")
	set, err := New(Options{Board: b.board}).Open(t.Context(), bedOfEarlier{b, earlierHost{&b.spills, dir}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.set.Close(); err != nil {
		t.Fatal(err)
	}
	b.set = set.(*toolset)
	inv, pv, err := b.preview("read_file", m{"path": path})
	if want := (core.Access{Op: core.OpRead, Path: path, Spilled: true}); err != nil || pv.Access[0] != want {
		t.Fatalf("%+v, %v", pv, err)
	}
	if out, err := b.finish("read_file", inv); err != nil || out != "one\ntwo\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out := b.ok("grep", m{"path": path, "pattern": "two"}); !strings.HasSuffix(out, "output.txt:2:two\n") {
		t.Errorf("%q", out)
	}
	if _, pv, err := b.preview("write_file", m{"path": path, "content": "x"}); err != nil || !pv.Access[0].Outside || pv.Access[0].Spilled {
		t.Errorf("writing to it: %+v %v", pv.Access, err)
	}
	if _, pv, err := b.preview("read_file", m{"path": beside}); err != nil || !pv.Access[0].Outside || pv.Access[0].Spilled {
		t.Errorf("reading another file: %+v %v", pv.Access, err)
	}
}
