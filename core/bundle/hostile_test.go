package bundle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"dragoman/core"
	"dragoman/core/bundle"
	"dragoman/core/codec"
	"dragoman/core/coretest"
	"dragoman/core/jsonl"
)

// notice is a record of a session.
func notice(epoch, seq uint64) string {
	return fmt.Sprintf(`r {"e":%d,"s":%d,"t":"2026-01-02T15:04:05Z","k":"notice","v":{"severity":"info","text":"x"}}`, epoch, seq)
}

// A file that is not as it should be is refused, and leaves no session and no file.
func TestHostileFiles(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	whole := []string{head("a"), `s "a"`, opened("a", folder)}
	with := func(more ...string) []byte { return packed(t, append(whole[:3:3], more...)...) }
	good := with()
	goodText := unpacked(t, good)
	changed := bytes.Clone(good)
	changed[len(changed)/2] ^= 1
	cases := map[string]struct {
		file []byte
		want string
	}{
		"nothing":             {nil, "it is damaged, or not a file"},
		"another file":        {[]byte("PK\x03\x04 and so on"), "it is damaged, or not a file"},
		"text":                {[]byte(goodText), "it is damaged, or not a file"},
		"half":                {good[:len(good)/2], "it is damaged, or not a file"},
		"a changed byte":      {changed, "it is damaged, or not a file|flate: corrupt"},
		"something behind it": {append(bytes.Clone(good), 'x'), "something follows its end"},
		"another file behind": {append(bytes.Clone(good), good...), "something follows its end"},
		"lines behind":        {zipped(t, goodText+notice(0, 2)+"\n"), "something follows its end"},
		"another checksum":    {zipped(t, strings.Replace(goodText, `"/w"`, `"/v"`, 1)), "its checksum is another one"},
		"no checksum":         {zipped(t, strings.Join(whole, "\n")+"\n"), "it is damaged, or not a file"},
		"no line":             {zipped(t, long), "it is damaged, or not a file"},
		"another line":        {with("x {}"), "it is damaged, or not a file"},
		"an empty line":       {with(""), "it is damaged, or not a file"},

		"a later version":      {packed(t, strings.Replace(head("a"), `n":1`, `n":2`, 1), whole[1], whole[2]), "version 2"},
		"another format":       {packed(t, strings.Replace(head("a"), "session", "log", 1), whole[1], whole[2]), "it is damaged, or not a file"},
		"no first line":        {packed(t, whole[1:]...), "it is damaged, or not a file"},
		"two first lines":      {packed(t, head("a"), head("a")), "it is damaged, or not a file"},
		"no session":           {packed(t, head()), "0 sessions"},
		"a session is missing": {packed(t, append([]string{head("a", "b")}, whole[1:]...)...), "it is damaged, or not a file"},
		"another session":      {packed(t, head("a"), `s "b"`, opened("b", folder)), "it is damaged, or not a file"},
		"another id":           {packed(t, head("a"), `s "a"`, opened("b", folder)), "it is damaged, or not a file"},
		"a session twice":      {packed(t, head("a", "a"), whole[1], whole[2], whole[1], whole[2]), "two of its sessions"},
		"no records":           {packed(t, head("a"), `s "a"`), "no records"},
		"a record before":      {packed(t, head("a"), whole[2]), "it is damaged, or not a file"},

		"an empty id":       {packed(t, head(""), `s ""`, opened("", folder)), "is empty"},
		"an id of a line":   {packed(t, head("a\nb"), `s "a\nb"`, opened("a\nb", folder)), "cannot be seen"},
		"an id with NUL":    {packed(t, head("a\x00b"), `s "a\u0000b"`, opened("a\x00b", folder)), "cannot be seen"},
		"an id that turns":  {packed(t, head("a\u202eb"), `s "a\u202eb"`, opened("a\u202eb", folder)), "cannot be seen"},
		"an id of 257":      {packed(t, head(long[:257]), `s `+quoted(long[:257]), opened(long[:257], folder)), "257 bytes"},
		"an id of 1 MB":     {packed(t, head(long), `s `+quoted(long), opened(long, folder)), "1048576 bytes"},
		"a thousand copies": {packed(t, head(strings.Split(strings.Repeat("a ", 1001), " ")...)), "sessions; 1 to"},

		"no parent":       {packed(t, head("a", "b"), whole[1], whole[2], `s "b"`, opened("b", folder)), "belongs to no session"},
		"its own parent":  {packed(t, head("a", "b"), whole[1], whole[2], `s "b"`, opened("b", folder+`,"parent":"b"`)), "belongs to no session"},
		"a later parent":  {packed(t, head("a", "b", "c"), whole[1], whole[2], `s "b"`, opened("b", folder+`,"parent":"c"`)), "belongs to no session"},
		"another parent":  {packed(t, head("a", "b"), whole[1], whole[2], `s "b"`, opened("b", folder+`,"parent":"mine"`)), "belongs to no session"},
		"forks":           {packed(t, head("a"), whole[1], opened("a", folder+`,"forks":-1`)), "copy of -1"},
		"a gap":           {with(notice(0, 3)), "does not follow"},
		"twice":           {with(notice(0, 1)), "number of an earlier one"},
		"number 0":        {with(notice(0, 0)), "number of an earlier one"},
		"earlier epoch":   {with(notice(2, 2), notice(1, 3)), "earlier epoch"},
		"the last epoch":  {with(notice(1<<64-1, 2)), "no log is so long"},
		"opened twice":    {with(strings.Replace(opened("a", folder), `"s":1`, `"s":2`, 1)), "it is damaged, or not a file"},
		"no record":       {with(`r {"e":1}`), "it is damaged, or not a file"},
		"a live record":   {with(`r {"e":0,"s":2,"k":"phase","v":{"kind":"waiting"}}`), "it is damaged, or not a file"},
		"a huge hole":     {with(`r {"e":0,"s":2,"k":"missing","v":{"records":18446744073709551615,"text":"x"}}`), "no log is so long|number of an earlier one"},
		"another text":    {with(`r {"e":0,"s":2,"k":"text","v":{"id":"m1","text":"ab"}}`, `r {"e":0,"s":2,"o":2,"k":"text","v":{"id":"m2","text":"ab"}}`), "continues another text"},
		"hides the later": {with(`r {"e":0,"s":2,"k":"truncated","v":{"after":"0-9-0"}}`), "hides records behind itself"},

		"no folder":          {packed(t, head("a"), `s "a"`, opened("a", "")), "no absolute path"},
		"a relative folder":  {packed(t, head("a"), `s "a"`, opened("a", `,"cwd":"w"`)), "no absolute path"},
		"a folder above":     {packed(t, head("a"), `s "a"`, opened("a", `,"cwd":"/w/../etc"`)), "no absolute path"},
		"a relative root":    {packed(t, head("a"), `s "a"`, opened("a", `,"cwd":"/w","roots":["/w","../x"]`)), "no absolute path"},
		"a folder with NUL":  {packed(t, head("a"), `s "a"`, opened("a", `,"cwd":"/w\u0000"`)), "no plain path"},
		"a folder of lines":  {packed(t, head("a"), `s "a"`, opened("a", `,"cwd":"/w\n/x"`)), "no plain path"},
		"a folder of 1 MB":   {packed(t, head("a"), `s "a"`, opened("a", `,"cwd":"/`+long+`"`)), "no plain path"},
		"thousands of roots": {packed(t, head("a"), `s "a"`, opened("a", `,"cwd":"/w","roots":[`+strings.Repeat(`"/w",`, 1000)+`"/w"]`)), "1 to 1000"},

		"cut output up":        {with(`f {"name":"../x","size":1}`, "x"), "no name"},
		"cut output anywhere":  {with(`f {"name":"/tmp/x","size":1}`, "x"), "no name"},
		"cut output below":     {with(`f {"name":"a/b","size":1}`, "x"), "no name"},
		"cut output backwards": {with(`f {"name":"..\\x","size":1}`, "x"), "no name"},
		"cut output hidden":    {with(`f {"name":".x","size":1}`, "x"), "no name"},
		"cut output unnamed":   {with(`f {"size":1}`, "x"), "no name"},
		"cut output with NUL":  {with(`f {"name":"a\u0000b","size":1}`, "x"), "no name"},
		"cut output too long":  {with(`f {"name":`+quoted(long)+`,"size":1}`, "x"), "no name"},
		"cut output twice":     {with(`f {"name":"a","size":1}`, "x", `f {"name":"a","size":1}`, "x"), "two of this name"},
		"cut output by case":   {with(`f {"name":"a","size":1}`, "x", `f {"name":"A","size":1}`, "x"), "two of this name"},
		"cut output first":     {packed(t, head("a"), `s "a"`, `f {"name":"a","size":1}`, "x"), "it is damaged, or not a file"},
		"a negative size":      {with(`f {"name":"a","size":-1}`, "x"), "it is damaged, or not a file"},
		"a size too small":     {with(`f {"name":"a","size":1}`, "xy"), "it is damaged, or not a file"},
		"a size too large":     {with(`f {"name":"a","size":99999999999}`, "x"), "it is damaged, or not a file"},

		"a bomb of cut output": {with(`f {"name":"a","size":8388608}`, strings.Repeat("\x00", 8<<20)), "more than 4 MiB"},
		"a bomb of one line":   {with(`r {"e":0,"s":2,"k":"notice","v":{"text":"` + strings.Repeat("x", 8<<20)), "more than 4 MiB"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			_, err := into(t, s, c.file, bundle.Options{Max: 4 << 20})
			if err == nil {
				t.Fatal("it was imported")
			}
			right := false
			for want := range strings.SplitSeq(c.want, "|") {
				right = right || strings.Contains(err.Error(), want)
			}
			if !right || len(err.Error()) > 1000 {
				t.Errorf("%.2000v\nwant %q", err, c.want)
			}
			if _, err := bundle.Read(t.Context(), bytes.NewReader(c.file), bundle.Options{Max: 4 << 20, Now: now}, nil); err == nil {
				t.Error("a check finds nothing")
			}
			empty(t, s)
		})
	}
	if _, err := into(t, store(t), good, bundle.Options{}); err != nil {
		t.Errorf("the file that is as it should be: %v", err)
	}
}

