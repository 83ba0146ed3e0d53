package fidelity

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Side is one end of a pair: agents, or clients, of one protocol.
type Side struct {
	Name   string
	Losses []Loss // of the decoder of what these agents send, or of the encoder for these clients
}

// Table says what clients get of what agents tell.
type Table struct{ Agents, Clients []Side }

// cell describes how much of a topic reaches one client from one agent.
type cell struct {
	how  How
	whys []string
}

// between returns the cell of facts that pass a decoder and then an encoder.
func between(facts []Fact, decoder, encoder []Loss) (c cell) {
	var hows []How
	for _, f := range facts {
		how, whys := passed(f, decoder, encoder)
		if !slices.Contains(hows, how) {
			hows = append(hows, how)
		}
		for _, why := range whys {
			if !slices.Contains(c.whys, why) {
				c.whys = append(c.whys, why)
			}
		}
	}
	c.how = InPart
	if len(hows) == 1 {
		c.how = hows[0]
	}
	return c
}

// passed returns what becomes of a fact behind both. What the decoder has lost the encoder cannot
// lose again.
func passed(f Fact, decoder, encoder []Loss) (how How, whys []string) {
	in, lossy := Of(decoder, f)
	how = Carried
	if lossy {
		how, whys = in.How, []string{in.Why}
	}
	switch how {
	case Lost:
		return how, whys
	case AsNotice, AsText: // it is another event now
		return how, whys
	case Carried, InPart, Changed, Measured:
	}
	if out, lossy := Of(encoder, f); lossy {
		if how = out.How; how == Lost {
			whys = nil
		}
		whys = append(whys, out.Why)
	}
	return how, whys
}

// Write writes the table as Markdown, with the reasons under it.
func (t Table) Write(w io.Writer) error {
	var b strings.Builder
	var whys []string
	head, line := "| |", "|---|"
	for _, a := range t.Agents {
		for _, c := range t.Clients {
			head += " " + a.Name + " → " + c.Name + " |"
			line += "---|"
		}
	}
	b.WriteString(head + "\n" + line + "\n")
	facts, _ := Parts()
	for i, topic := range Topics() {
		b.WriteString("| " + topic.Name + " |")
		for _, a := range t.Agents {
			for _, c := range t.Clients {
				at := between(facts[i], a.Losses, c.Losses)
				b.WriteString(" " + string(at.how))
				for _, why := range at.whys {
					n := slices.Index(whys, why)
					if n < 0 {
						n, whys = len(whys), append(whys, why)
					}
					fmt.Fprintf(&b, " [%d]", n+1)
				}
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for i, why := range whys {
		fmt.Fprintf(&b, "%d. %s\n", i+1, why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
