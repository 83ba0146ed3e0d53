package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// gooseEntry is an extension of Goose's config.yaml. Only headers have variables.
type gooseEntry struct {
	Type           string         `json:"type"`
	Cmd            string         `json:"cmd"`
	Args           []any          `json:"args"`
	URI            string         `json:"uri"`
	Envs           map[string]any `json:"envs"`
	EnvKeys        []string       `json:"env_keys"`
	Headers        map[string]any `json:"headers"`
	Enabled        *bool          `json:"enabled"`
	Timeout        float64        `json:"timeout"`
	AvailableTools []string       `json:"available_tools"`
}

func gooseServers(f settingsFile, top settingsObject) (all settings, err error) {
	if top["extensions"] == nil {
		return all, f.noServers("extensions")
	}
	all.servers, err = f.section(top["extensions"], func(name string, raw json.RawMessage) candidate {
		var g gooseEntry
		return f.readAs(name, raw, &g, func(s *candidate) serverEntry { return g.entry(s) })
	})
	return all, err
}

// entry returns the same in the form that most programs share.
func (g gooseEntry) entry(s *candidate) serverEntry {
	switch g.Type {
	case "stdio", "sse", "streamable_http":
	case "inline_python":
		s.err = errors.New("it is Python code in the settings; add a program that runs it")
		return serverEntry{}
	default:
		s.skip = "is a part of Goose itself"
		return serverEntry{}
	}
	e := serverEntry{
		Args: g.Args, Env: g.Envs, URL: g.URI, Type: g.Type, Enabled: g.Enabled, Timeout: g.Timeout,
		envFrom: map[string]string{}, headersFrom: map[string]string{},
	}
	e.Command, _ = json.Marshal(g.Cmd) //nolint:errcheck // a string
	if len(g.AvailableTools) > 0 {     // none: all of them
		e.IncludeTools = &g.AvailableTools
	}
	for _, name := range g.EnvKeys {
		if g.Type != "stdio" {
			break // only headers refer to them
		}
		s.note("env.%s: Goose keeps its value; here it is ${env:%s}: set that variable, or write the value in its place", name, name)
		e.envFrom[name] = "${env:" + name + "}"
	}
	if g.Type != "stdio" {
		e.Env = nil
	}
	for header, value := range g.Headers {
		e.headersFrom[header] = g.header(s, header, spelled(value))
	}
	return e
}

// header translates the variables of a header: values of envs, and keys that Goose keeps.
func (g gooseEntry) header(s *candidate, header, text string) string {
	var p pieces
	for {
		at := shellVariable().FindStringSubmatchIndex(text)
		if at == nil {
			p.text(text)
			return p.String()
		}
		match := text[at[0]:at[1]]
		name := strings.Trim(match, "${}")
		p.text(text[:at[0]])
		switch value, given := g.Envs[name]; {
		case given:
			p.text(spelled(value))
		case slices.Contains(g.EnvKeys, name) && isVariable(name):
			s.note("headers.%s: Goose keeps %s; here it is ${env:%s}: set that variable, or write the value in its place", header, name, name)
			if err := p.reference("${env:" + name + "}"); err != nil {
				s.err = fmt.Errorf("headers.%s: %w", header, err)
			}
		default:
			p.text(match)
		}
		text = text[at[1]:]
	}
}
