package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/ide"
)

// pane is an editor with buffers. One that reloads has the disk's text of each file that it has not
// changed; another one keeps the text that it has loaded, as editors do that have not noticed a change yet.
type pane struct {
	b       *bed
	caps    ide.Caps
	reloads bool
	fails   error

	buffers map[string]string // by path, as loaded or typed
	typed   map[string]bool
	asked   int
}

func (p *pane) Lend(id core.SessionID) core.Editor { return ide.Lend(p, id) }
func (p *pane) Caps() ide.Caps                     { return p.caps }

func (p *pane) Do(_ context.Context, c ide.Call) (ide.Reply, error) {
	p.asked++
	if p.fails != nil {
		return nil, p.fails
	}
	switch c := c.(type) {
	case ide.ReadFile:
		text, ok := p.text(c.Path)
		if !ok {
			return nil, noFile
		}
		return ide.FileText{Text: text}, nil
	case ide.WriteFile:
		p.buffers[c.Path], p.typed[c.Path] = c.Text, false
		p.b.put(c.Path, c.Text)
		return ide.Done{}, nil
	}
	return nil, errors.New("no such request")
}

// text returns the editor's text of a file, which it opens if it has not.
func (p *pane) text(path string) (string, bool) {
	if _, open := p.buffers[path]; !open || p.reloads && !p.typed[path] {
		data, err := os.ReadFile(path)
		if err != nil && !open {
			return "", false
		}
		if err == nil {
			p.buffers[path] = string(data)
		}
	}
	return p.buffers[path], true
}

// types adds a line at the end of a buffer.
func (p *pane) types(path, line string) {
	text, _ := p.text(path)
	p.buffers[path], p.typed[path] = text+line, true
}

// pane makes an editor that has a file open.
func (b *bed) pane(path string, caps ide.Caps) *pane {
	p := &pane{b: b, caps: caps, buffers: map[string]string{}, typed: map[string]bool{}}
	p.text(path)
	return p
}

// command stands for a command that adds a line to a file.
func (b *bed) command(path, line string) {
	b.t.Helper()
	b.texts.Begin(time.Now())
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.put(path, string(data)+line)
}

var (
	readsOnly = ide.Caps{ReadFile: true}
	writes    = ide.Caps{ReadFile: true, WriteFile: true}
)

// No change of a file loses what a command or the user has written, whatever the editor shows. A
// buffer is clean, dirty or late; the steps are r for reading, c for a command and e for an edit.
func TestNothingLostBetweenEditorAndDisk(t *testing.T) {
	const unsaved, parted = "not saved", "was changed on the disk"
	for _, c := range []struct {
		steps, buffer string
		caps          ide.Caps
		refused       string // of the last step; empty: it succeeds
	}{
		{"re", "clean", writes, ""},
		{"re", "dirty", writes, ""},
		{"rce", "clean", writes, ""},
		{"rce", "late", writes, ""},
		{"rce", "dirty", writes, parted},
		{"rcre", "clean", writes, ""},
		{"rcre", "late", writes, ""},
		{"rcre", "dirty", writes, parted},
		{"rcrce", "clean", writes, ""},
		{"rcrce", "late", writes, ""},
		{"rcrce", "dirty", writes, parted},
		{"rece", "clean", writes, ""},
		{"rece", "late", writes, ""},
		// A text that the session has never seen may be unsaved work.
		{"ce", "clean", writes, ""},
		{"ce", "late", writes, parted},
		{"ce", "dirty", writes, parted},

		{"re", "clean", readsOnly, ""},
		{"re", "dirty", readsOnly, unsaved},
		{"rce", "clean", readsOnly, ""},
		{"rce", "late", readsOnly, ""},
		{"rce", "dirty", readsOnly, parted},
		{"rcre", "late", readsOnly, ""},
		{"rcre", "dirty", readsOnly, parted},
		{"rcrce", "late", readsOnly, ""},
		{"rcrce", "dirty", readsOnly, parted},
		{"rece", "late", readsOnly, ""},
		{"ce", "late", readsOnly, parted},
		{"ce", "dirty", readsOnly, parted},
	} {
		t.Run(c.steps+" "+c.buffer+map[bool]string{true: "", false: " reads only"}[c.caps.WriteFile], func(t *testing.T) {
			b := newBed(t)
			path := b.put("a.txt", "one\r\ntwo\r\n")
			p := b.pane(path, c.caps)
			p.reloads = c.buffer == "clean"
			b.editor = p
			commands := 0
			for i, step := range c.steps {
				if i == len(c.steps)-1 && c.buffer == "dirty" {
					p.types(path, "typed\r\n")
				}
				switch step {
				case 'r':
					b.ok("read_file", m{"path": "a.txt"})
				case 'c':
					commands++
					b.command(path, "by command\r\n")
				case 'e':
					args := m{"path": "a.txt", "old": "two", "new": "2, once two"}
					if i < len(c.steps)-1 {
						args = m{"path": "a.txt", "old": "one", "new": "1"}
					}
					if c.refused != "" {
						b.fails("edit_file", args, c.refused)
					} else {
						b.ok("edit_file", args)
					}
				}
			}
			disk, buffer := b.get("a.txt"), p.buffers[path]
			if got := strings.Count(disk, "by command\r\n"); got != commands {
				t.Errorf("%d lines of %d commands are left in %q", got, commands, disk)
			}
			if c.buffer == "dirty" && !strings.Contains(buffer, "typed\r\n") {
				t.Errorf("the unsaved line is lost: %q", buffer)
			}
			if (c.refused == "") != strings.Contains(disk, "2, once two") {
				t.Errorf("the disk has %q", disk)
			}
			if c.refused == "" && c.caps.WriteFile && buffer != disk {
				t.Errorf("the buffer did not follow: %q, and on the disk %q", buffer, disk)
			}
		})
	}
}

