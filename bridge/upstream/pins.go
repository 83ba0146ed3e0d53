package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/adapters/wire"
	"dragoman/bridge/upstream/definition"
	"dragoman/core"
	"dragoman/core/datadir"
	"dragoman/core/display"
)

// pins stores the descriptions of tools when they were first seen, or last agreed to. A server
// that is trusted because of its tools' descriptions can change them later; so a tool that has
// changed, or that is new at a known server, needs consent before it is used, and until then a
// model gets the old description.
type pins struct {
	file datadir.Document[pinSet] // Path "": nothing is pinned

	mu      sync.Mutex           // guards the fields below
	looking bool                 // nothing is pinned when first seen
	young   map[string]time.Time // the time when this process first saw a new server
}

// pinSet holds descriptions, by server and tool.
type pinSet map[string]map[string]string

// pinsIn returns the pins in a file; "": nothing is pinned.
func pinsIn(path string) *pins {
	return &pins{file: datadir.Document[pinSet]{Path: path}, young: map[string]time.Time{}}
}

// kept reports whether anything is pinned at all.
func (p *pins) kept() bool { return p.file.Path != "" }

// all reads the file. A missing file pins nothing; an unreadable one is an error, because
// continuing without it would mean agreeing to everything.
func (p *pins) all() (pinSet, error) {
	all, err := p.file.Read()
	if err != nil {
		return nil, fmt.Errorf(
			"the recorded descriptions of MCP servers' tools cannot be read: %v; fix or remove %s",
			err,
			p.file.Path,
		)
	}
	return all, nil
}

// known returns the pins of a server's tools, by name; nil: the server is new. The result is not
// modified any more.
func (p *pins) known(server string) (map[string]string, error) {
	if !p.kept() {
		return nil, nil
	}
	all, err := p.all()
	return all[server], err
}

// firstSight is the duration of the first sight of a server: some list further tools when they
// know their client.
const firstSight = time.Minute

// first pins the tools of a new server, and those that it adds during the first sight. It returns
// the pins; nil: nothing is pinned, because this is only a look.
func (p *pins) first(server string, tools map[string]string) (map[string]string, error) {
	known, err := p.known(server)
	if err != nil || p.onlyLooks() || known != nil && (!p.isYoung(server) || hasAll(known, tools)) {
		return known, err
	}
	err = p.change(server, func(now map[string]string) map[string]string {
		if now != nil && !p.isYoung(server) {
			known = now
			return now // another process has seen it first
		}
		if now == nil {
			now = map[string]string{}
			p.sawFirst(server)
		}
		for name, is := range tools {
			if _, ok := now[name]; !ok {
				now[name] = is
			}
		}
		known = now
		return now
	})
	return known, err
}

// hasAll reports whether all tools are pinned, in whatever form.
func hasAll(known, tools map[string]string) bool {
	for name := range tools {
		if _, ok := known[name]; !ok {
			return false
		}
	}
	return true
}

// sawFirst begins the first sight of a server.
func (p *pins) sawFirst(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.young[server] = time.Now()
}

// isYoung reports whether the first sight of a server continues.
func (p *pins) isYoung(server string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.young[server]
	return ok && time.Since(at) < firstSight
}

// look compares a server's tools with the pins, and pins all tools of a new server. It marks the
// tools that have changed.
func (p *pins) look(server string, list []*listedTool) error {
	if !p.kept() {
		return nil
	}
	tools := map[string]string{}
	for _, l := range list {
		tools[l.spec.Name] = definition.Canonical(l.raw)
	}
	known, err := p.first(server, tools)
	if err != nil || known == nil {
		return err
	}
	for _, l := range list {
		was, ok := known[l.spec.Name]
		is := tools[l.spec.Name]
		switch {
		case !ok:
			l.change = "It is new.\n" + differences("{}", is)
			l.spec.Title, l.spec.Description = "", "(a tool that is new; the user has not seen it yet)"
		case was != is:
			l.change = differences(was, is)
			if old, err := parseTool(server, withName(was, l.spec.Name)); err == nil {
				l.spec.Title, l.spec.Description, l.spec.Schema = old.spec.Title, old.spec.Description, old.spec.Schema
			}
			l.spec.ReadOnly, l.spec.Idempotent = false, false
		}
	}
	return nil
}

// onlyLook prevents the pinning of tools that are seen for the first time.
func (p *pins) onlyLook() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looking = true
}

func (p *pins) onlyLooks() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.looking
}

func withName(tool, name string) json.RawMessage {
	m := wire.Object(json.RawMessage(tool))
	m["name"] = wire.JSON(name)
	return wire.JSON(m)
}

