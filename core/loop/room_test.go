package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/coretest"
	"dragoman/core/inference"
	"dragoman/core/tools"
)

// nobody is a client that cannot be asked.
var nobody = core.Client{Name: "nobody"}

// shelf is a folder with files of 50 KB, and a model that reads them.
type shelf struct {
	dir   string
	files [][]string // their lines
	seen  map[string]bool
}

func newShelf(t *testing.T, n, width int) *shelf {
	s := &shelf{dir: t.TempDir(), seen: map[string]bool{}}
	for i := range n {
		var lines []string
		for k, size := 1, 0; size < 50<<10; k++ {
			line := fmt.Sprintf("file %d line %d ", i, k)
			line += strings.Repeat("x", min(width, 50<<10-size-1)-min(len(line), 50<<10-size-1))
			lines, size = append(lines, line), size+len(line)+1
		}
		s.files = append(s.files, lines)
		if err := os.WriteFile(s.path(i), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *shelf) path(i int) string { return filepath.Join(s.dir, fmt.Sprintf("f%d.txt", i)) }

// look notes the lines that a request shows, and returns the newest result for each file.
func (s *shelf) look(r *inference.Request) map[string]string {
	newest, path := map[string]string{}, map[core.CallID]string{}
	for _, m := range r.Messages {
		for _, c := range m.Calls {
			var args struct{ Path string }
			_ = json.Unmarshal(c.Args, &args)
			path[c.ID] = args.Path
		}
		if m.Role == inference.RoleTool {
			text := said(m.Result.Blocks, 1<<20)
			newest[path[m.Result.ID]] = text
			for line := range strings.Lines(text) {
				s.seen[strings.TrimSuffix(line, "\n")] = true
			}
		}
	}
	return newest
}

// read returns a call for a file; 0: without offset or limit.
func (s *shelf) read(a coretest.Answer, n, i, offset, limit int) coretest.Answer {
	args := map[string]any{"path": s.path(i)}
	if offset > 0 {
		args["offset"] = offset
	}
	if limit > 0 {
		args["limit"] = limit
	}
	b, _ := json.Marshal(args)
	return a.Call(core.CallID(fmt.Sprintf("c%d-%d", n, i)), "read_file", string(b))
}

var (
	partly = regexp.MustCompile(`lines (\d+)–(\d+) left out: .*use offset (\d+) and limit (\d+)`)
	goOn   = regexp.MustCompile(`go on with offset (\d+)`)
)

// ends reads all files at once, and goes on where their texts say how, until it was shown the first
// and the last line of each.
func (s *shelf) ends(n int, r *inference.Request) coretest.Answer {
	newest := s.look(r)
	var a coretest.Answer
	for i, lines := range s.files {
		if s.seen[lines[0]] && s.seen[lines[len(lines)-1]] {
			continue
		}
		offset, limit := 0, 0
		if m := partly.FindStringSubmatch(newest[s.path(i)]); m != nil {
			offset, _ = strconv.Atoi(m[3])
			limit, _ = strconv.Atoi(m[4])
		} else if m := goOn.FindStringSubmatch(newest[s.path(i)]); m != nil {
			offset, _ = strconv.Atoi(m[1])
		}
		a = s.read(a, n, i, offset, limit)
	}
	if len(a.Deltas) == 0 {
		a = a.Say("I have seen them.")
	}
	return a
}

// middles reads all files at once, and then the line in the middle of each that it was not shown.
func (s *shelf) middles(n int, r *inference.Request) coretest.Answer {
	newest := s.look(r)
	var a coretest.Answer
	for i, lines := range s.files {
		k := len(lines) / 2
		if s.seen[lines[k-1]] {
			continue
		}
		if m := partly.FindStringSubmatch(newest[s.path(i)]); m != nil {
			first, _ := strconv.Atoi(m[1])
			last, _ := strconv.Atoi(m[2])
			if k < first || last < k {
				return a.Say("The text does not say how to read the line.")
			}
			a = s.read(a, n, i, k, 1)
			continue
		}
		a = s.read(a, n, i, 0, 0)
	}
	if len(a.Deltas) == 0 {
		a = a.Say("I have seen them.")
	}
	return a
}

// tokens is what a service would count: a quarter of the bytes.
func tokens(r inference.Request) int {
	n := beside(&r)
	for _, m := range r.Messages {
		n += len(m.Text) + weigh(m.Blocks) + weigh(m.Result.Blocks)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Args)
		}
	}
	return n / 4
}