// The model reads what counts: the disk's text where the editor's is late, and the editor's where there
// is unsaved work, with a note if both have changed.
func TestReadLateBuffer(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "one\n")
	p := b.pane(path, writes)
	b.editor = p
	b.ok("read_file", m{"path": "a.txt"})
	b.command(path, "two\n")
	if got := b.ok("read_file", m{"path": "a.txt"}); got != "one\ntwo\n" {
		t.Errorf("a late buffer: %q", got)
	}
	p.types(path, "typed\n")
	for range 2 { // a look at two texts settles nothing
		got := b.ok("read_file", m{"path": "a.txt"})
		if !strings.HasPrefix(got, "one\ntyped\n\n[a.txt: ") || !strings.Contains(got, "was changed on the disk") {
			t.Errorf("both have changed: %q", got)
		}
		b.fails("edit_file", m{"path": "a.txt", "old": "one", "new": "1"}, "was changed on the disk")
	}
	b.put("a.txt", p.buffers[path]) // the user has saved it
	if got := b.ok("read_file", m{"path": "a.txt"}); got != "one\ntyped\n" {
		t.Errorf("saved: %q", got)
	}
	b.ok("edit_file", m{"path": "a.txt", "old": "one", "new": "1"})
}

// Other line ends, a byte order mark and a last line end are no change.
func TestSameTextInEditorAndDisk(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "\ufeffone\r\ntwo\r\n")
	p := b.pane(path, writes)
	p.buffers[path] = "one\ntwo"
	b.editor = p
	b.ok("read_file", m{"path": "a.txt"})
	b.command(path, "three\r\n")
	b.ok("edit_file", m{"path": "a.txt", "old": "two", "new": "2"})
	if got := b.get("a.txt"); got != "\ufeffone\r\n2\r\nthree\r\n" {
		t.Errorf("a late buffer: %q", got)
	}
	p.buffers[path] = "one\n2\nthree" // how this editor shows it
	b.ok("edit_file", m{"path": "a.txt", "old": "one", "new": "1"})
	p.buffers[path], p.typed[path] = "1\n2\nthree\ntyped", true
	b.ok("edit_file", m{"path": "a.txt", "old": "2", "new": "zwei"})
	if got := b.get("a.txt"); !strings.Contains(got, "typed") || !strings.Contains(got, "three") {
		t.Errorf("unsaved work: %q", got)
	}
}

