package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// maxNesting limits the nesting in a TOML text.
const maxNesting = 200

var errTooDeep = errors.New("it is nested too deeply")

// plainTOML returns the JSON of a TOML text. Its members are in the order of their names.
func plainTOML(text []byte) ([]byte, error) {
	depth := 0
	for _, b := range text { // brackets in strings are few
		switch b {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > maxNesting {
			return nil, errTooDeep
		}
	}
	var top map[string]any
	if err := toml.Unmarshal(text, &top); err != nil {
		text := strings.TrimPrefix(err.Error(), "toml: ")
		if at := (*toml.DecodeError)(nil); errors.As(err, &at) {
			line, _ := at.Position()
			text = fmt.Sprintf("line %d: %s", line, text)
		}
		return nil, errors.New(text)
	}
	if deeper(top, maxNesting) { // dotted keys
		return nil, errTooDeep
	}
	return json.Marshal(top)
}

// deeper reports whether a value has more levels than the given ones.
func deeper(v any, levels int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			if levels == 0 || deeper(inner, levels-1) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if levels == 0 || deeper(inner, levels-1) {
				return true
			}
		}
	}
	return false
}

// codexEntry is a table [mcp_servers.NAME] of Codex's config.toml. Texts in it have no variables.
// https://developers.openai.com/codex/mcp
type codexEntry struct {
	Command           json.RawMessage   `json:"command"`
	Args              []any             `json:"args"`
	Env               map[string]any    `json:"env"`
	EnvVars           []json.RawMessage `json:"env_vars"`
	Cwd               string            `json:"cwd"`
	URL               string            `json:"url"`
	BearerTokenEnvVar string            `json:"bearer_token_env_var"`
	HTTPHeaders       map[string]any    `json:"http_headers"`
	EnvHTTPHeaders    map[string]string `json:"env_http_headers"`
	Enabled           *bool             `json:"enabled"`
	StartupTimeoutSec float64           `json:"startup_timeout_sec"`
	StartupTimeoutMS  float64           `json:"startup_timeout_ms"`
	ToolTimeoutSec    float64           `json:"tool_timeout_sec"`
	EnabledTools      *[]string         `json:"enabled_tools"`
	DisabledTools     []string          `json:"disabled_tools"`
	Scopes            []any             `json:"scopes"`
	OAuth             map[string]any    `json:"oauth"`
	ApprovalMode      string            `json:"default_tools_approval_mode"`
	Tools             map[string]struct {
		ApprovalMode string `json:"approval_mode"`
	} `json:"tools"`
}

func codexServers(f settingsFile, top settingsObject) (all settings, err error) {
	if top["mcp_servers"] == nil {
		return all, f.noServers("[mcp_servers.NAME]")
	}
	all.servers, err = f.section(top["mcp_servers"], func(name string, raw json.RawMessage) candidate {
		var c codexEntry
		return f.readAs(name, raw, &c, func(s *candidate) serverEntry { return c.entry(s) })
	})
	return all, err
}

// entry returns the same in the form that most programs share.
func (c codexEntry) entry(s *candidate) serverEntry {
	e := serverEntry{
		Command: c.Command, Args: c.Args, Env: c.Env, Cwd: c.Cwd, URL: c.URL, Headers: c.HTTPHeaders, Enabled: c.Enabled,
		ExcludeTools: c.DisabledTools, IncludeTools: c.EnabledTools, OAuth: c.OAuth,
		startTimeout: times(c.StartupTimeoutSec, time.Second), callTimeout: times(c.ToolTimeoutSec, time.Second),
		envFrom: map[string]string{}, headersFrom: map[string]string{},
	}
	if e.startTimeout == 0 {
		e.startTimeout = times(c.StartupTimeoutMS, time.Millisecond)
	}
	for _, raw := range c.EnvVars {
		var v struct{ Name, Source string }
		if json.Unmarshal(raw, &v.Name) != nil {
			_ = json.Unmarshal(raw, &v) //nolint:errcheck // a variable without a name is reported
		}
		if !isVariable(v.Name) || v.Source == "remote" {
			s.note("env_vars: %s is not imported", string(raw))
			continue
		}
		e.envFrom[v.Name] = "${env:" + v.Name + "}"
	}
	for header, variable := range c.EnvHTTPHeaders {
		e.headersFrom[header] = "${env:" + variable + "}"
	}
	if c.BearerTokenEnvVar != "" {
		e.headersFrom["Authorization"] = "Bearer ${env:" + c.BearerTokenEnvVar + "}"
	}
	if len(c.Scopes) > 0 {
		s.server.OAuth.Scopes = words(c.Scopes)
	}
	approved := c.ApprovalMode == "approve"
	for _, tool := range c.Tools {
		approved = approved || tool.ApprovalMode == "approve"
	}
	if approved {
		e.Trust = json.RawMessage("true")
	}
	return e
}
