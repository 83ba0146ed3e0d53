package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a command has written stays, and what the user has typed, whatever the editor shows: in one turn,
// in the next one, and in another process.
func TestEditorAndDisk(t *testing.T) {
	t.Parallel()
	const first = "first note\nsecond note\n"
	for _, buffer := range []string{"clean", "late", "dirty"} {
		t.Run(buffer, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			notes := filepath.Join(p.work, "notes.txt")
			config := p.config(t, "policy:\n  default: allow\n")
			caps := object{"fs": object{"readTextFile": true, "writeTextFile": true}}
			open := func() *acpClient {
				c := p.acpClientOf(t, launch{}, caps, true, "--config", config)
				c.saves = true
				return c
			}
			c := open()
			id := c.session()
			c.prompt(id, "read notes.txt")
			if buffer != "clean" {
				c.files[notes] = first // loaded now, and kept
			}
			c.prompt(id, "run echo by command >> notes.txt then read notes.txt")
			if shown := strings.Contains(c.said(id), "by command"); !shown {
				t.Errorf("the model has read %q", c.said(id))
			}
			if buffer == "dirty" {
				c.files[notes] = first + "typed\n"
			}
			kept := c.files
			c.stop()

			c = open()
			c.ok("session/load", c.of(id))
			c.files, c.written = kept, map[string]string{}
			c.forget()
			c.prompt(id, "replace first with last in notes.txt")
			want := "last note\nsecond note\nby command\n"
			if buffer == "dirty" {
				want = "first note\nsecond note\nby command\n"
				c.has("refusal", func(u acpUpdate) bool {
					return u.Status == "failed" && strings.Contains(u.raw, "not saved")
				})
				if len(c.written) > 0 || c.files[notes] != first+"typed\n" {
					t.Errorf("the buffer is %q, and %q were written", c.files[notes], c.written)
				}
			} else if c.written[notes] != want {
				t.Errorf("the editor was to write %q", c.written)
			}
			if got, err := os.ReadFile(notes); err != nil || string(got) != want {
				t.Errorf("the disk has %q %v", got, err)
			}
			c.stop()
		})
	}
}
