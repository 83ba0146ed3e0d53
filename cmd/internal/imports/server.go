package imports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/cmd/internal/program"
	"dragoman/configs"
	"dragoman/core/display"
)

// settingsFile is the settings file of another program that starts MCP servers.
type settingsFile struct {
	path string
	// project is the folder that the settings belong to; "": they belong to a user.
	project string
	cwd     string // the current folder
	env     configs.Env
	inputs  map[string]string // values that VS Code asks for, by id
	dialect dialect
}

// candidate is a server of such settings, translated.
type candidate struct {
	name     string // our name
	original string // the one in the settings
	server   configs.MCPServer
	notes    []string // for the user
	skip     string   // the reason why it is left out, which is no error; "": it is not
	// reaches describes the files it reads and the commands it runs for its values.
	reaches []string
	err     error // the reason why it cannot be imported
}

// readServers reads the servers of another program's settings. path is absolute, and cwd the
// current folder.
func readServers(path, cwd string, text []byte, env configs.Env) (settings, error) {
	f := settingsFile{
		path:    path,
		project: projectOf(path, program.Home(env)),
		cwd:     cwd,
		env:     env,
		inputs:  map[string]string{},
	}
	text, err := plainText(path, bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		return settings{}, fmt.Errorf("read %s: %w", path, err)
	}
	_, top, err := members(text)
	if err != nil {
		return settings{}, fmt.Errorf("read %s: %w", path, err)
	}
	for _, f.dialect = range dialects() {
		if f.dialect.has(f, top) {
			break
		}
	}
	if f.dialect.servers == nil {
		return standardServers(f, top)
	}
	return f.dialect.servers(f, top)
}

// projectOf returns the project folder of a settings file; "" for a user's.
func projectOf(path, home string) string {
	dir := filepath.Dir(path)
	switch filepath.Base(dir) {
	case ".vscode", ".cursor", ".zed", ".eca", ".gemini", ".codex", ".opencode":
		dir = filepath.Dir(dir)
	case "opencode": // ~/.config/opencode
		return ""
	default:
		switch filepath.Base(path) {
		case ".mcp.json", "opencode.json", "opencode.jsonc":
		default:
			return ""
		}
	}
	if dir == home {
		return ""
	}
	return dir
}

// learnInputs records the values that VS Code asks a person for.
func (f *settingsFile) learnInputs(raw json.RawMessage) {
	var list []struct{ ID, Description string }
	if json.Unmarshal(raw, &list) == nil {
		for _, in := range list {
			f.inputs[in.ID] = in.Description
		}
	}
}

// serverEntry is a server in the form of any of these programs.
type serverEntry struct {
	Type, Transport                 string
	Command                         json.RawMessage
	Args                            []any
	Env                             map[string]any
	URL, ServerURL, HTTPURL         string
	Headers                         map[string]any
	Disabled                        bool
	Enabled                         *bool
	Cwd, EnvFile                    string
	Timeout                         float64
	SandboxEnabled                  bool
	ClientID, ClientSecret          string         // ECA
	OAuthPort                       int            // ECA
	OAuth, Auth                     map[string]any // VS Code, Zed, Claude Code; Cursor
	AutoApprove, AlwaysAllow, Trust json.RawMessage
	Settings                        json.RawMessage
	IncludeTools                    *[]string // Gemini; nil: all
	ExcludeTools, DisabledTools     []string  // Gemini; Windsurf

	// The rest comes from other forms. The texts in the maps and in argsFrom are ours, with
	// references.
	startTimeout, callTimeout time.Duration
	envFrom, headersFrom      map[string]string
	argsFrom                  []string
	urlFrom                   string
}

// knownKeys are the keys of an entry that are translated, or have no meaning here: for
// marketplaces, and for showing or debugging a server in an editor.
var knownKeys = []string{
	"type", "transport", "command", "args", "env", "url", "serverurl", "httpurl", "headers", "disabled", "enabled",
	"cwd", "envfile", "timeout", "sandboxenabled", "settings", "autoapprove", "alwaysallow", "trust",
	"clientid", "clientsecret", "oauthport", "oauth", "auth", "includetools", "excludetools", "disabledtools",
	"source", "gallery", "version", "dev", "description", "icon", "sandbox",
}

// read translates one server of the form that most programs share.
func (f settingsFile) read(name string, raw json.RawMessage) candidate {
	var e serverEntry
	return f.readAs(name, raw, &e, func(s *candidate) serverEntry {
		s.err = oldZed(&e)
		return e
	})
}