// A turn that reads more than its model's window has room for stays within the window and costs few
// requests: results keep their ends and say how to read the rest. They stay as they were sent, so
// that each request begins with the one before it, except after a summary.
func TestLargeResultsShareTheWindow(t *testing.T) {
	for _, window := range []int{8_000, 32_000, 128_000} {
		for _, n := range []int{2, 4, 8, 12} {
			for _, width := range []int{50, 110} {
				for name, reads := range map[string]func(*shelf, int, *inference.Request) coretest.Answer{
					"ends": (*shelf).ends, "middles": (*shelf).middles,
				} {
					t.Run(fmt.Sprintf("%s of %d files, lines of %d, window %d", name, n, width, window), func(t *testing.T) {
						shelf := newShelf(t, n, width)
						most := 8
						if n*50<<10/4 > window/4*3 {
							most += n
						}
						checkReads(t, shelf, reads, window, most)
					})
				}
			}
		}
	}
}

func checkReads(t *testing.T, s *shelf, reads func(*shelf, int, *inference.Request) coretest.Answer, window, most int) {
	var r *rig
	script := &coretest.Script{Is: inference.ModelInfo{ID: "script/model", Window: window, Tools: true}}
	script.Reply = func(n int, req *inference.Request) coretest.Answer {
		used := core.Usage{In: tokens(*req), Out: 10}
		if isSummary(*req) {
			return coretest.Answer{}.Say("I have read files.").Use(used)
		}
		if logged := foldAll(t, r.session).messages(); !reflect.DeepEqual(logged, req.Messages) {
			t.Errorf("request %d is not what the log says:\n%s\nand\n%s", n, show(req.Messages), show(logged))
		}
		return reads(s, n, req).Use(used)
	}
	r = start(t, script, setup{boxes: []core.Toolbox{tools.New(tools.Options{})}, dir: s.dir, client: nobody})
	defer r.close()
	got := happened(r.turn("Read the files."))
	if end := got[len(got)-1]; end != "ended end_turn" {
		t.Errorf("it %s", end)
	}
	if all := script.Requests(); len(all) > most {
		t.Errorf("%d requests", len(all))
	}
	if !slices.Contains(got, "text I have seen them.") {
		t.Errorf("the model did not get what it wanted")
	}
	if n := len(asked(script, true)); n > 2 {
		t.Errorf("%d summaries", n)
	}
	var last []inference.Message
	for i, req := range script.Requests() {
		if size := tokens(req); size > window {
			t.Errorf("request %d has %d tokens", i, size)
		}
		if isSummary(req) {
			last = nil
			continue
		}
		if last != nil && (len(req.Messages) < len(last) || !reflect.DeepEqual(req.Messages[:len(last)], last)) {
			t.Errorf("request %d does not begin with the one before it", i)
		}
		last = req.Messages
	}
}

// Of the results of one step the newest get most, and small ones stay whole.
func TestDivide(t *testing.T) {
	for _, test := range []struct {
		sizes []int
		room  int
		want  []int
	}{
		{[]int{100, 200}, 1000, []int{100, 200}},
		{[]int{1000, 1000}, 1000, []int{400, 600}},
		{[]int{1000, 10, 1000}, 1010, []int{375, 10, 625}},
		{[]int{5, 5}, 0, []int{0, 0}},
		{nil, 10, []int{}},
	} {
		if got := divide(test.sizes, test.room); !slices.Equal(got, test.want) {
			t.Errorf("%v in %d: %v, want %v", test.sizes, test.room, got, test.want)
		}
	}
}

// again reads all files whenever it is not shown one of them as a whole.
func (s *shelf) again(n int, r *inference.Request) coretest.Answer {
	newest := s.look(r)
	a := coretest.Answer{}.Say("I read all.")
	for i, lines := range s.files {
		if strings.Count(newest[s.path(i)], "\n") < len(lines)-1 {
			a = s.read(a, n, i, 0, 0)
		}
	}
	return a
}