// empty checks that a store has neither a session nor a file of one.
func empty(t *testing.T, s *jsonl.Store) {
	t.Helper()
	for sum := range s.List(t.Context(), core.Local) {
		t.Errorf("there is %+v", sum)
	}
	_ = filepath.WalkDir(filepath.Join(s.Dir(), "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("%s is left", path)
		}
		return nil
	})
}

// Any piece of a file is refused.
func TestHalfFiles(t *testing.T) {
	from := store(t)
	kept(t, from, core.Meta{ID: "main"}, map[string]string{"a.txt": "text"}, coretest.Conversation(1, 2)[1:]...)
	file := export(t, from, "main")
	s := store(t)
	for n := range len(file) {
		if n > 200 && n < len(file)-200 && n%97 > 0 {
			continue
		}
		if _, err := bundle.Read(t.Context(), bytes.NewReader(file[:n]), bundle.Options{Now: now}, nil); err == nil {
			t.Errorf("the first %d of %d bytes are accepted", n, len(file))
		}
	}
	empty(t, s)
}

// Much that is open at once would fill the memory of whoever opens the session.
func TestOpenCallsAreBounded(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	lines := []string{head("a"), `s "a"`, opened("a", folder)}
	for i := range 65 {
		lines = append(lines, fmt.Sprintf(`r {"e":0,"s":%d,"k":"call","v":{"id":"c%d","turn":"t","server":"native","tool":"x","kind":"read","state":"proposed","why":"%s"}}`, i+2, i, text))
	}
	_, err := bundle.Read(t.Context(), bytes.NewReader(packed(t, lines...)), bundle.Options{Now: now}, nil)
	if err == nil || !strings.Contains(err.Error(), "open at once") {
		t.Error(err)
	}
}