// readAs translates one server of a form: to receives its entry, which entry then returns in the
// form that most programs share.
func (f settingsFile) readAs(name string, raw json.RawMessage, to any, entry func(*candidate) serverEntry) candidate {
	s := candidate{name: name, original: name}
	keys, _, err := members(raw)
	if err == nil {
		err = decode(raw, to)
	}
	var e serverEntry
	if err == nil {
		e = entry(&s)
		if s.skip != "" {
			s.name = display.Line(name, 64)
			return s
		}
		err = s.err
	}
	if err != nil {
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) && kind.Field != "" {
			err = fmt.Errorf("%s cannot be a %s", strings.ToLower(kind.Field), kind.Value)
		}
		if s.err == nil {
			err = fmt.Errorf("its entry is in a form that is not known: %w", err)
		}
		s.name, s.err = display.Line(name, 64), err
		return s
	}
	if s.name = configs.ServerName(name); s.name != name {
		s.note("it is called %s here", s.name)
	}
	s.err = f.translate(e, &s)
	for _, key := range keys {
		if !slices.Contains(knownKeys, strings.ToLower(key)) && !slices.Contains(f.dialect.keys, key) {
			s.note("%s is not imported", display.Line(key, 40))
		}
	}
	return s
}

func (s *candidate) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// decode decodes JSON and keeps numbers as written.
func decode(raw json.RawMessage, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(to)
}

