package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/configs"
	"dragoman/configs/jsonc"
)

// dialect is the form of a program's settings.
type dialect struct {
	// has reports whether a file is of this form.
	has func(f settingsFile, top settingsObject) bool
	// servers reads the servers; nil: standardServers.
	servers func(f settingsFile, top settingsObject) (settings, error)
	// keys are those of an entry that are translated, or have no meaning here, besides knownKeys.
	keys []string
	// timeout is the unit of timeout; 0: it is unknown.
	timeout time.Duration
	// variables finds the variables in texts, whose names are in the groups; nil: they are ${…}.
	variables func() *regexp.Regexp
	// variable translates one of them; nil: translation.variable.
	variable func(t *translation, key, match string) (value string, reference bool, err error)
}

// settingsObject is a JSON object by its members.
type settingsObject = map[string]json.RawMessage

// settings are the servers of a file in their order, and notes about the file as a whole.
type settings struct {
	servers []candidate
	notes   []string
}

// dialects lists the forms; the first one that fits counts, and the last one always does.
func dialects() []dialect {
	base := func(names ...string) func(settingsFile, settingsObject) bool {
		return func(f settingsFile, _ settingsObject) bool { return slices.Contains(names, filepath.Base(f.path)) }
	}
	below := func(folders ...string) func(settingsFile, settingsObject) bool {
		return func(f settingsFile, _ settingsObject) bool {
			return slices.Contains(folders, filepath.Base(filepath.Dir(f.path)))
		}
	}
	return []dialect{
		{ // Codex
			servers: codexServers, variables: nothing,
			keys: []string{
				"enabled_tools", "disabled_tools", "env_vars", "http_headers", "env_http_headers", "bearer_token_env_var", "scopes",
				"startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec", "tools", "default_tools_approval_mode", "name",
			},
			has: func(f settingsFile, top settingsObject) bool {
				return top["mcp_servers"] != nil || filepath.Ext(f.path) == ".toml"
			},
		},
		{ // Goose
			servers: gooseServers, variables: nothing, timeout: time.Second,
			keys: []string{"name", "display_name", "cmd", "uri", "envs", "env_keys", "available_tools", "bundled"},
			has:  func(f settingsFile, top settingsObject) bool { return isYAML(f.path) && top["mcpServers"] == nil },
		},
		{ // the registry
			servers: registryServers, variables: nothing, has: isRegistry,
			keys: []string{
				"$schema", "_meta", "name", "title", "websiteUrl", "icons", "repository", "status", "version_detail", "packages", "remotes",
			},
		},
		{ // opencode
			servers: opencodeServers, timeout: time.Millisecond, keys: []string{"environment"},
			variables: openVariable, variable: (*translation).openVariable,
			has: base("opencode.json", "opencode.jsonc"),
		},
		{ // Claude Code
			servers: claudeServers, timeout: time.Millisecond,
			has: base(".claude.json", ".mcp.json"),
		},
		{ // Gemini CLI
			servers: geminiServers, timeout: time.Millisecond,
			variables: shellVariable, variable: (*translation).shellVariable,
			has: below(".gemini", "gemini-cli"),
		},
		{ // Zed
			timeout: time.Second,
			has:     func(_ settingsFile, top settingsObject) bool { return top["context_servers"] != nil },
		},
		{has: func(settingsFile, settingsObject) bool { return true }},
	}
}

var (
	nothing       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\s\S]`) })
	shellVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(?:(\w+)|\{([^}]+)\})`) })
	openVariable  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(?:env|file):([^}]*)\}`) })
)

func isYAML(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// plainText returns the JSON of a settings file.
func plainText(path string, text []byte) ([]byte, error) {
	switch {
	case filepath.Ext(path) == ".toml":
		return plainTOML(text)
	case isYAML(path):
		return configs.PlainYAML(text)
	}
	return jsonc.Plain(text)
}

// shellVariable translates $NAME and ${NAME}. The program leaves those as they are that are not set.
func (t *translation) shellVariable(key, match string) (value string, reference bool, err error) {
	groups := shellVariable().FindStringSubmatch(match)
	name := groups[1] + groups[2]
	if _, set := t.env(name); !set && (!isVariable(name) || strings.ToUpper(name) != name) {
		t.notes.note("%s: %s is imported as plain text, because no such variable is set", key, match)
		return match, false, nil
	} else if !set {
		t.notes.note("%s: the variable %s is not set now; the server needs it", key, name)
	}
	return "${env:" + name + "}", true, nil
}

// openVariable translates {env:NAME}. It refuses {file:PATH}.
func (t *translation) openVariable(_, match string) (value string, reference bool, err error) {
	name := openVariable().FindStringSubmatch(match)[1]
	if strings.HasPrefix(match, "{file:") {
		return "", false, fmt.Errorf("%s reads a file; add the server with ${file:PATH} if you want that", match)
	}
	if !isVariable(name) {
		return "", false, errors.New(match + " is no variable")
	}
	return "${env:" + name + "}", true, nil
}

// standardServers reads the form that most programs share.
func standardServers(f settingsFile, top settingsObject) (all settings, err error) {
	f.learnInputs(top["inputs"])
	sections := []json.RawMessage{top["mcpServers"], top["servers"], top["context_servers"]}
	if _, mcp, err := members(top["mcp"]); err == nil { // VS Code's settings.json
		f.learnInputs(mcp["inputs"])
		sections = append(sections, mcp["servers"])
	}
	found := false
	for _, section := range sections {
		if section == nil {
			continue
		}
		found = true
		list, err := f.section(section, f.read)
		if err != nil {
			return all, err
		}
		all.servers = append(all.servers, list...)
	}
	if !found {
		return all, f.noServers("mcpServers, servers, mcp.servers and context_servers")
	}
	return all, nil
}

func (f settingsFile) noServers(keys string) error {
	return fmt.Errorf("%s contains no MCP servers: it has none of %s", f.path, keys)
}

// section reads the servers of an object, in their order.
func (f settingsFile) section(raw json.RawMessage, read func(string, json.RawMessage) candidate) ([]candidate, error) {
	names, entries, err := members(raw)
	if err != nil {
		return nil, fmt.Errorf("read the servers in %s: %w", f.path, err)
	}
	list := []candidate{}
	for _, name := range names {
		list = append(list, read(name, entries[name]))
	}
	return list, nil
}