// Writing, moving and undoing go by the same rule as an edit.
func TestOtherChangesOfLateAndDirtyFiles(t *testing.T) {
	for _, c := range []struct {
		name, buffer, refused string
		change                func(*bed) error
	}{
		{"write", "late", "", func(b *bed) error {
			inv, pv, err := b.preview("write_file", m{"path": "a.txt", "content": "new\n"})
			if err != nil {
				return err
			}
			if d, _ := pv.Content[0].(core.Diff); !strings.Contains(d.Old, "by command") {
				t.Errorf("the person is shown %q as the text before", d.Old)
			}
			_, err = b.finish("write_file", inv)
			return err
		}},
		{"write", "dirty", "was changed on the disk", func(b *bed) error {
			_, err := b.run("write_file", m{"path": "a.txt", "content": "new\n"})
			return err
		}},
		{"move", "late", "", func(b *bed) error {
			_, err := b.run("move_file", m{"from": "a.txt", "to": "b.txt"})
			return err
		}},
		{"move", "dirty", "not saved", func(b *bed) error {
			_, err := b.run("move_file", m{"from": "a.txt", "to": "b.txt"})
			return err
		}},
	} {
		t.Run(c.name+" "+c.buffer, func(t *testing.T) {
			b := newBed(t)
			path := b.put("a.txt", "one\n")
			p := b.pane(path, writes)
			b.editor = p
			b.ok("read_file", m{"path": "a.txt"})
			b.command(path, "by command\n")
			if c.buffer == "dirty" {
				p.types(path, "typed\n")
			}
			err := c.change(b)
			if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Fatalf("it failed with %v", err)
			}
			if err != nil && (b.get("a.txt") != "one\nby command\n" || p.buffers[path] != "one\ntyped\n") {
				t.Errorf("left %q and %q", b.get("a.txt"), p.buffers[path])
			}
			if c.name == "move" && err == nil {
				if got := b.get("b.txt"); got != "one\nby command\n" {
					t.Errorf("moved %q", got)
				}
				b.fails("edit_file", m{"path": "a.txt", "old": "one", "new": "1"}, "there is no a.txt") // the buffer is from before
				if got := b.ok("read_file", m{"path": "b.txt"}); got != "one\nby command\n" {
					t.Errorf("read %q", got)
				}
			}
		})
	}
}

// A change that the editor did not follow is undone on the disk, and a file that was made is removed
// although the editor still shows an older text of it.
func TestUndoBehindLateBuffer(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "one\n")
	p := b.pane(path, readsOnly)
	b.editor = p
	changes := []core.Diff{{Path: path, Old: "one\n", New: "two\n"}}
	b.put("a.txt", "two\n")
	for _, r := range NewFiles(FilesOptions{}).Undo(t.Context(), b.meta, p, changes) {
		if r.Why != "" {
			t.Error(r.Why)
		}
	}
	if got := b.get("a.txt"); got != "one\n" {
		t.Errorf("the disk has %q", got)
	}
	made := b.put("made.txt", "2\n")
	p.buffers[made] = "1\n"
	changes = []core.Diff{{Path: made, New: "1\n", Created: true}, {Path: made, Old: "1\n", New: "2\n"}}
	for _, r := range NewFiles(FilesOptions{}).Undo(t.Context(), b.meta, p, changes) {
		if r.Why != "" {
			t.Error(r.Why)
		}
	}
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

// A text that the user has brought back with the editor's undo is one from before the command.
func TestUndoneInEditorAfterCommand(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "one\n")
	p := b.pane(path, writes)
	b.editor = p
	b.ok("edit_file", m{"path": "a.txt", "old": "one", "new": "1"})
	b.command(path, "by command\n")
	p.reloads = true
	b.ok("read_file", m{"path": "a.txt"})
	p.buffers[path], p.typed[path] = "one\n", true
	b.ok("edit_file", m{"path": "a.txt", "old": "1", "new": "uno"})
	if got := b.get("a.txt"); got != "uno\nby command\n" || p.buffers[path] != got {
		t.Errorf("the disk has %q, the editor %q", got, p.buffers[path])
	}
}

// The text of a second editor is based on what that one has loaded, not on what the first one has written.
func TestTwoEditorsOfOneFile(t *testing.T) {
	for _, buffer := range []string{"late", "dirty"} {
		b := newBed(t)
		path := b.put("a.txt", "one\ntwo\n")
		first, second := b.pane(path, writes), b.pane(path, writes)
		b.editor, b.other = first, second
		b.texts.Begin(time.Now()) // as the session does when the first edit runs
		if buffer == "dirty" {
			second.types(path, "typed\n")
		}
		b.ok("edit_file", m{"path": "a.txt", "old": "one", "new": "1"})
		b.ok("edit_file", m{"path": "a.txt", "old": "1", "new": "uno"})
		if got := len(b.unsaved); got != map[string]int{"late": 0, "dirty": 2}[buffer] {
			t.Errorf("%s: unsaved changes were found %d times", buffer, got)
		}
		b.editor, b.other = second, first
		if buffer == "late" {
			b.ok("edit_file", m{"path": "a.txt", "old": "two", "new": "due"})
			if got := b.get("a.txt"); got != "uno\ndue\n" || second.buffers[path] != got {
				t.Errorf("the disk has %q, the editor %q", got, second.buffers[path])
			}
			continue
		}
		b.fails("edit_file", m{"path": "a.txt", "old": "two", "new": "due"}, "was changed on the disk")
		if b.get("a.txt") != "uno\ntwo\n" || second.buffers[path] != "one\ntwo\ntyped\n" {
			t.Errorf("the disk has %q, the editor %q", b.get("a.txt"), second.buffers[path])
		}
	}
}

