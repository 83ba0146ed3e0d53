package terminal

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/core"

	"github.com/creack/pty"
)

// picture emulates the screen of a terminal, as far as the chat uses it.
type picture struct {
	width    int
	lines    [][]rune
	row, col int
	rest     string // the beginning of a sequence
}

var sequence = regexp.MustCompile(`^\x1b\[([?0-9;]*)([A-Za-z])`)

func (p *picture) write(text string) {
	for text = p.rest + text; text != ""; {
		p.rest = ""
		if m := sequence.FindStringSubmatch(text); m != nil {
			p.control(m[1], m[2])
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text)[0]
		if r == '\x1b' && len(text) < 8 {
			p.rest = text
			return
		}
		text = text[len(string(r)):]
		switch r {
		case '\r':
			p.col = 0
		case '\n':
			p.row++
		default:
			if p.col == p.width {
				p.row, p.col = p.row+1, 0
			}
			p.at(p.row, p.col)
			p.lines[p.row][p.col] = r
			p.col++
		}
	}
}

func (p *picture) at(row, col int) {
	for len(p.lines) <= row {
		p.lines = append(p.lines, nil)
	}
	for len(p.lines[row]) <= col {
		p.lines[row] = append(p.lines[row], ' ')
	}
}

func (p *picture) control(args, name string) {
	n, _ := strconv.Atoi(args) // empty: 0
	switch name {
	case "A":
		p.row = max(p.row-max(n, 1), 0)
	case "C":
		p.col = min(p.col+max(n, 1), p.width-1)
	case "J":
		p.at(p.row, p.col)
		p.lines = p.lines[:p.row+1]
		p.lines[p.row] = p.lines[p.row][:p.col]
	case "K":
		p.at(p.row, 0)
		p.lines[p.row] = nil
	}
}

// String returns the shown lines; the sign of progress is a dot.
func (p *picture) String() string {
	var b strings.Builder
	for _, l := range p.lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	return strings.Map(func(r rune) rune {
		if r >= 0x2800 && r < 0x2900 {
			return '.'
		}
		return r
	}, b.String())
}

// screened is a chat at a terminal that a person looks at.
type screened struct {
	*shared
	keys    *os.File
	came    chan string
	picture picture
}

// atScreen begins a chat at a terminal.
func (s *shared) atScreen(change func(*ChatOptions)) *screened {
	s.t.Helper()
	ours, theirs, err := pty.Open()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := pty.Setsize(ours, &pty.Winsize{Rows: 40, Cols: 60}); err != nil {
		s.t.Fatal(err)
	}
	c := &screened{shared: s, keys: ours, came: make(chan string), picture: picture{width: 60}}
	go func() {
		defer close(c.came)
		for buf := make([]byte, 4096); ; {
			n, err := ours.Read(buf)
			if err != nil {
				return
			}
			c.came <- string(buf[:n])
		}
	}()
	o := ChatOptions{
		Program: &program.Environment{In: theirs, Out: theirs, Err: &s.errs, Lookup: func(name string) (string, bool) {
			return map[string]string{"TERM": "xterm", "NO_COLOR": "1"}[name], true
		}},
		Gateway: s.gateway, Principal: core.Local, Session: s.session, Attach: true,
	}
	if change != nil {
		change(&o)
	}
	go func() { s.over <- converse(s.t.Context(), o, theirs, theirs, s.interrupts) }()
	s.t.Cleanup(func() { ours.Close() })
	return c
}

