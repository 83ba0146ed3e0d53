package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dragoman/bridge/upstream/definition"
	"dragoman/core/display"
)

// pinnedTools are the pins of a server that a list is compared with.
type pinnedTools struct {
	known map[string]string // nil: the server is new, or nothing is pinned
	young bool              // the first sight of the server continues
	fails bool              // the pins cannot be read: nothing is agreed to
}

func (v *View) pinned() (p pinnedTools) {
	var err error
	if p.known, err = v.box.pins.known(v.Server.Name); err != nil {
		v.Log("error", err.Error())
		p.known, p.fails = map[string]string{}, true
	}
	p.young = v.box.pins.isYoung(v.Server.Name)
	return p
}

// same reports whether lists are judged alike by both.
func (p pinnedTools) same(o pinnedTools) bool {
	return p.young == o.young && p.fails == o.fails && (p.known == nil) == (o.known == nil) && maps.Equal(p.known, o.known)
}

// judgedTools are the items of a list, as they are judged by pins.
type judgedTools struct {
	tools map[string]string // the descriptions of all that the server may offer, by name
	shown []json.RawMessage // those for a client
	held  []string          // new ones, of which a client does not hear
	same  bool              // shown are the items themselves
}

// judged judges the items of a list by the pins. Those with the names of earlier ones are left out.
func (v *View) judged(items []json.RawMessage, earlier map[string]bool, by pinnedTools) judgedTools {
	j := judgedTools{tools: make(map[string]string, len(items)), shown: make([]json.RawMessage, 0, len(items)), same: true}
	for _, item := range items {
		name, tool, err := definition.Fit(item)
		_, taken := j.tools[name]
		switch {
		case err != nil:
			v.warn(leftOut(err))
		case taken || earlier[name]:
			v.warn(leftOut(errTwice(name)))
		}
		if err != nil || taken || earlier[name] || !v.Server.offers(name) {
			j.same = false
			continue
		}
		is := definition.Canonical(item)
		j.tools[name] = is
		was, ok := by.known[name]
		if v.Pins() && by.known != nil && was != is && (ok || !by.young) {
			j.same = false
			if !ok {
				j.held = append(j.held, name)
				continue
			}
			if _, tool, err = definition.Fit(withName(was, name)); err != nil {
				continue
			}
		}
		j.same = j.same && string(tool) == string(item)
		j.shown = append(j.shown, tool)
	}
	return j
}

// agreedList is a list that was judged, and its result.
type agreedList struct {
	list []json.RawMessage
	by   pinnedTools
	judgedTools
}

// Agreed returns a whole list of tools in its form for a client, and the names of new tools, which
// are not in it. The list was requested after at changes (Changes). One that is the same as the last
// one is not judged again while the pins are the same.
func (v *View) Agreed(list []json.RawMessage, at int) (shown []json.RawMessage, held []string) {
	by := v.pinned()
	v.mu.Lock()
	last := v.last
	v.mu.Unlock()
	if last == nil || !by.same(last.by) || !slices.EqualFunc(list, last.list, sameText) {
		last = &agreedList{list, by, v.judged(list, nil, by)}
		v.mu.Lock()
		v.last = last
		v.mu.Unlock()
	}
	v.gather("", "", last.tools, at)
	return last.shown, last.held
}

func sameText(a, b json.RawMessage) bool { return bytes.Equal(a, b) }

// warn logs once why a tool is left out.
func (v *View) warn(why string) {
	v.mu.Lock()
	told := v.warned[why]
	v.warned[why] = true
	v.mu.Unlock()
	if !told {
		v.Log("warn", why)
	}
}

// warnOf logs, in one line, which tools differ from their pins, unless that was logged before for
// any client.
func (v *View) warnOf(known, tools map[string]string) {
	changed := v.box.unreported(v.Server.Name, known, tools)
	if len(changed) == 0 {
		return
	}
	if len(changed) == 1 {
		was, pinned := known[changed[0]]
		v.Log("warn", v.change(changed[0], was, tools[changed[0]], pinned))
		return
	}
	var names []string
	for _, name := range changed[:min(len(changed), maxNamed)] {
		names = append(names, display.Word(name))
	}
	if more := len(changed) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	v.Log("warn", fmt.Sprintf(
		"%d tools of the MCP server %s are new or have changed since they were agreed to, and may do something else now (%s); a person can look at them and agree to them: dragoman mcp-servers approve %s",
		len(changed),
		v.Server.Name,
		strings.Join(names, ", "),
		display.Word(v.Server.Name),
	))
}

// maxNamed limits the names of tools in one warning.
const maxNamed = 5

// unreported returns the names of a server's tools that differ from their pins, sorted, without
// those that it has returned before in the same form.
func (b *Box) unreported(server string, known, tools map[string]string) (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	told := b.reported[server]
	for name, is := range tools {
		if was, ok := known[name]; (!ok || was != is) && told[name] != is {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	if told == nil || len(told)+len(names) > maxItems {
		told = map[string]string{}
		b.reported[server] = told
	}
	for _, name := range names {
		told[name] = tools[name]
	}
	slices.Sort(names)
	return names
}
