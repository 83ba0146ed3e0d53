package imports

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"dragoman/core/display"
)

// registryServer is a server.json of the MCP registry: one server, with the packages and the
// addresses that have it. https://github.com/modelcontextprotocol/registry
type registryServer struct {
	Name     string
	Packages []registryPackage
	Remotes  []registryRemote
}

type registryPackage struct {
	RegistryType, Identifier, Version, RuntimeHint string
	Transport                                      struct{ Type string }
	RuntimeArguments, PackageArguments             []registryInput
	EnvironmentVariables                           []registryInput
}

type registryRemote struct {
	Type, TransportType, URL string
	Headers                  []registryInput
	Variables                map[string]registryInput
}

// registryInput is an argument, a variable or a header.
type registryInput struct {
	Type, Name, ValueHint, Description string
	Value, Default                     any
	IsRequired, IsSecret               bool
	Variables                          map[string]registryInput
}

// isRegistry reports whether a file is a server.json, or an answer of the registry, which contains
// one.
func isRegistry(_ settingsFile, top settingsObject) bool {
	if inner, ok := top["server"]; ok && top["mcpServers"] == nil {
		_, top, _ = members(inner) //nolint:errcheck // then it is none
	}
	return top["name"] != nil && (top["packages"] != nil || top["remotes"] != nil)
}

func registryServers(f settingsFile, top settingsObject) (all settings, err error) {
	raw, err := json.Marshal(top)
	if inner, ok := top["server"]; ok {
		raw = inner
	}
	if err != nil {
		return all, err
	}
	var r registryServer
	name := "server"
	s := f.readAs(name, raw, &r, func(s *candidate) serverEntry {
		s.original = r.Name
		return r.entry(s)
	})
	if r.Name != "" {
		s.name = serverNameOf(r.Name)
	}
	all.servers = []candidate{s}
	return all, nil
}

// UnmarshalJSON accepts names with underscores, as in earlier versions of the form.
func (r *registryServer) UnmarshalJSON(text []byte) error {
	type plain registryServer
	var any any
	if err := decode(text, &any); err != nil {
		return err
	}
	folded, err := json.Marshal(withoutUnderscores(any))
	if err != nil {
		return err
	}
	return json.Unmarshal(folded, (*plain)(r))
}

// withoutUnderscores removes the underscores from the names of members that are ours. The names of
// variables are kept.
func withoutUnderscores(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			if strings.ToLower(name) == "variables" {
				out[name] = value
				continue
			}
			out[strings.ReplaceAll(name, "_", "")] = withoutUnderscores(value)
		}
		return out
	case []any:
		for i := range v {
			v[i] = withoutUnderscores(v[i])
		}
	}
	return v
}

// entry returns the first package that can be started, else the first address, in the form that
// most programs share.
func (r registryServer) entry(s *candidate) serverEntry {
	var chosen *serverEntry
	for _, p := range r.Packages {
		name := cmp.Or(p.RegistryType, "unknown") + " package " + display.Line(p.Identifier, 100)
		e, why := p.entry(s, chosen != nil)
		switch {
		case why != "":
			s.note("the %s is not imported: %s", name, why)
		case chosen != nil:
			s.note("the %s is not imported: one package is enough", name)
		default:
			chosen = &e
		}
	}
	slices.SortStableFunc(r.Remotes, func(a, b registryRemote) int { return a.rank() - b.rank() })
	for _, remote := range r.Remotes {
		if chosen != nil {
			s.note("its address %s is not imported; \"mcp-servers add NAME --url\" adds it", display.Line(remote.URL, 200))
			continue
		}
		e := remote.entry(s)
		chosen = &e
	}
	if chosen == nil {
		s.err = errors.New("it has no package and no address that can be used")
		return serverEntry{}
	}
	return *chosen
}

// rank puts Streamable HTTP first.
func (r registryRemote) rank() int {
	if strings.HasPrefix(cmp.Or(r.Type, r.TransportType), "streamable") {
		return 0
	}
	return 1
}

// entry returns the server of a package; why is the reason why it cannot be started. other is set if
// there is a server already, so that nothing is asked for this one.
func (p registryPackage) entry(s *candidate, other bool) (e serverEntry, why string) {
	programs := map[string]struct {
		hints []string
		start func(identifier, version string) []string
	}{
		"npm":   {[]string{"npx", "bunx"}, func(id, v string) []string { return []string{"npx", "-y", at(id, "@", v)} }},
		"pypi":  {[]string{"uvx", "pipx"}, func(id, v string) []string { return []string{"uvx", at(id, "@", v)} }},
		"nuget": {[]string{"dnx"}, func(id, v string) []string { return []string{"dnx", at(id, "@", v), "--yes", "--"} }},
		"oci":   {[]string{"docker", "podman"}, func(id, v string) []string { return []string{"docker", "run", "-i", "--rm", at(id, ":", v)} }},
	}
	kind, ok := programs[strings.ToLower(p.RegistryType)]
	switch {
	case p.Identifier == "":
		return e, "it has no identifier"
	case !ok:
		return e, "nothing here starts such a package"
	case p.Transport.Type != "" && p.Transport.Type != "stdio":
		return e, "it does not speak on standard input and output"
	case strings.HasPrefix(p.Identifier, "-"):
		return e, "its identifier begins like an option"
	case other:
		return e, ""
	}
	if p.RuntimeHint != "" && p.RuntimeHint != kind.hints[0] {
		s.note("it is started with %s, not with %s", kind.hints[0], display.Line(p.RuntimeHint, 40))
	}
	start := kind.start(p.Identifier, p.Version)
	e.envFrom = map[string]string{}
	for _, v := range p.EnvironmentVariables {
		if value, ok := v.value(s, "env."+v.Name); ok {
			e.envFrom[v.Name] = value
		}
	}
	var args []string
	runtime := registryArgs(s, "runtimeArguments", p.RuntimeArguments)
	if last := len(start) - 1; strings.EqualFold(p.RegistryType, "oci") {
		args = append(literals(start[1:last]), runtime...)
		for _, name := range slices.Sorted(maps.Keys(e.envFrom)) {
			args = append(args, "-e", literal(name))
		}
		args = append(args, literal(start[last]))
	} else {
		args = append(withoutRepeated(runtime, start[1:]), literals(start[1:])...)
	}
	e.argsFrom = append(args, registryArgs(s, "packageArguments", p.PackageArguments)...)
	e.Command, _ = json.Marshal(start[0]) //nolint:errcheck // a string
	return e, ""
}