func (c *screened) press(keys string) {
	c.t.Helper()
	if _, err := c.keys.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// until waits until the screen ends with some lines.
func (c *screened) until(lines ...string) {
	c.t.Helper()
	want := "\n" + strings.Join(lines, "\n") + "\n"
	stuck := time.After(20 * time.Second)
	for !strings.HasSuffix("\n"+c.picture.String(), want) {
		select {
		case more, ok := <-c.came:
			if !ok {
				c.t.Fatalf("the chat has ended with\n%s\nwant%s", c.picture.String(), want)
			}
			c.picture.write(more)
		case <-stuck:
			c.t.Fatalf("the screen stays\n%s\nwant%s", c.picture.String(), want)
		}
	}
}

// moves waits until the sign of progress has moved a number of times.
func (c *screened) moves(n int) {
	c.t.Helper()
	sign := func() rune { return c.picture.lines[c.picture.row][0] }
	for was := sign(); n > 0; n-- {
		for was == sign() {
			c.picture.write(<-c.came)
		}
		was = sign()
	}
}

// ends reads to the end of the chat.
func (c *screened) ends() {
	c.t.Helper()
	select {
	case err := <-c.over:
		if err != nil {
			c.t.Error(err)
		}
	case <-time.After(20 * time.Second):
		c.t.Fatalf("it does not end\n%s", c.picture.String())
	}
	c.session.State()
}

func (c *screened) do(steps ...func(context.Context, *core.Turn)) {
	for _, step := range steps {
		c.steps <- step
	}
}

// What another client's turn shows comes above the line that is being typed, also in the middle of
// a line and of a word, and the line stays.
func TestATurnIsShownAboveTheTypedLine(t *testing.T) {
	s := share(t)
	defer s.close()
	c := s.atScreen(nil)
	c.until(">")
	c.press("half a line")
	c.until("> half a line")
	c.prompts("tell me")
	c.until("Zed 0.212: tell me", ". > half a line")
	c.do(say("one two ", "m"))
	c.until("one two", ". > half a line")
	c.press("\x1b[D\x1b[D!")
	c.until("one two", ". > half a li!ne")
	c.do(say("three\nfour ", "m"))
	c.until("one two three", "four", ". > half a li!ne")
	c.do(say("and a number of words that fill the line up to its very end, and more ", "m"))
	c.until("one two three", "four and a number of words that fill the line up to its very", "end, and more", ". > half a li!ne")
	c.press("\x05" + strings.Repeat("y", 60))
	c.until("end, and more", ". > half a li!ne"+strings.Repeat("y", 44), strings.Repeat("y", 16))
	c.do(say("and last.", "m"), nil)
	c.until("end, and more and last.", "> half a li!ne"+strings.Repeat("y", 46), strings.Repeat("y", 14))
	c.press("\x15\x04")
	c.ends()
}

// A line that was begun as a prompt never becomes an answer: the question waits until it is sent.
// Then it can be answered here, once.
func TestAQuestionWaitsForTheTypedLine(t *testing.T) {
	s := share(t)
	defer s.close()
	c := s.atScreen(nil)
	c.until(">")
	c.prompts("touch it")
	c.until("Zed 0.212: touch it", ". >")
	c.press("wh")
	c.until(". > wh")
	c.do(touches)
	c.until("? Touch a file · it writes", "You can answer when your line is sent or erased.", ". > wh")
	c.press("y\r")
	c.until("Sent to the turn that runs.", "[y]es, [s]ession (touching) or [n]o:")
	if len(s.editor.Pending()) != 1 {
		t.Error("the rest of a line has answered the question")
	}
	c.press("n\r")
	c.until("[y]es, [s]ession (touching) or [n]o: n", "✗ rejected: Touch a file (rejected by the user)", ". >")
	c.do(takesUp, nil)
	c.until(`The turn has taken up: "why"`, ">")
	c.press("\x04")
	c.ends()
}

// A question that another client answers leaves the line, with what was typed as its answer.
func TestAnAnswerFromElsewhereTakesTheQuestionAway(t *testing.T) {
	s := share(t)
	defer s.close()
	c := s.atScreen(nil)
	c.until(">")
	c.prompts("touch it")
	c.do(touches)
	c.until("[y]es, [s]ession (touching) or [n]o:")
	c.press("n")
	c.until("[y]es, [s]ession (touching) or [n]o: n")
	if err := s.editor.Decide(t.Context(), s.editor.Pending()[0].ID, core.AllowOnce, ""); err != nil {
		t.Fatal(err)
	}
	c.until("Zed 0.212 decided: yes", ". >")
	c.press("\r")
	c.until("Zed 0.212 decided: yes", ">", ". >")
	c.do(nil)
	c.until("Zed 0.212 decided: yes", ">", ">")
	c.press("\x04")
	c.ends()
}

// Esc leaves the question of another client's turn to others, and frees the line.
func TestAQuestionIsLeftToOthers(t *testing.T) {
	s := share(t)
	defer s.close()
	c := s.atScreen(nil)
	c.until(">")
	c.prompts("touch it")
	c.do(touches)
	c.until("[y]es, [s]ession (touching) or [n]o:")
	c.press("\x1b")
	c.until("Left to the others; /answer puts the question to you again.", ". >")
	if len(s.editor.Pending()) != 1 {
		t.Error("the question was settled")
	}
	c.press("/answer\r")
	c.until("> /answer", "[y]es, [s]ession (touching) or [n]o:")
	c.press("y\r")
	c.until("[y]es, [s]ession (touching) or [n]o: y", ". >")
	c.do(nil)
	c.until("[y]es, [s]ession (touching) or [n]o: y", ">")
	c.press("\x04")
	c.ends()
}

// A message that the turn does not take up before its end is sent as a prompt of its own.
func TestAMessageThatIsNotTakenUpIsSentAgain(t *testing.T) {
	s := share(t)
	defer s.close()
	c := s.atScreen(nil)
	c.until(">")
	c.prompts("go")
	c.do(say("I go. ")) // from now on it takes messages
	c.until("Zed 0.212: go", "I go.", ". >")
	c.press("hurry\r")
	c.until("Sent to the turn that runs.", ". >")
	c.do(nil)
	c.until(`The turn ended before it took this up, which is sent again:`, `"hurry"`, "> hurry", ". >")
	c.do(say("Yes."), nil)
	c.until("> hurry", "Yes.", ">")
	c.press("\x04")
	c.ends()
}

// Esc stops nothing that others have prompted; /stop does. What was prompted here Esc stops.
func TestWhoStopsATurn(t *testing.T) {
	s := share(t)
	defer s.close()
	c := s.atScreen(nil)
	c.until(">")
	c.prompts("go")
	c.until("Zed 0.212: go", ". >")
	c.press("\x1b")
	c.moves(2) // longer than the rest of a key is waited for
	c.press("x")
	c.until(". > x")
	c.press("\x15/stop\r")
	c.until("> /stop", "The turn was cancelled.", ">")
	c.press("mine\r")
	c.until("> mine", ". >")
	c.press("\x1b")
	c.until("> mine", "The turn was cancelled.", ">")
	c.prompts("again")
	c.until("Zed 0.212: again", ". >")
	c.interrupts <- syscall.SIGINT
	c.until("You have left, and Zed 0.212's turn goes on. Come back with:", "dragoman attach "+string(s.session.Meta().ID))
	c.ends()
	if s.editor.State().Turn == "" {
		t.Error("the turn was stopped")
	}
	s.steps <- nil
}

// A chat shows what others do in its session as well.
func TestAChatShowsOtherClients(t *testing.T) {
	s := share(t)
	defer s.close()
	c := s.atScreen(func(o *ChatOptions) { o.Attach, o.Profile = false, &core.Profile{} })
	c.until(">")
	c.press("mine")
	c.prompts("theirs")
	c.do(say("Done."), nil)
	c.until("Zed 0.212: theirs", "Done.", "> mine")
	c.press("\r")
	c.do(say("Yes."), nil)
	c.until("> mine", "Yes.", ">")
	c.press("\x04")
	c.ends()
}
