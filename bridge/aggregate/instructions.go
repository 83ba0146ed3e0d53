package aggregate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/adapters/wire"
	"dragoman/core/display"
)

const (
	// meetFor limits how long a client waits for the instructions of servers that have never been
	// started.
	meetFor = 3 * time.Second
	// maxInstructions limits the instructions, in bytes: clients show a model no more of them.
	maxInstructions = 2048
	// maxNames limits the line that names the servers, in bytes.
	maxNames = 800
	// maxSaid limits the full instructions of one server, in bytes.
	maxSaid = 16 << 10
	// instructionsURI is the resource with the full instructions of all servers.
	instructionsURI = "dragoman://instructions"
)

// meet starts the servers that have never been started, and waits for them for a while: a client
// gets their instructions only once, when it begins. One that has never answered, and that another
// client has waited for, is not waited for again.
func (s *side) meet(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, min(meetFor, s.caller.agg.box.Grace()))
	defer cancel()
	var met sync.WaitGroup
	for _, p := range s.parts()[1:] {
		if i := p.export.Introduction(); i.Known || i.Late {
			continue
		}
		met.Go(func() {
			_, err := p.acquire(ctx, false) // if it comes later, the next client gets its instructions
			if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				p.export.IsLate()
			}
		})
	}
	met.Wait()
}

// said holds the instructions of one server.
type said struct{ server, text string }

// said returns the full instructions of the servers that have any.
func (s *side) said() (all []said) {
	for _, p := range s.parts()[1:] {
		text := strings.TrimSpace(display.Seen(p.export.Introduction().Instructions))
		if len(text) > maxSaid {
			text = display.Cut(text, maxSaid) + " …"
		}
		if text != "" {
			all = append(all, said{p.server.Name, text})
		}
	}
	return all
}

// instructions adds to our agent's instructions the names of all servers, what is missing, and as much of
// the servers' own instructions as a client shows, in fair shares.
func (s *side) instructions(own string) string {
	var names []string
	for _, p := range s.parts()[1:] {
		names = append(names, p.server.Name)
	}
	if names == nil {
		return own
	}
	text := own + "\n\nMCP servers: " + display.Clipped(strings.Join(names, ", "), maxNames) + "."
	all := s.said()
	if len(all) > 0 {
		text += " Their full instructions: " + instructionsURI
	}
	if notices := loginNotices(s.parts()); notices != "" {
		text += "\n\n" + notices
	}
	for _, one := range shares(all, maxInstructions-len(text)) {
		text += one
	}
	return text
}

// shares returns the paragraphs of the servers, which have at most room bytes in all. What a short one
// leaves over goes to the longer ones.
func shares(all []said, room int) []string {
	const least = 40 // less says nothing
	paragraphs := make([]string, len(all))
	order := make([]int, len(all))
	for i, one := range all {
		paragraphs[i], order[i] = "\n\n"+one.server+": "+one.text, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(paragraphs[a]), len(paragraphs[b])) })
	for n, i := range order {
		share := max(room, 0) / (len(order) - n)
		if head := len(all[i].server) + len("\n\n: "); len(paragraphs[i]) > share && share < head+least {
			paragraphs[i] = ""
		} else if len(paragraphs[i]) > share {
			paragraphs[i] = display.Cut(paragraphs[i], share-len(" …")) + " …"
		}
		room -= len(paragraphs[i])
	}
	return paragraphs
}

// fullInstructions returns the whole of what servers say of themselves.
func fullInstructions(all []said) string {
	var b strings.Builder
	for _, one := range all {
		b.WriteString("The MCP server " + one.server + " says of itself:\n" + one.text + "\n\n")
	}
	return strings.TrimSpace(b.String())
}

// instructionsItem is the resource in the list.
var instructionsItem = wire.JSON(map[string]string{
	"uri": instructionsURI, "name": "instructions", "title": "Instructions of the MCP servers", "mimeType": "text/plain",
})

// readInstructions answers a request for that resource.
func (s *side) readInstructions(call *wire.Call) {
	result := []wire.Member{wire.Set("contents", wire.JSON([]map[string]string{
		{"uri": instructionsURI, "mimeType": "text/plain", "text": fullInstructions(s.said())},
	}))}
	if s.modern() {
		result = append(result, wire.Set("resultType", complete), wire.Set("ttlMs", wire.JSON(0)), wire.Set("cacheScope", wire.JSON("private")))
	}
	call.Reply(wire.ValidJSON(wire.Edit(nil, result...)), nil)
}

// saidOf returns the full instructions of the servers whose tools an answer of a search names.
func (s *side) saidOf(answer string) string {
	found := map[string]bool{}
	s.mu.Lock()
	for r, name := range s.names[toolList].given {
		if strings.Contains(answer, name) {
			found[r.server] = true
		}
	}
	s.mu.Unlock()
	return fullInstructions(slices.DeleteFunc(s.said(), func(one said) bool { return !found[one.server] }))
}
