package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk puts the data folder on a file system of its own, with little room.
func (p *place) smallDisk(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(p.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", p.data, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		t.Skipf("a small file system cannot be mounted here, so a full disk is not tested: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(p.data, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// ballast takes the room that is left on the data folder's disk; throw gives it
// back.
func (p *place) ballast(t *testing.T) (throw func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(p.data, "ballast"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.Remove(f.Name()); err != nil {
			t.Error(err)
		}
	}
}

const noSpace = "no space left on device"

// A full disk under the store: each prompt says so, in the protocol's form, what is
// there can still be read, other processes go on, and with room again so does the
// session once it is opened anew.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, d := range editors() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.smallDisk(t)
			other := newPlace(t).edit(t, d, launch{})
			elsewhere := other.begin()
			other.prompt(elsewhere, endless)

			e := p.edit(t, d, launch{})
			id, late := e.begin(), e.begin()
			for _, chat := range []string{id, late} {
				if got := e.run(chat, "stream 2 of 3"); got != endOK {
					t.Fatal(got)
				}
			}
			throw := p.ballast(t)
			said := e.refused(id, "stream 100000 of 40") // in the middle of a turn
			wantText(t, "a turn on a full disk", said, noSpace, "could not be stored")
			said = e.refused(late, "stream 100000 of 40") // another session of the same process
			wantText(t, "another session's", said, noSpace)
			said = e.refused(id, "stream 2 of 3")
			wantText(t, "the prompt behind", said, "could not be stored")
			if d.name == "acp" {
				if m := e.ask("session/new", object{"cwd": p.work, "mcpServers": []any{}}); m.Error == nil || !strings.Contains(m.Error.String(), noSpace) {
					t.Errorf("session/new: %s", m.raw)
				}
			}
			if v := e.load(id); !strings.HasPrefix(string(v.text), "The of") {
				t.Errorf("what is there reads %.100q", v.text)
			}
			throw()
			for _, chat := range []string{id, late} {
				v := e.load(chat)
				if got := e.run(chat, "stream 1 of 5"); got != endOK {
					t.Errorf("with room again: %q", got)
				}
				if !strings.HasSuffix(string(v.text), "The o") {
					t.Errorf("with room again it answered %.100q", v.text)
				}
			}
			e.leave()

			v := other.view(elsewhere)
			had := v.length
			other.read("more text", func() bool { return v.length > had })
			other.send(d.cancel(elsewhere))
			if got := other.ended(elsewhere, 1); got != endCancelled {
				t.Errorf("a process with room: %q", got)
			}
			other.leave()
		})
	}
	t.Run("mcp", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.smallDisk(t)
		c := p.call(t, launch{})
		id := c.prompt("", "stream 2 of 3").Structured.Session
		throw := p.ballast(t)
		for range 2 {
			r := c.prompt(id, "stream 100000 of 40")
			if !r.IsError {
				t.Errorf("a prompt on a full disk: %.300s", r.text())
			}
			wantText(t, "a prompt on a full disk", r.text(), noSpace)
		}
		if r := c.prompt("", "stream 2 of 3"); !r.IsError || !strings.Contains(r.text(), noSpace) {
			t.Errorf("a new session on a full disk: %s", r.text())
		}
		if r := c.use("session_get", object{"session_id": id}); !strings.Contains(r.text(), "The of") {
			t.Errorf("what is there reads %s", r.text())
		}
		throw()
		if r := c.prompt(id, "stream 1 of 5"); r.Structured.Text != "The o" {
			t.Errorf("with room again: %s", r.text())
		}
		c.leave()
	})
}
