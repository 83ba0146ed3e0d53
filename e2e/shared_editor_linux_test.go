package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A turn uses the editor of the client that has prompted it, in whatever process that is: its unsaved text, its
// way to write, and its terminals. No other editor is asked.
func TestSharedEditor(t *testing.T) {
	t.Parallel()
	p := sharedPlace(t)
	config := p.config(t, "policy: {terminal: editor}\n")
	caps := object{"fs": object{"readTextFile": true, "writeTextFile": true}, "terminal": true}
	var both []*acpClient
	for _, name := range []string{"the owner", "the other one"} {
		c := p.acpClientOf(t, launch{}, caps, true, "--config", config)
		c.files[filepath.Join(p.work, "notes.txt")] = "not saved by " + name + "\n"
		both = append(both, c)
	}
	owner, other := both[0], both[1]
	id := owner.session()
	owner.prompt(id, "stream 1 of 1")
	other.ok("session/load", other.of(id))
	uses := func(c *acpClient) (list []string) {
		for _, method := range c.asked {
			if strings.HasPrefix(method, "fs/") || strings.HasPrefix(method, "terminal/") {
				list = append(list, method)
			}
		}
		return list
	}
	for round, by := range []*acpClient{other, owner, other} {
		idle := both[1-slices.Index(both, by)]
		by.permission, idle.permission = "allow_once", "hold"
		for _, c := range both {
			c.asked, c.written = nil, map[string]string{}
			c.forget()
		}
		text := "by the editor, " + string(rune('0'+round))
		if end := by.prompt(id, "read notes.txt then write made.txt: "+text+" then run echo from a terminal"); end != "end_turn" {
			t.Errorf("round %d: %s", round, end)
		}
		idle.ok("session/set_config_option", object{"sessionId": id, "configId": "agent", "value": "code"}) // it has heard all that was before
		who := map[bool]string{true: "the owner", false: "the other one"}[by == owner]
		wantText(t, "the answer", by.said(id), "not saved by "+who, "from a terminal")
		if got := by.written[filepath.Join(p.work, "made.txt")]; got != text {
			t.Errorf("round %d: %s was to write %q", round, who, got)
		}
		for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"} {
			if !slices.Contains(by.asked, method) {
				t.Errorf("round %d: %s of %s was not called: %q", round, method, who, by.asked)
			}
		}
		if list := uses(idle); len(list) > 1 || len(list) == 1 && list[0] != "fs/read_text_file" { // whether it has changes of what was written
			t.Errorf("round %d: the editor that did not prompt was asked for %q", round, list)
		}
	}
	absent(t, filepath.Join(p.work, "made.txt"), "the editor writes it")
	for _, c := range both {
		c.stop()
	}
}

// When the owner's editor leaves, a turn of another client ends as interrupted, and the prompts that wait run in
// the next owner.
func TestSharedOwnerLeaves(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"acp", "eca"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := sharedPlace(t)
			owner, b, c := p.sit(t, kind, launch{}), p.sit(t, "acp", launch{}), p.sit(t, "acp", launch{})
			id := owner.editor.begin()
			owner.join(id)
			owner.prompt("stream 2 of 3")
			owner.editor.ended(id, 1)
			b.join(id)
			c.join(id)
			b.prompt("stream 5 of 30 then run touch made")
			c.asked() // and nobody answers
			c.prompt("think of the first then stream 2 of 3")
			b.prompt("think of the second then stream 2 of 3")
			for waiting := 0; waiting < 2; {
				waiting = 0
				for _, r := range p.logOf(t, id) {
					if r.Kind == "prompt_queued" {
						waiting++
					}
				}
			}
			owner.leave()
			if got := b.editor.ended(id, 1); !strings.Contains(got, "interrupted") {
				t.Errorf("the turn that ran ended as %q", got)
			}
			if got := c.editor.ended(id, 1); got != endOK {
				t.Errorf("the first prompt that waited ended as %q", got)
			}
			if got := b.editor.ended(id, 2); got != endOK {
				t.Errorf("the second prompt that waited ended as %q", got)
			}
			log := p.logOf(t, id)
			for _, s := range []*seat{b, c} {
				s.showsAll(log)
				s.leave()
			}
			if last := log[len(log)-1]; last.Epoch != 2 {
				t.Errorf("the last owner is number %d", last.Epoch)
			}
		})
	}
}