// An import that is given up leaves nothing.
func TestImportStops(t *testing.T) {
	from, s := store(t), store(t)
	kept(t, from, core.Meta{ID: "main"}, nil, coretest.Conversation(1, 2)[1:]...)
	ctx, stop := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	a := s.Receive()
	_, err := bundle.Read(ctx, bytes.NewReader(export(t, from, "main")), bundle.Options{Now: now, Principal: core.Local, Folders: func(roots []string) ([]string, error) {
		stop(gone)
		return roots, nil
	}}, a)
	if !errors.Is(err, gone) {
		t.Error(err)
	}
	if err := a.Abort(); err != nil {
		t.Error(err)
	}
	empty(t, s)
}

// No kind of event brings along what counts here, whatever is in it.
func TestNothingCounts(t *testing.T) {
	from, to := store(t), store(t)
	later := time.Now().Add(1000 * time.Hour).UTC()
	hidden := core.Resource{URI: codec.ForeignBlock + "diff", MIME: "application/json", Text: `{"type":"diff","path":"/w/x","new":"","old":"evil"}`}
	more := []core.Event{
		core.SettingsChanged{Settings: core.Settings{Agent: "wide", Model: "m/x", Trust: true, Choices: `{"mode":"bypass"}`}},
		core.TurnStarted{Turn: "t8", Key: "k", Passing: -7, Prompt: []core.Block{hidden}, Origin: core.Origin{Principal: "root", Caller: core.Caller(strings.Repeat("c", 300))}},
		core.CallChanged{Call: core.Call{ID: "c8", Server: core.Native, State: core.Succeeded, Start: later, End: later, Child: "mine", Content: []core.Block{hidden, core.Terminal{ID: "t"}}}},
		core.TurnEnded{Turn: "t8", Login: "claude"},
	}
	var events []core.Event
	for _, ev := range append(coretest.Samples()[1:], more...) {
		if _, live := ev.(core.Phase); !live {
			events = append(events, ev)
		}
	}
	kept(t, from, core.Meta{ID: "main"}, nil, events...)
	imported(t, to, export(t, from, "main"))
	if was, is := len(records(t, from, "main")), len(records(t, to, "main")); is != was+2 {
		t.Errorf("%d records, were %d", is, was)
	}
	for _, r := range records(t, to, "main") {
		if r.Time.After(now) {
			t.Errorf("record %d is of %v", r.Seq, r.Time)
		}
		switch e := r.Event.(type) {
		case core.Unknown:
			t.Errorf("%+v is kept", e)
		case core.Foreign:
			if e.Protocol != "" || e.Method != "" || len(e.Raw) > 0 && string(e.Raw) != "null" || e.Text == "" {
				t.Errorf("%+v", e)
			}
		}
		walk(reflect.ValueOf(r.Event), func(v reflect.Value) {
			switch x := v.Interface().(type) {
			case core.Origin:
				if x.Principal != core.Local || x.Caller != "" && !strings.HasPrefix(string(x.Caller), "file:") || len(x.Caller) > 200 {
					t.Errorf("%+v", x)
				}
			case core.Reply:
				if x.Remember != "" || x.Principal != core.Local || x.Caller != "" && !strings.HasPrefix(string(x.Caller), "file:") {
					t.Errorf("%+v", x)
				}
			case core.Settings:
				if x.Trust || x.Choices != "" {
					t.Errorf("%+v", x)
				}
			case core.Bound:
				if len(x.State) > 0 {
					t.Errorf("%+v", x)
				}
			case core.Offered:
				if x.Agent != "" || len(x.Choices) > 0 || len(x.Commands) > 0 {
					t.Errorf("%+v", x)
				}
			case core.TurnEnded:
				if x.Login != "" {
					t.Errorf("%+v", x)
				}
			case core.TurnStarted:
				if x.Key != "" || x.Passing < 0 || x.Passing > len(x.Prompt) {
					t.Errorf("%+v", x)
				}
			case core.PromptQueued:
				if x.Key != "" {
					t.Errorf("%+v", x)
				}
			case core.Call:
				if x.Start.After(now) || x.End.After(now) || x.Child != "" {
					t.Errorf("%+v", x)
				}
			case core.ThoughtEnded:
				if len(x.Sealed) > 0 {
					t.Errorf("%+v", x)
				}
			case core.Diff:
				if !x.Shown {
					t.Errorf("%+v", x)
				}
			case core.Terminal:
				t.Errorf("%+v", x)
			}
		})
	}
}

// walk visits a value and all below it.
func walk(v reflect.Value, look func(reflect.Value)) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() || v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	if v.CanInterface() && v.Kind() == reflect.Struct {
		look(v)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), look)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), look)
		}
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), look)
		}
	}
}