// names lists the pinned tools of a server.
func (p *pins) names(server string) []string {
	known, err := p.known(server)
	if err != nil {
		return nil // the error is reported when one is used
	}
	return slices.Collect(maps.Keys(known))
}

// pinned returns the tools of a server as they are pinned, by name, without those that it does not
// offer.
func (b *Box) pinned(s Server) (list []*listedTool) {
	known, err := b.pins.known(s.Name)
	if err != nil || b.pins.onlyLooks() {
		return nil // the start reports the error
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		l, err := parseTool(s.Name, withName(known[name], name))
		if err == nil && s.offers(name) {
			list = append(list, l)
		}
	}
	return list
}

// agree pins the current descriptions of tools.
func (p *pins) agree(server string, tools ...Change) error {
	return p.change(server, func(known map[string]string) map[string]string {
		if known == nil {
			known = map[string]string{}
		}
		for _, c := range tools {
			known[c.Tool] = definition.Canonical(c.item)
		}
		return known
	})
}

func (p *pins) agreed(server string, l *listedTool) bool {
	known, err := p.known(server)
	return err == nil && known[l.spec.Name] == definition.Canonical(l.raw)
}

// change replaces a server's pins by the result of change on a copy of them; nil: none. Processes
// do so one after the other, so that none undoes the pins of another.
func (p *pins) change(server string, change func(known map[string]string) map[string]string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockFor)
	defer cancel()
	return p.file.Change(ctx, func(all pinSet) (pinSet, error) {
		next := maps.Clone(all)
		if next == nil {
			next = pinSet{}
		}
		known := change(maps.Clone(all[server]))
		if next[server] = known; known == nil {
			delete(next, server)
		}
		if maps.EqualFunc(next, all, maps.Equal[map[string]string]) {
			return nil, datadir.ErrUnchanged
		}
		return next, nil
	})
}

// lockFor limits the time that a process waits for another one that changes a file.
const lockFor = 10 * time.Second

// maxDiff limits the visible part of a field in a difference, in bytes.
const maxDiff = 1500

// differences describes changes in words.
func differences(was, is string) string {
	old, now := wire.Object(json.RawMessage(was)), wire.Object(json.RawMessage(is))
	var s strings.Builder
	for _, name := range slices.Sorted(maps.Keys(merged(old, now))) {
		if string(old[name]) == string(now[name]) {
			continue
		}
		fmt.Fprintf(&s, "%s\n", name)
		if old[name] != nil {
			fmt.Fprintf(&s, "- %s\n", shownField(old[name]))
		}
		if now[name] != nil {
			fmt.Fprintf(&s, "+ %s\n", shownField(now[name]))
		}
	}
	return s.String()
}

func merged(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// shownField shows every character, also invisible ones.
func shownField(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) != nil {
		text = string(v)
	}
	shown := []rune{}
	for _, r := range text {
		if r != '\n' && display.Seen(string(r)) == "" {
			shown = append(shown, []rune(fmt.Sprintf("\\u%04x", r))...)
			continue
		}
		shown = append(shown, r)
	}
	if text = string(shown); len(text) > maxDiff {
		text = display.Cut(text, maxDiff) + fmt.Sprintf(" … (%d bytes more)", len(text)-maxDiff)
	}
	return text
}

// changed asks about a changed tool, and reports whether it may be used.
func (t *tool) changed(ctx context.Context) (bool, error) {
	pins := t.up.box.pins
	if t.change == "" {
		return true, nil
	}
	if pins.agreed(t.spec.Server, t.listedTool) {
		poke(t.up.stale) // the user has agreed in another place, and the list still has the old description
		return true, nil
	}
	r, err := t.up.host.Ask(ctx, core.Ask{
		Kind: core.AskConsent,
		Text: fmt.Sprintf(
			"The MCP server %s has changed the description of its tool %s since you first used it. The tool may behave differently now.\n%s\nUse the changed tool?",
			t.spec.Server,
			display.Plain(t.spec.Name),
			t.change,
		),
		Options: []core.Option{
			{
				ID:       optionYes,
				Label:    "Use it",
				Decision: core.AllowSession,
			}, {ID: optionNo, Label: "Do not", Decision: core.RejectOnce},
		},
	})
	if err != nil || r.Outcome != core.OutcomeAnswered || r.Option != optionYes {
		return false, err
	}
	if err := pins.agree(t.spec.Server, Change{Tool: t.spec.Name, item: t.raw}); err != nil {
		t.up.box.opts.Log(t.spec.Server, "error", err.Error())
	}
	poke(t.up.stale) // the list has its new description from now on
	return true, nil
}
