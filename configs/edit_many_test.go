package configs

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// made is a file put together of pieces at random, so that it is known byte by byte
// what an edit must leave of it.
type made struct {
	head, tail string   // around the servers' own lines
	names      []string // of the servers
	pieces     []string // what is written of each, from its key's line on
	between    []string // comments and empty lines in front of each
}

func (m made) without(drop int) string {
	var b strings.Builder
	b.WriteString(m.head)
	for i, piece := range m.pieces {
		b.WriteString(m.between[i])
		if i != drop {
			b.WriteString(piece)
		}
	}
	return b.String() + m.tail
}

func makeFile(r *rand.Rand) (m made, eol string) {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	eol = pick("\n", "\n", "\r\n")
	step := pick("  ", "    ", "   ")
	section := func() string {
		return pick(
			"model: groq/x # the model\n", "# prose: {a: b}\n\n", "\n", "## é 😀\n", "limits:\n  max_turn_requests: 3\n  # mcp_servers: {}\n",
			"agents:\n  a:\n    instructions: |\n      mcp_servers:\n        a: {}\n\n      # no comment\n", "policy: {deny: [{path: \"**/.env\"},\n  {command: 'a # b'}]} # c\n",
			"log:\n  level: \"warn\"\n", "fallback:\n- groq/x\n- 'groq/y' # z\n",
		)
	}
	have := map[string]bool{}
	add := func() string {
		s := section()
		key, _, isKey := strings.Cut(s, ":")
		if strings.HasPrefix(s, "#") {
			isKey = false
		}
		if isKey && have[key] {
			return "# " + key + " stands elsewhere\n"
		}
		have[key] = have[key] || isKey
		return s
	}
	for range r.IntN(4) {
		m.head += add()
	}
	m.head += pick("mcp_servers:\n", "mcp_servers: # all mine\n", "\"mcp_servers\":   \n")
	for i := range 1 + r.IntN(4) {
		name := fmt.Sprintf("s%d", i)
		key := pick(name, name, `"`+name+`"`, "'"+name+"'")
		body := pick(
			": {command: x} # c\n", ":\n__command: x\n", ": # c\n__# d\n__command: \"x y\"\n\n__args: [a, \"b\", # e\n____'c']\n", ":\n__url: https://example.com/mcp\n__headers:\n____A: b # f\n____# g\n",
			":\n__command: x\n__args:\n__- |\n____# text\n____  more\n", ": {url: \"http://localhost:1/\", tools: [\"a\", 'b']}\n", ":\n__command: >-\n____folded\n____text\n__disabled: false # g\n", ":\n__command: x\n__# the last word\n",
		)
		body = strings.ReplaceAll(body, "__", "\x00")
		deep := step + step
		body = strings.ReplaceAll(strings.ReplaceAll(body, "\x00\x00", deep+step), "\x00", deep)
		m.names = append(m.names, name)
		m.pieces = append(m.pieces, step+key+body)
		m.between = append(m.between, pick("", "", step+"# before "+name+"\n", "\n", "\n"+step+"# apart\n\n", "# far left\n"))
	}
	for range r.IntN(3) {
		m.tail += add()
	}
	// What follows the servers must not look as if it were theirs, nor be their end.
	if strings.HasPrefix(m.tail, " ") {
		m.tail = ""
	}
	if eol != "\n" {
		crlf := func(s string) string { return strings.ReplaceAll(s, "\n", eol) }
		m.head, m.tail = crlf(m.head), crlf(m.tail)
		for i := range m.pieces {
			m.pieces[i], m.between[i] = crlf(m.pieces[i]), crlf(m.between[i])
		}
	}
	return m, eol
}

// Whatever stands around an entry, not a byte of it changes.
func TestEditsOfManyFiles(t *testing.T) {
	for seed := range uint64(120) {
		m, eol := makeFile(rand.New(rand.NewPCG(seed, 0)))
		text := m.without(-1)
		layer, err := Parse("config.yaml", []byte(text))
		if err != nil {
			t.Fatalf("seed %d: the file itself is wrong: %v\n%s", seed, err, text)
		}
		for i, name := range m.names {
			got, err := Apply("config.yaml", []byte(text), nil, DropServer(name))
			if want := m.without(i); err != nil || string(got) != want {
				t.Errorf("seed %d, without %s: %v\n%q\nwant\n%q", seed, name, err, got, want)
			}
			for _, disabled := range []bool{true, false} {
				got, err := Apply("config.yaml", []byte(text), nil, DisableServer(name, disabled))
				if err != nil {
					t.Errorf("seed %d, %s disabled %v: %v\n%s", seed, name, disabled, err, text)
					continue
				}
				before := m.head
				for j := range i {
					before += m.between[j] + m.pieces[j]
				}
				after := text[len(before)+len(m.between[i])+len(m.pieces[i]):]
				if !strings.HasPrefix(string(got), before+m.between[i]) || !strings.HasSuffix(string(got), after) || len(got)-len(text) > len("        disabled: false")+len(eol) {
					t.Errorf("seed %d, %s disabled %v:\n%s\nbecame\n%s", seed, name, disabled, text, got)
				}
			}
			again, err := Apply("config.yaml", []byte(text), nil, PutServer(name, layer.MCPServers[name]))
			if err != nil || string(again) != text {
				t.Errorf("seed %d, %s as it is: %v\n%s\nbecame\n%s", seed, name, err, text, again)
			}
		}
		added, err := Apply("config.yaml", []byte(text), nil, AddServer("new", npx("a")))
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
			continue
		}
		at := strings.Index(string(added), "new:")
		at = strings.LastIndexByte(string(added[:at]), '\n') + 1
		entry := len(added) - len(text)
		if rest := string(added[:at]) + string(added[at+entry:]); rest != text {
			t.Errorf("seed %d, with a new one:\n%s\nbecame\n%s", seed, text, added)
		}
		back, err := Apply("config.yaml", added, nil, DropServer("new"))
		if err != nil || string(back) != text {
			t.Errorf("seed %d, there and back: %v\n%s\nbecame\n%s", seed, err, text, back)
		}
	}
}