// spelled returns a value as a text; nil becomes the empty text.
func spelled(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// oldZed reads {"command": {"path": …, "args": […], "env": {…}}}.
func oldZed(e *serverEntry) error {
	var old struct {
		Path string
		Args []any
		Env  map[string]any
	}
	if len(e.Command) == 0 || e.Command[0] != '{' {
		return nil
	}
	err := decode(e.Command, &old)
	if err != nil {
		return err
	}
	e.Command, err = json.Marshal(old.Path)
	if e.Args == nil {
		e.Args = old.Args
	}
	if e.Env == nil {
		e.Env = old.Env
	}
	return err
}

func (f settingsFile) translate(e serverEntry, s *candidate) error {
	var command string
	if len(e.Command) > 0 && string(e.Command) != "null" {
		if err := json.Unmarshal(e.Command, &command); err != nil {
			return errors.New("its command is not a string")
		}
	}
	url := cmp.Or(e.HTTPURL, e.ServerURL, e.URL, e.urlFrom)
	kind := strings.ToLower(cmp.Or(e.Type, e.Transport))
	switch {
	case command == "" && url == "" && e.Settings != nil:
		return errors.New(
			"it is an extension of its editor, which starts it in its own way; add the program that it starts",
		)
	case command == "" && url == "":
		return errors.New("it has neither a command nor a url")
	case (Entry{Command: command}).Ours():
		return errors.New("it is dragoman itself")
	}
	s.server.Disabled = e.Disabled || e.Enabled != nil && !*e.Enabled
	f.timeouts(e, s)
	s.tools(e)
	t := &translation{settingsFile: f, notes: s, given: map[string]bool{}}
	for name := range e.Env {
		t.given[name] = true
	}
	var err error
	if url != "" && (command == "" || kind == "http" || kind == "sse" || strings.HasPrefix(kind, "streamable")) {
		err = t.address(url, kind, e)
	} else {
		err = t.program(command, e)
	}
	s.leftOut(e)
	return err
}

// timeouts translates how long a server may take. Ours are at least a second.
func (f settingsFile) timeouts(e serverEntry, s *candidate) {
	unit := f.dialect.timeout
	switch {
	case e.Timeout > 0 && unit == 0:
		s.note("timeout is not imported, since its unit is not known; use call_timeout")
	case e.Timeout > 0 && e.callTimeout == 0:
		e.callTimeout = times(e.Timeout, unit)
	}
	for _, t := range []struct {
		key  string
		from time.Duration
		to   *time.Duration
	}{{"start_timeout", e.startTimeout, &s.server.StartTimeout}, {"call_timeout", e.callTimeout, &s.server.CallTimeout}} {
		if t.from <= 0 {
			continue
		}
		if *t.to = min(max(t.from, time.Second), maxTimeout); *t.to != t.from {
			s.note("%s is %v here, instead of %v", t.key, *t.to, t.from)
		}
	}
}

// maxTimeout is the longest timeout that is imported: longer ones mean none.
const maxTimeout = 24 * time.Hour

// times returns n units. Of a number that is too large for a Duration it returns a Duration of more
// than maxTimeout.
func times(n float64, unit time.Duration) time.Duration {
	return time.Duration(min(n*float64(unit), float64(10*maxTimeout)))
}

// tools translates the lists of tools that are offered and not offered.
func (s *candidate) tools(e serverEntry) {
	s.server.WithoutTools = slices.Concat(e.ExcludeTools, e.DisabledTools)
	if e.IncludeTools == nil {
		return
	}
	for _, tool := range *e.IncludeTools {
		name, _, _ := strings.Cut(tool, "(") // Gemini's NAME(ARGUMENT)
		if name != tool {
			s.note("the tool %s is imported as %s", display.Line(tool, 80), display.Line(name, 80))
		}
		s.server.Tools = append(s.server.Tools, name)
	}
	if len(s.server.Tools) == 0 {
		s.server.WithoutTools = []string{"*"}
		s.note("its list of tools is empty, so none is offered here either")
	}
}

// leftOut reports the parts of an entry that have no counterpart here.
func (s *candidate) leftOut(e serverEntry) {
	if e.EnvFile != "" {
		s.note("envFile (%s) is not imported: add its variables under env", display.Line(e.EnvFile, 80))
	}
	if e.SandboxEnabled {
		s.note("it ran in its editor's sandbox; here it runs with your rights")
	}
	for _, raw := range []json.RawMessage{e.AutoApprove, e.AlwaysAllow, e.Trust} {
		if len(raw) > 0 && string(raw) != "[]" && string(raw) != "false" && string(raw) != "null" {
			s.note("what ran there without a question is asked about here; the policy can allow it")
			break
		}
	}
}

// address translates a server with an address.
func (t *translation) address(url, kind string, e serverEntry) (err error) {
	to := &t.notes.server
	text, err := t.plain("url", url)
	if e.urlFrom != "" {
		text, err = e.urlFrom, nil
	}
	if err != nil {
		return err
	}
	to.URL = configs.NewURL(text)
	path, _, _ := strings.Cut(url, "?")
	switch {
	case kind == "sse":
		to.Transport = "sse"
	case kind == "" && strings.HasSuffix(strings.TrimRight(path, "/"), "/sse"):
		to.Transport = "sse"
		t.notes.note("it is spoken to as SSE, since its address says so")
	}
	if to.Headers, err = t.secrets("headers", e.Headers); err != nil {
		return err
	}
	for name, value := range e.headersFrom {
		to.Headers[name] = configs.NewSecret(value)
	}
	return t.login(e)
}

// login translates the settings for a login that the server itself does not provide.
func (t *translation) login(e serverEntry) error {
	to := &t.notes.server.OAuth
	said := map[string]any{"clientid": e.ClientID, "clientsecret": e.ClientSecret, "port": e.OAuthPort}
	for _, object := range []map[string]any{e.OAuth, e.Auth} {
		for key, value := range object {
			said[strings.ReplaceAll(strings.ToLower(key), "_", "")] = value
		}
	}
	id, err := t.plain("oauth.client_id", spelled(said["clientid"]))
	if err != nil {
		return err
	}
	if id == "" {
		return nil
	}
	secret, err := t.expand("oauth.client_secret", spelled(said["clientsecret"]), true)
	if err != nil {
		return err
	}
	to.ClientID, to.ClientSecret = configs.NewValue(id), configs.NewSecret(secret)
	switch scopes := cmp.Or[any](said["scopes"], said["scope"]).(type) {
	case string:
		to.Scopes = strings.Fields(scopes)
	case []any:
		to.Scopes = words(scopes)
	}
	for _, key := range []string{"port", "callbackport", "redirectport"} {
		if port, err := strconv.Atoi(spelled(said[key])); err == nil && port != 0 {
			to.RedirectPort = port
		}
	}
	where := "http://127.0.0.1:PORT/callback, any port"
	if to.RedirectPort != 0 {
		where = fmt.Sprintf("http://127.0.0.1:%d/callback", to.RedirectPort)
	}
	t.notes.note("a login comes back to %s: the client %s must allow that", where, display.Line(id, 60))
	return nil
}

// program translates a server that is a program.
func (t *translation) program(command string, e serverEntry) (err error) {
	to := &t.notes.server
	if err := t.folder(e.Cwd); err != nil {
		return err
	}
	if command, err = t.command(command); err != nil {
		return err
	}
	to.Command = configs.NewValue(command)
	for i, arg := range e.Args {
		word, err := t.plain(fmt.Sprintf("args[%d]", i), fmt.Sprint(arg))
		if err != nil {
			return err
		}
		to.Args = append(to.Args, configs.NewValue(word))
	}
	for _, arg := range e.argsFrom {
		to.Args = append(to.Args, configs.NewValue(arg))
	}
	if to.Env, err = t.secrets("env", e.Env); err != nil {
		return err
	}
	for name, value := range e.envFrom {
		to.Env[name] = configs.NewSecret(value)
	}
	return nil
}

func (t *translation) secrets(kind string, of map[string]any) (map[string]configs.Secret, error) {
	all := map[string]configs.Secret{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		value := of[name]
		if value == nil { // VS Code: the variable is removed
			t.notes.note("%s.%s is null, and is left out", kind, display.Line(name, 60))
			continue
		}
		text, err := t.secret(kind, name, fmt.Sprint(value))
		if err != nil {
			return nil, err
		}
		all[name] = configs.NewSecret(text)
	}
	return all, nil
}