// A turn in which the model only repeats its calls is summarized twice. Then a person says whether
// it goes on, and it ends where nobody can be asked.
func TestTurnWithoutProgressAsks(t *testing.T) {
	for name, test := range map[string]struct {
		client    core.Client
		replies   []string
		summaries int
	}{
		"nobody can be asked": {nobody, nil, 2},
		"the user stops":      {core.Client{Name: "editor", Asks: true, Questions: true}, []string{"stop"}, 2},
		"the user goes on":    {core.Client{Name: "editor", Asks: true, Questions: true}, []string{"go_on", "stop"}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			shelf := newShelf(t, 4, 50)
			script := &coretest.Script{Is: inference.ModelInfo{ID: "script/model", Window: 32_000, Tools: true}}
			script.Reply = func(n int, req *inference.Request) coretest.Answer {
				used := core.Usage{In: tokens(*req), Out: 10}
				if isSummary(*req) {
					return coretest.Answer{}.Say("I have read files.").Use(used)
				}
				return shelf.again(n, req).Use(used)
			}
			r := start(t, script, setup{boxes: []core.Toolbox{tools.New(tools.Options{})}, dir: shelf.dir, client: test.client})
			defer r.close()
			id := r.prompt("Read the files.")
			var end core.TurnEnded
			r.read(func(ev core.Event) bool {
				switch e := ev.(type) {
				case core.Asked:
					reply := core.Reply{Outcome: core.OutcomeAnswered, Option: test.replies[0]}
					test.replies = test.replies[1:]
					if err := r.session.Answer(t.Context(), e.Ask.ID, reply); err != nil {
						t.Error(err)
					}
				case core.TurnEnded:
					end = e
				}
				return end.Turn == id
			})
			if end.Stop != core.StopLimit || !strings.Contains(end.Err, "only repeated calls") || len(test.replies) > 0 {
				t.Errorf("%+v", end)
			}
			if n := len(asked(script, true)); n != test.summaries {
				t.Errorf("%d summaries", n)
			}
			if n := len(script.Requests()); n > 4+4*test.summaries {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// What a user attaches is cut to the window, and the user is told what the model does not get. The
// chat goes on.
func TestLargeMessageIsCut(t *testing.T) {
	var lines strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&lines, "line %d\n", i+1)
	}
	script := &coretest.Script{Is: inference.ModelInfo{ID: "script/model", Window: 8_000, Tools: true}}
	script.Reply = func(_ int, req *inference.Request) coretest.Answer {
		return coretest.Answer{}.Say("ok").Use(core.Usage{In: tokens(*req), Out: 10})
	}
	r := start(t, script, setup{client: nobody})
	defer r.close()
	blocks := []core.Block{core.Text{Text: "Sum it up."}, core.Resource{URI: "file:///w/big.log", Text: lines.String()}}
	id, err := r.session.Prompt(t.Context(), core.Prompt{Blocks: blocks})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(happened(r.until(id)), "\n")
	said := regexp.MustCompile(`warning: The model's window has no room for the whole message\. The model does not get (lines \d+–\d+)\.`).FindStringSubmatch(got)
	if said == nil || !strings.HasSuffix(got, "ended end_turn") {
		t.Fatalf("got:\n%s", got)
	}
	sent := script.Requests()[0]
	text := sent.Messages[0].Blocks[1].(core.Resource).Text
	if !strings.HasPrefix(text, "line 1\nline 2\n") || !strings.HasSuffix(text, "\nline 19999\nline 20000\n") || !strings.Contains(text, "\n[… "+said[1]+" left out") {
		t.Errorf("the model was sent %d bytes: %.100s", len(text), text)
	}
	if n := tokens(sent); n > 7_300 || n < 7_000 {
		t.Errorf("%d tokens", n)
	}
	r.turn("Go on.")
	if all := script.Requests(); isSummary(all[len(all)-1]) || tokens(all[len(all)-1]) > 8_000 {
		t.Errorf("the next request has %d tokens", tokens(all[len(all)-1]))
	}
}

// Results of other tools say how to get the rest as well: from the file that keeps it, or by asking
// for less. What is no text is left out as a whole.
func TestNotesOnWhatIsMissing(t *testing.T) {
	line := strings.Repeat("0123456789 ", 9) + "\n"
	long := core.Text{Text: strings.Repeat(line, 600)}
	picture := core.Image{MIME: "image/png", Data: []byte("x")}
	for name, test := range map[string]struct {
		spec   core.Spec
		result core.Result
		want   string
	}{
		"a file keeps it": {
			core.Spec{Server: core.Native, Name: "run", Kind: core.KindExecute},
			core.Result{Blocks: []core.Block{long}, Spill: "spill:output-1.txt"},
			`lines \d+–\d+ left out: no room in the model's window; the whole is in spill:output-1.txt, for read_file and grep …\]\n`,
		},
		"a server": {
			core.Spec{Server: "srv", Name: "dump", ReadOnly: true},
			core.Result{Blocks: []core.Block{core.Text{Text: "first\n"}, long, picture, core.Text{Text: "last"}}},
			`^first\n.*lines \d+–\d+ left out: no room in the model's window; ask for less at once to see the rest …\]\n.*last$`,
		},
		"pictures": {
			core.Spec{Server: "srv", Name: "dump", ReadOnly: true},
			core.Result{Blocks: slices.Repeat([]core.Block{picture}, 9)},
			`\[… \d pictures or the like left out: no room in the model's window; ask for less at once to see the rest …\]`,
		},
		"one line": {
			core.Spec{Server: core.Native, Name: "view", ReadOnly: true, Offset: "from", Limit: "count"},
			core.Result{Blocks: []core.Block{core.Text{Text: strings.Repeat("€", 20_000)}}},
			`€\n\[… \d\d,\d\d\d bytes of line 7 left out: no room in the model's window; search in the file to see parts of it …\]\n€`,
		},
		"a range": {
			core.Spec{Server: core.Native, Name: "view", ReadOnly: true, Offset: "from", Limit: "count"},
			core.Result{Blocks: []core.Block{long, core.Text{Text: "[go on with offset 607]"}}},
			`lines \d+–(\d+) left out: no room in the model's window; to read them, use from \d+ and count \d+, or parts of that …\]\n.*\[go on with offset 607\]$`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			script := coretest.NewScript(coretest.Answer{}.Call("x1", inference.ToolName(test.spec.Server, test.spec.Name), `{"from":"7"}`), coretest.Answer{}.Say("ok"))
			script.Is = inference.ModelInfo{ID: "script/model", Window: 8_000, Tools: true, Images: true}
			r := start(t, script, setup{options: mini(Options{}), client: nobody, tools: []core.Tool{coretest.Tool{Is: test.spec, Runs: func(context.Context, core.Invocation) (core.Result, error) {
				return test.result, nil
			}}}})
			defer r.close()
			r.turn("Run it.")
			sent := script.Requests()[1]
			got := said(sent.Messages[len(sent.Messages)-1].Result.Blocks, 1<<20)
			if !regexp.MustCompile("(?s)"+test.want).MatchString(got) || !utf8.ValidString(got) {
				t.Errorf("the model was sent %d bytes:\n%.1500s\n…\n%s", len(got), got, got[max(0, len(got)-300):])
			}
			if n := tokens(sent); n > 6_100 || n < 3_000 {
				t.Errorf("%d tokens", n)
			}
			if u := foldAll(t, r.session); !reflect.DeepEqual(u.messages()[:3], sent.Messages) {
				t.Errorf("the log says:\n%s", show(u.messages()))
			}
		})
	}
}

// A model whose window is smaller than it was thought to be refuses the results of a step: they are
// cut until it takes them.
func TestOverflowCutsTheStep(t *testing.T) {
	shelf := newShelf(t, 4, 50)
	refused := 0
	script := &coretest.Script{}
	script.Reply = func(n int, req *inference.Request) coretest.Answer {
		if tokens(*req) > 12_000 {
			refused++
			return coretest.Answer{Err: &inference.Error{Kind: inference.ErrContextLength, Model: "script/model"}}
		}
		if isSummary(*req) {
			return coretest.Answer{}.Say("I have read files.")
		}
		return shelf.ends(n, req)
	}
	r := start(t, script, setup{boxes: []core.Toolbox{tools.New(tools.Options{})}, dir: shelf.dir, client: nobody})
	defer r.close()
	got := happened(r.turn("Read the files."))
	if end := got[len(got)-2:]; !slices.Equal(end, []string{"text I have seen them.", "ended end_turn"}) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	if n := len(script.Requests()); refused == 0 || refused > 3 || n > 8 {
		t.Errorf("%d requests, %d of them refused", n, refused)
	}
}

// Results of a turn that was stopped before the model saw them are cut in the next one.
func TestResultsOfAStoppedTurnAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := &coretest.Script{Is: inference.ModelInfo{ID: "script/model", Window: 8_000, Tools: true}}
		script.Reply = func(n int, req *inference.Request) coretest.Answer {
			if n == 0 {
				return coretest.Answer{}.Call("x1", "look", `{}`).Call("x2", "look", `{}`)
			}
			return coretest.Answer{}.Say("ok").Use(core.Usage{In: tokens(*req), Out: 10})
		}
		r := start(t, script, setup{options: mini(Options{}), tools: []core.Tool{tool("look", func(ctx context.Context, inv core.Invocation) (core.Result, error) {
			if inv.Call == "x2" {
				<-ctx.Done()
				return core.Result{}, ctx.Err()
			}
			return core.Result{Blocks: words("BEGIN" + strings.Repeat("\nmore", 20_000) + "\nEND")}, nil
		})}})
		defer r.close()
		id := r.prompt("Look.")
		synctest.Wait()
		if err := r.session.Cancel(t.Context(), id, nil); err != nil {
			t.Fatal(err)
		}
		r.until(id)
		if got := happened(r.turn("Go on.")); got[len(got)-1] != "ended end_turn" {
			t.Errorf("got %q", got)
		}
		sent := script.Requests()[1]
		text := said(sent.Messages[2].Result.Blocks, 1<<20)
		if n := tokens(sent); n > 8_000 || !strings.HasPrefix(text, "BEGIN\n") || !strings.HasSuffix(text, "\nEND") {
			t.Errorf("%d tokens: %.60s", n, text)
		}
		if again := foldAll(t, r.session).messages(); !reflect.DeepEqual(again[:len(sent.Messages)], sent.Messages) {
			t.Errorf("the log says:\n%.2000s", show(again))
		}
	})
}