// An approved change is still made when the editor has loaded the disk's text meanwhile, and not when the
// disk has another one.
func TestEditorCatchesUpDuringApproval(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "one\r\n")
	p := b.pane(path, writes)
	p.buffers[path] = "one\n"
	b.editor = p
	b.ok("read_file", m{"path": "a.txt"})
	b.command(path, "two\r\n")
	inv, _, err := b.preview("edit_file", m{"path": "a.txt", "old": "one", "new": "1"})
	if err != nil {
		t.Fatal(err)
	}
	p.buffers[path] = "one\ntwo\n"
	if _, err := b.finish("edit_file", inv); err != nil {
		t.Fatal(err)
	}
	if got := b.get("a.txt"); got != "1\r\ntwo\r\n" {
		t.Errorf("the disk has %q", got)
	}
	inv, _, err = b.preview("edit_file", m{"path": "a.txt", "old": "two", "new": "2"})
	if err != nil {
		t.Fatal(err)
	}
	b.command(path, "three\r\n")
	if _, err := b.finish("edit_file", inv); err == nil || !strings.Contains(err.Error(), "changed since this call was previewed") {
		t.Errorf("it ended with %v", err)
	}
}

// An editor that writes its buffer without saving has unsaved work afterwards, not a late text.
func TestEditorThatDoesNotSave(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "one\ntwo\n")
	buffer := "one\ntwo\n"
	b.editor = &window{caps: writes, do: func(_ context.Context, c ide.Call) (ide.Reply, error) {
		if c, ok := c.(ide.WriteFile); ok {
			buffer = c.Text
			return ide.Done{}, nil
		}
		return ide.FileText{Text: buffer}, nil
	}}
	b.ok("edit_file", m{"path": "a.txt", "old": "one", "new": "1"})
	b.ok("edit_file", m{"path": "a.txt", "old": "two", "new": "2"})
	if buffer != "1\n2\n" {
		t.Errorf("the editor has %q", buffer)
	}
	if got := b.get(path); got != "one\ntwo\n" {
		t.Errorf("the disk has %q", got)
	}
}

// An editor that refuses to answer may have unsaved work, so nothing is changed.
func TestFailingEditorOfChangedFile(t *testing.T) {
	b := newBed(t)
	path := b.put("a.txt", "one\n")
	p := b.pane(path, writes)
	b.editor = p
	b.ok("read_file", m{"path": "a.txt"})
	b.command(path, "two\n")
	p.fails = errors.New("busy")
	b.fails("edit_file", m{"path": "a.txt", "old": "one", "new": "1"}, "busy")
	p.fails = nil
	b.ok("edit_file", m{"path": "a.txt", "old": "one", "new": "1"})
	if got := b.get("a.txt"); got != "1\ntwo\n" {
		t.Errorf("the disk has %q", got)
	}
}

// A file that is not on the disk needs one request to the editor, and none once that has said that it
// does not have it either.
func TestNewFileIsAskedForOnce(t *testing.T) {
	b := newBed(t)
	p := b.pane(filepath.Join(b.dir, "none"), writes)
	p.asked = 0
	b.editor = p
	b.ok("write_file", m{"path": "sub/new.txt", "content": "new\n"})
	if p.asked != 2 || b.get("sub/new.txt") != "new\n" { // reading and writing
		t.Errorf("the editor was asked %d times", p.asked)
	}
	p.asked = 0
	b.fails("edit_file", m{"path": "absent.txt", "old": "a", "new": "b"}, "there is no absent.txt")
	b.fails("read_file", m{"path": "absent.txt"}, "there is no absent.txt")
	if p.asked != 2 {
		t.Errorf("the editor was asked %d times", p.asked)
	}
}
