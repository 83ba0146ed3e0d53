package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"dragoman/core"
	"dragoman/core/display"
	"dragoman/core/files"
	"dragoman/core/ide"
)

const (
	maxItems   = 200 // of an editor's answer
	maxShown   = 50  // files for which the lines of places are shown
	maxMessage = 500 // characters of a diagnostic
)

// errLeft is the error of calls after the editor has disconnected.
var errLeft = errors.New("the editor that offered this has left: go on without it")

var diagnoseSpec = core.Spec{
	Server: core.Native,
	Name:   ide.DiagnosticsTool,
	Title:  "Ask the editor what is wrong",
	Description: "Returns the errors and warnings that the user's editor and its language servers report for a file, or for all that they know " +
		"of. They may lag a little behind a change, and files that were never open may be missing.",
	Schema: []byte(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file. Default: all."}
  },
  "additionalProperties": false
}`),
	Kind:       core.KindRead,
	ReadOnly:   true,
	Idempotent: true,
}

var placeSchema = []byte(`{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The file in which the symbol stands."},
    "line": {"type": "integer", "minimum": 1, "description": "Its line, counted from 1."},
    "symbol": {"type": "string", "description": "The symbol as it is written in that line."},
    "column": {"type": "integer", "minimum": 1, "description": "Instead of symbol: its column, counted from 1."}
  },
  "required": ["path", "line"],
  "additionalProperties": false
}`)

var definitionSpec = core.Spec{
	Server:      core.Native,
	Name:        ide.DefinitionTool,
	Title:       "Find a definition",
	Description: "Asks the language servers of the user's editor where the symbol at a place in a file is defined.",
	Schema:      placeSchema,
	Kind:        core.KindSearch,
	ReadOnly:    true,
	Idempotent:  true,
}

var referencesSpec = core.Spec{
	Server:      core.Native,
	Name:        ide.ReferencesTool,
	Title:       "Find references",
	Description: "Asks the language servers of the user's editor where the symbol at a place in a file is used. Returns at most 200 places.",
	Schema:      placeSchema,
	Kind:        core.KindSearch,
	ReadOnly:    true,
	Idempotent:  true,
}

// ask asks the editor and waits at most ide.Wait: some editors never answer.
func (s *toolset) ask(ctx context.Context, tool string, call ide.Call) (ide.Reply, error) {
	e := ide.Of(s.host.Editor(ide.PathOf(call)))
	if e == nil || !e.Caps().Serves(tool) {
		return nil, errLeft
	}
	wait, stop := context.WithTimeout(ctx, ide.Wait)
	defer stop()
	reply, err := e.Do(wait, call)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && wait.Err() != nil:
		return nil, fmt.Errorf("the editor did not answer within %v: go on without it", ide.Wait)
	case err != nil:
		return nil, fmt.Errorf("ask the editor: %w", err)
	}
	return reply, nil
}

// inside locates a file in the workspace that may be read.
func (s *toolset) inside(path string) (files.Place, error) {
	p, err := s.files.Locate(path)
	switch {
	case err != nil:
		return p, err
	case p.Root == nil:
		return p, fmt.Errorf(
			"%s is outside of the workspace: the editor is asked about what is inside only",
			visible(p.Show),
		)
	}
	return p, s.files.Readable(p)
}

func (s *toolset) prepareDiagnose(_ context.Context, a *args) (*step, error) {
	path := a.optText("path", "")
	if err := a.done(); err != nil {
		return nil, err
	}
	st := &step{Preview: core.Preview{Title: "Ask the editor what is wrong"}}
	call := ide.Diagnose{Session: s.host.Meta().ID}
	about := "in the workspace"
	if path != "" {
		p, err := s.inside(path)
		if err != nil {
			return nil, err
		}
		call.Path, about = p.Name, "in "+visible(p.Show)
		st.Title += " in " + label(p.Show)
		st.Locations, st.Access = []core.Location{{Path: p.Name}}, []core.Access{p.Access(core.OpRead)}
	}
	st.run = func(ctx context.Context, _ core.Invocation) (core.Result, error) {
		reply, err := s.ask(ctx, ide.DiagnosticsTool, call)
		if err != nil {
			return core.Result{}, err
		}
		found, _ := reply.(ide.Diagnostics)
		return s.diagnostics(found.Items, about)
	}
	return st, nil
}

// diagnostics describes the diagnostics, file by file.
func (s *toolset) diagnostics(items []ide.Diagnostic, about string) (core.Result, error) {
	bar, err := s.bar()
	if err != nil {
		return core.Result{}, err
	}
	type item struct {
		ide.Diagnostic
		at files.Place
	}
	var list []item
	outside, barred := 0, 0
	for _, d := range items {
		p, err := s.files.Locate(d.Path)
		if err != nil || p.Root == nil {
			outside++
			continue
		}
		if bar(p.Real) {
			barred++
			continue
		}
		list = append(list, item{d, p})
	}
	slices.SortStableFunc(list, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.at.Name, b.at.Name), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var out strings.Builder
	res := core.Result{}
	shown := 0
	for _, d := range list {
		if shown == maxItems || out.Len() > maxBytes {
			break
		}
		message, _ := display.Clip(visible(d.Message), maxMessage)
		fmt.Fprintf(&out, "%s:%d:%d: %s: %s", visible(d.at.Show), d.Line, d.Column, visible(d.Severity), message)
		if from := strings.TrimSpace(d.Source + " " + d.Code); from != "" {
			from, _ = display.Clip(visible(from), maxMessage)
			fmt.Fprintf(&out, " [%s]", from)
		}
		out.WriteByte('\n')
		if shown++; len(res.Locations) < maxShown {
			res.Locations = append(res.Locations, core.Location{Path: d.at.Name, Line: max(d.Line, 0)})
		}
	}
	if shown == 0 {
		out.WriteString("the editor reports nothing " + about)
	}
	res.Blocks = text(out.String(), notes(
		note(len(list) > shown, fmt.Sprintf("%d more", len(list)-shown)),
		note(outside > 0, fmt.Sprintf("%d outside of the workspace are not shown", outside)),
		barredNote(barred))).Blocks
	return res, nil
}

func (s *toolset) prepareDefinition(ctx context.Context, a *args) (*step, error) {
	return s.prepareLocate(ctx, a, "definition", ide.DefinitionTool)
}

func (s *toolset) prepareReferences(ctx context.Context, a *args) (*step, error) {
	return s.prepareLocate(ctx, a, "references", ide.ReferencesTool)
}

func (s *toolset) prepareLocate(
	_ context.Context, a *args, what, service string,
) (*step, error) {
	path, symbol := a.text("path"), a.optText("symbol", "")
	if !a.given("line") {
		a.fail("argument %q is missing", "line")
	}
	line, column := a.integer("line", 1, 1, 0), a.integer("column", 0, 1, 0)
	if a.given("column") == (symbol != "") {
		a.fail("one of the arguments %q and %q is needed", "symbol", "column")
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	p, err := s.inside(path)
	if err != nil {
		return nil, err
	}
	named, _ := display.Clip(symbol, titleMax/2)
	if named = code(named); symbol == "" {
		named = fmt.Sprintf("column %d", column)
	}
	return &step{
		Preview: core.Preview{
			Title:     fmt.Sprintf("Find the %s of %s in %s line %d", what, named, label(p.Show), line),
			Locations: []core.Location{{Path: p.Name, Line: line}}, Access: []core.Access{p.Access(core.OpRead)},
		},
		run: func(ctx context.Context, _ core.Invocation) (core.Result, error) {
			call := ide.Locate{
				Session:    s.host.Meta().ID,
				Path:       p.Name,
				Line:       line,
				Column:     column,
				References: what == "references",
			}
			if symbol != "" {
				if call.Column, err = s.columnOf(ctx, p, line, symbol); err != nil {
					return core.Result{}, err
				}
			}
			reply, err := s.ask(ctx, service, call)
			if err != nil {
				return core.Result{}, err
			}
			found, _ := reply.(ide.Places)
			return s.places(found)
		},
	}, nil
}

// columnOf finds a symbol in a line, preferably as a whole word. Columns are counted
// like in editors, in UTF-16 units.
func (s *toolset) columnOf(ctx context.Context, p files.Place, line int, symbol string) (int, error) {
	c, err := s.files.Current(ctx, p)
	if err != nil {
		return 0, err
	}
	row, ok := lineOf(c.Text, line)
	if !ok {
		return 0, fmt.Errorf("%s has no line %d", visible(p.Show), line)
	}
	at := wordIndex(row, symbol)
	if at < 0 {
		return 0, fmt.Errorf("%s line %d has no %q: it is %q", visible(p.Show), line, symbol, cutLine([]byte(row), 0))
	}
	return len(utf16.Encode([]rune(row[:at]))) + 1, nil
}

// lineOf returns line n of a text, counted from 1, without its line end.
func lineOf(text string, n int) (string, bool) {
	for ; n > 1; n-- {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return "", false
		}
		text = rest
	}
	row, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(row, "\r"), true
}

// wordIndex returns the offset of a word in a line, preferably as a whole word; -1:
// it is not there.
func wordIndex(line, word string) int {
	part := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; {
		i := strings.Index(line[from:], word)
		if i < 0 {
			return strings.Index(line, word)
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(line[:i])
		after, _ := utf8.DecodeRuneInString(line[i+len(word):])
		if !part(before) && !part(after) {
			return i
		}
		_, n := utf8.DecodeRuneInString(line[i:])
		from = i + n
	}
}

// places describes a list of places, with the text of the lines that are in the
// workspace.
func (s *toolset) places(found ide.Places) (core.Result, error) {
	if len(found.Items) == 0 {
		if found.Why != "" {
			return text("the editor found nothing: " + visible(found.Why)), nil
		}
		return text("the editor found nothing"), nil
	}
	bar, err := s.bar()
	if err != nil {
		return core.Result{}, err
	}
	var out strings.Builder
	var res core.Result
	texts := map[string]string{}
	shown := 0
	for _, it := range found.Items {
		if shown == maxItems || out.Len() > maxBytes {
			break
		}
		shown++
		p, err := s.files.Locate(it.Path)
		if err != nil || p.Root == nil {
			path, _ := display.Clip(visible(it.Path), maxMessage)
			fmt.Fprintf(&out, "%s:%d:%d (outside of the workspace)\n", path, it.Line, it.Column)
			continue
		}
		if bar(p.Real) {
			fmt.Fprintf(&out, "%s:%d:%d (a rule forbids to read it)\n", visible(p.Show), it.Line, it.Column)
			continue
		}
		if files.KeepsKeys(p.Real) {
			fmt.Fprintf(&out, "%s:%d:%d (programs keep keys there)\n", visible(p.Show), it.Line, it.Column)
			continue
		}
		if _, known := texts[p.Real]; !known && len(texts) < maxShown {
			c, err := s.files.OnDisk(p)
			if err != nil {
				c.Text = "" // without the lines, then
			}
			texts[p.Real] = c.Text
		}
		row, _ := lineOf(texts[p.Real], it.Line)
		fmt.Fprintf(&out, "%s:%d:%d: %s\n", visible(p.Show), it.Line, it.Column,
			cutLine([]byte(strings.TrimSpace(row)), 0))
		if len(res.Locations) < maxShown {
			res.Locations = append(res.Locations, core.Location{Path: p.Name, Line: max(it.Line, 0)})
		}
	}
	res.Blocks = text(out.String(), notes(note(len(found.Items) > shown, fmt.Sprintf("%d more", len(found.Items)-shown)))).Blocks
	return res, nil
}