// withoutRepeated removes the arguments that are given anyway, such as npx's -y.
func withoutRepeated(args, given []string) []string {
	return slices.DeleteFunc(args, func(a string) bool { return slices.Contains(given, a) })
}

// at joins an identifier and a version, if that is exact and not part of the identifier.
func at(identifier, separator, version string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(identifier, "@"), "/")
	tagged := strings.Contains(rest, separator) || !strings.Contains(identifier, "/") && strings.Contains(identifier, separator)
	if version == "" || version == "latest" || tagged || strings.Contains(identifier, "@sha256:") {
		return identifier
	}
	return identifier + separator + version
}

// registryArgs returns arguments, as texts with references.
func registryArgs(s *candidate, key string, list []registryInput) (args []string) {
	for i, a := range list {
		name := fmt.Sprintf("%s[%d]", key, i)
		switch {
		case a.Type == "named" && a.Value == nil && a.Default == nil && a.Description == "":
			args = append(args, literal(a.Name)) // it takes no value
		case a.Type == "named" && a.Value == nil && a.Default == nil && !a.IsRequired:
			s.note("the option %s (%s) is left out; add it to args", a.Name, display.Line(a.Description, 80))
		default:
			if a.Name == "" {
				a.Name = cmp.Or(a.ValueHint, "argument")
			}
			value, ok := a.value(s, name)
			if !ok {
				continue
			}
			if a.Type == "named" {
				args = append(args, literal(a.Name))
			}
			args = append(args, value)
		}
	}
	return args
}

// entry returns the server at an address.
func (r registryRemote) entry(s *candidate) serverEntry {
	e := serverEntry{Type: cmp.Or(r.Type, r.TransportType), headersFrom: map[string]string{}}
	if address := (registryInput{Name: "URL", Value: r.URL, Variables: r.Variables}); r.URL != "" {
		e.urlFrom, _ = address.value(s, "url")
	}
	for _, h := range r.Headers {
		if value, ok := h.value(s, "headers."+h.Name); ok {
			e.headersFrom[h.Name] = value
		}
	}
	return e
}

var registryVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([A-Za-z_][\w-]*)\}`) })

// value returns the value as a text with references. ok is false for an optional one that is not
// given.
func (i registryInput) value(s *candidate, key string) (text string, ok bool) {
	var p pieces
	ok = i.write(&p, s, key)
	return p.String(), ok
}

// write appends the value: the one that is given, else the default, else a variable of the
// environment, which a person must set.
func (i registryInput) write(to *pieces, s *candidate, key string) (ok bool) {
	given := cmp.Or(i.Value, i.Default)
	if given == nil || i.IsSecret && i.Value == nil {
		what := i.Name
		if i.Description != "" {
			what += " (" + display.Line(i.Description, 80) + ")"
		}
		if !i.IsRequired && !i.IsSecret {
			s.note("%s: %s is optional, and left out", key, what)
			return false
		}
		variable := variableFor(i.Name)
		reference := "${env:" + variable + "}"
		if !i.IsRequired {
			s.note("%s: %s is optional; it is taken from the variable %s if that is set", key, what, variable)
			reference = "${" + variable + ":-}"
		} else {
			s.note("%s: it needs %s; here it is %s: set that variable, or write the value in its place", key, what, reference)
		}
		if err := to.reference(reference); err != nil {
			s.err = fmt.Errorf("%s: %w", key, err)
		}
		return true
	}
	rest := spelled(given)
	for {
		at := registryVariable().FindStringSubmatchIndex(rest)
		if at == nil {
			to.text(rest)
			return true
		}
		name := rest[at[2]:at[3]]
		to.text(rest[:at[0]])
		if v, has := i.Variables[name]; has {
			v.Name, v.IsRequired = name, true
			v.write(to, s, key)
		} else {
			to.text(rest[at[0]:at[1]])
		}
		rest = rest[at[1]:]
	}
}

// variableFor makes the name of a variable from that of an input.
func variableFor(name string) string {
	name = strings.ToUpper(strings.Map(wordOrLine, name))
	if !isVariable(name) {
		return "VALUE_" + name
	}
	return name
}

func literals(list []string) (out []string) {
	for _, s := range list {
		out = append(out, literal(s))
	}
	return out
}

// serverNameOf returns our name for a server of the registry, whose names begin with its owner's
// domain.
func serverNameOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	return name
}
