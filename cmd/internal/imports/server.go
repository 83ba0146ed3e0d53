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

// settingsFile is the settings file of another program that starts MCP servers: Claude Desktop
// and Code, Cursor and others (mcpServers), VS Code (servers, or mcp.servers), Zed
// (context_servers) and ECA (mcpServers).
type settingsFile struct {
	path string
	// project is the folder that the settings belong to; "": they belong to a user.
	project string
	env     configs.Env
	inputs  map[string]string // values that VS Code asks for, by id
}

// candidate is a server of such settings, translated.
type candidate struct {
	name   string // our name
	server configs.MCPServer
	notes  []string // for the user
	// reaches describes the files it reads and the commands it runs for its values.
	reaches []string
	err     error // the reason why it cannot be imported
}

// readServers reads the servers of another program's settings, in their order. path is
// absolute.
func readServers(path string, text []byte, env configs.Env) ([]candidate, error) {
	f := settingsFile{
		path:    path,
		project: projectOf(path, program.Home(env)),
		env:     env,
		inputs:  map[string]string{},
	}
	text, err := configs.PlainJSON(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	_, top, err := members(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	f.learnInputs(top["inputs"])
	sections := []json.RawMessage{top["mcpServers"], top["servers"], top["context_servers"]}
	if _, mcp, err := members(top["mcp"]); err == nil { // VS Code's settings.json
		f.learnInputs(mcp["inputs"])
		sections = append(sections, mcp["servers"])
	}
	var all []candidate
	found := false
	for _, section := range sections {
		if section == nil {
			continue
		}
		found = true
		names, entries, err := members(section)
		if err != nil {
			return nil, fmt.Errorf("read the servers in %s: %w", path, err)
		}
		for _, name := range names {
			all = append(all, f.read(name, entries[name]))
		}
	}
	if !found {
		return nil, fmt.Errorf(
			"%s contains no MCP servers: it has none of mcpServers, servers, mcp.servers and context_servers",
			path,
		)
	}
	return all, nil
}

// projectOf returns the project folder of a settings file; "" for a user's.
func projectOf(path, home string) string {
	dir := filepath.Dir(path)
	switch filepath.Base(dir) {
	case ".vscode", ".cursor", ".zed", ".eca":
		dir = filepath.Dir(dir)
	default:
		if filepath.Base(path) != ".mcp.json" {
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
}

// knownKeys are the keys of an entry that are translated, or have no meaning here: for
// marketplaces, and for showing or debugging a server in an editor.
var knownKeys = []string{
	"type", "transport", "command", "args", "env", "url", "serverurl", "httpurl", "headers", "disabled", "enabled",
	"cwd", "envfile", "timeout", "sandboxenabled", "settings", "autoapprove", "alwaysallow", "trust",
	"clientid", "clientsecret", "oauthport", "oauth", "auth",
	"source", "gallery", "version", "dev", "description", "icon", "sandbox",
}

// read translates one server.
func (f settingsFile) read(name string, raw json.RawMessage) candidate {
	s := candidate{name: name}
	keys, _, err := members(raw)
	var e serverEntry
	if err == nil {
		err = decode(raw, &e)
	}
	if err == nil {
		err = oldZed(&e)
	}
	if err != nil {
		if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) && kind.Field != "" {
			err = fmt.Errorf("%s cannot be a %s", strings.ToLower(kind.Field), kind.Value)
		}
		s.name, s.err = display.Line(name, 64), fmt.Errorf("its entry is in a form that is not known: %w", err)
		return s
	}
	if s.name = configs.ServerName(name); s.name != name {
		s.note("it is called %s here", s.name)
	}
	s.err = f.translate(e, &s)
	for _, key := range keys {
		if !slices.Contains(knownKeys, strings.ToLower(key)) {
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
	url := cmp.Or(e.URL, e.ServerURL, e.HTTPURL)
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
	if e.Timeout > 0 && strings.Contains(f.path, "zed") { // in milliseconds there; other programs differ
		s.server.CallTimeout = max(time.Duration(e.Timeout)*time.Millisecond, time.Second)
	} else if e.Timeout > 0 {
		s.note("timeout is not imported; use call_timeout")
	}
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
	to.Env, err = t.secrets("env", e.Env)
	return err
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
