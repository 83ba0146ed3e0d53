package configs

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/core/display"
)

// checkValues checks each setting against its tags and its type.
func checkValues(c *Config) []Problem {
	ck := &checker{c: c}
	visit(reflect.ValueOf(c).Elem(), "", field{}, ck.setting)
	return ck.problems
}

// checkWhole checks settings against each other, after all layers are merged: a layer may
// refer to the content of another one.
func checkWhole(c *Config) (problems, warnings []Problem) {
	ck := &checker{c: c}
	ck.model("model", c.Model)
	for i, spec := range c.Fallback {
		ck.model(fmt.Sprintf("fallback[%d]", i), spec)
	}
	for name, a := range c.Agents {
		ck.agent(name, a)
	}
	ck.defaultAgent()
	for name, p := range c.Providers {
		ck.provider(name, p)
	}
	for name, s := range c.MCPServers {
		ck.server(join("mcp_servers", name), s)
	}
	ck.literalKeys()
	for i, name := range c.Policy.Env {
		if short := strings.TrimSuffix(name, "*"); short == "" || strings.ContainsAny(short, "*=$ \t\n") {
			ck.fail(
				fmt.Sprintf("policy.env[%d]", i),
				fmt.Sprintf("%q is not the name of a variable; write it as in SSH_AUTH_SOCK or AWS_*", name),
			)
		}
	}
	ck.age("sessions.archive_after", c.Sessions.ArchiveAfter)
	ck.age("sessions.delete_after", c.Sessions.DeleteAfter)
	if c.Policy.Default == "allow" {
		ck.warn("policy.default", "lets every tool call that no rule matches run without a question")
	}
	return ck.problems, ck.warnings
}

// age refuses what is easily written in the wrong unit: sessions would be gone.
func (ck *checker) age(key string, d time.Duration) {
	if d > 0 && d < day {
		ck.fail(key, "must be at least 1d, or 0s for never, got "+formatDuration(d))
	}
}

type checker struct {
	c        *Config
	problems []Problem
	warnings []Problem
}

func (ck *checker) fail(key, message string) {
	ck.problems = append(ck.problems, Problem{Position: ck.c.near(key), Key: key, Message: message})
}

func (ck *checker) warn(key, message string) {
	ck.warnings = append(ck.warnings, Problem{Position: ck.c.near(key), Key: key, Message: message})
}

func (ck *checker) written(key string) bool {
	_, ok := ck.c.where[key]
	return ok
}

func (ck *checker) setting(key string, is field, v reflect.Value) {
	switch shapeOf(v.Type()) {
	case shapeString:
		ck.stringValue(key, is, v.String())
	case shapeText:
		ck.text(key, is, v.Interface())
	case shapeInt, shapeDuration:
		if !v.IsZero() || ck.written(key) {
			ck.bounds(key, is, v)
		}
	case shapeStruct:
		if strings.HasSuffix(key, "]") || strings.Contains(key, ".") {
			ck.choice(key, v)
		}
	case shapeMap:
		for _, name := range v.MapKeys() {
			if message := badName(is.names, name.String()); message != "" {
				ck.fail(join(key, name.String()), message)
			}
		}
	case shapeBool, shapeNumber, shapeList:
	}
}

func (ck *checker) stringValue(key string, is field, s string) {
	switch {
	case s == "" && (is.emptyOK || !ck.written(key) || ck.failed(key)):
	case s == "":
		ck.fail(key, "must not be empty; remove the key to leave it out")
	case is.enum != nil && !slices.Contains(is.enum, s):
		ck.fail(key, "must be "+oneOf(is.enum)+", got "+quote(s)+cmp.Or(DidYouMean(s, is.enum), is.other))
	case strings.Contains(s, "${env:") || strings.Contains(s, "${file:") || strings.Contains(s, "${cmd:"):
		ck.fail(key, "references are not expanded in this setting")
	case is.pattern != nil:
		if message := is.pattern(s); message != "" {
			ck.fail(key, message)
		}
	}
}

// failed reports whether decoding already complained about a setting, which
// therefore looks as if it were empty.
func (ck *checker) failed(key string) bool { return ck.c.bad[key] }

func (ck *checker) text(key string, is field, v any) {
	raw := v.(readable).written()
	if raw == "" {
		if !is.emptyOK && ck.written(key) && !ck.failed(key) {
			ck.fail(key, "must not be empty; remove the key to leave it out")
		}
		return
	}
	parts, err := v.(interface{ split() ([]part, error) }).split()
	if err != nil {
		ck.fail(key, err.Error())
		return
	}
	if slices.ContainsFunc(parts, func(p part) bool { return p.kind == "cmd" }) {
		_, isSecret := v.(Secret)
		from := v.(interface{ from() *origin }).from()
		switch {
		case !isSecret || strings.Contains(key, ".options."):
			ck.fail(key, notASecret)
		case from == nil || !from.own:
			ck.fail(key, notOwn)
		}
	}
	if _, isURL := v.(URL); isURL && !slices.ContainsFunc(parts, func(p part) bool { return p.kind != "" }) {
		if message := badURL(raw); message != "" {
			ck.fail(key, message)
		}
	}
}

func (ck *checker) bounds(key string, is field, v reflect.Value) {
	if ck.failed(key) {
		return
	}
	n := v.Int()
	if is.min != "" && n < number(v, is.min) {
		ck.fail(key, "must be at least "+is.min+", got "+formatNumber(v))
	}
	if is.max != "" && n > number(v, is.max) {
		ck.fail(key, "must be at most "+is.max+", got "+formatNumber(v))
	}
}

// number reads a bound or a default in the unit of v.
func number(v reflect.Value, s string) int64 {
	if shapeOf(v.Type()) == shapeDuration {
		d, _ := ParseDuration(s) // a test parses every tag
		return int64(d)
	}
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// formatNumber writes a number, a duration or a boolean in the form of a file.
func formatNumber(v reflect.Value) string {
	if shapeOf(v.Type()) == shapeDuration {
		return formatDuration(time.Duration(v.Int()))
	}
	if v.CanFloat() {
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// choice checks which of a struct's alternatives are set.
func (ck *checker) choice(key string, v reflect.Value) {
	exactly, atLeast := choices(v.Type())
	names := slices.Concat(exactly, atLeast)
	if names == nil {
		return
	}
	set := 0
	for _, f := range fieldsOf(v.Type()) {
		if slices.Contains(names, f.name) && (!v.Field(f.index).IsZero() || ck.written(join(key, f.name))) {
			set++
		}
	}
	switch {
	case set == 0 && ck.failed(key):
	case set == 0 && exactly != nil:
		ck.fail(key, "needs "+oneOf(names))
	case set == 0:
		ck.fail(key, "needs at least one of "+oneOf(names))
	case set > 1 && exactly != nil:
		ck.fail(key, "takes only one of "+strings.Join(names, " and "))
	}
}

// badName returns the problem of a name that the user has chosen, or "".
func badName(kind, name string) string {
	word := func(r rune) bool { return isWord(r) || r == '-' }
	switch {
	case kind == "header":
		// The characters of a token, RFC 9110 section 5.6.2.
		if name == "" ||
			strings.ContainsFunc(
				name,
				func(r rune) bool { return !word(r) && !strings.ContainsRune("!#$%&'*+.^`|~", r) },
			) {
			return "is not the name of an HTTP header"
		}
	case kind == "variable":
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '=' || r == 0x7f }) {
			return "is not the name of an environment variable"
		}
	case kind == "model":
		if name == "" || strings.ContainsAny(name, " \t\r\n") {
			return "is not the name of a model"
		}
	case kind == "name":
		if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return !word(r) }) {
			return "a name is 1 to 64 letters, digits, - and _"
		}
	}
	return ""
}

func (ck *checker) model(key, spec string) {
	if spec == "" || strings.Contains(spec, "${") { // the latter is a problem of its own
		return
	}
	if _, message := ck.c.parseModel(spec); message != "" {
		ck.fail(key, message)
	}
}

func (ck *checker) provider(name string, p Provider) {
	key := join("providers", name)
	_, known := KnownProvider(name)
	switch {
	case name == OfflineProvider:
		ck.fail(key, "the name is taken by the built-in demo model")
	case !known && p.BaseURL.IsZero() && !strings.HasPrefix(p.Kind, "langchain/") && p.Kind != "replay" && p.Kind != "mcp-sampling" && !ck.written(join(key, "base_url")) && !ck.failed(key):
		ck.fail(
			key,
			"needs base_url, for it is not a known name ("+strings.Join(knownNames(), ", ")+")"+DidYouMean(name, knownNames()),
		)
	}
	if known || ck.c.Model != "" || len(p.Models) > 0 {
		return
	}
	if !slices.ContainsFunc(ck.agentModels(), func(m string) bool { return strings.HasPrefix(m, name+"/") }) {
		ck.warn(key, "is never chosen by itself, and no model setting names it; write model: "+name+"/MODEL")
	}
}

func (ck *checker) agentModels() []string {
	var specs []string
	for _, a := range ck.c.Agents {
		specs = append(specs, a.Model)
	}
	return specs
}

func (ck *checker) server(key string, s MCPServer) {
	if key == serverKey(nativeServer) {
		ck.fail(key, "the name is taken by dragoman's own tools")
	}
	if s.Command.IsZero() && !s.URL.IsZero() {
		for name, set := range map[string]bool{"args": len(s.Args) > 0, "env": len(s.Env) > 0, "sandbox": s.Confined(), "write": len(s.Write) > 0} {
			if set {
				ck.fail(join(key, name), "belongs to a command, and this server has a url")
			}
		}
	}
	if s.URL.IsZero() && !s.Command.IsZero() && len(s.Headers) > 0 {
		ck.fail(join(key, "headers"), "belongs to a url; a command takes env")
	}
	ck.oauth(key, s)
	first, _, several := strings.Cut(s.Command.raw(), " ")
	if several && len(s.Args) == 0 && !strings.ContainsAny(first, `/\$`) {
		ck.warn(
			join(key, "command"),
			"looks like a whole command line; only the program belongs here, the rest in args",
		)
	}
}

func (ck *checker) oauth(key string, s MCPServer) {
	at := join(key, "oauth")
	switch {
	case s.OAuth.IsZero():
		return
	case s.URL.IsZero() && !s.Command.IsZero():
		ck.fail(at, "belongs to a url; a command takes env")
	}
	if s.OAuth.ClientID.IsZero() && (!s.OAuth.ClientSecret.IsZero() || !s.OAuth.Issuer.IsZero()) {
		ck.fail(at, "client_secret and issuer belong to a client_id, which is missing")
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			ck.warn(at, "is not used: the header Authorization is sent in the place of a login")
		}
	}
}

// literalKeys warns of keys that other people can read: in the file, or on the way to the server.
// Each reason is given once, for the first such key.
func (ck *checker) literalKeys() {
	written := []string{}
	for name, p := range ck.c.Providers {
		key := join("providers", name)
		written = append(written, secretKeys(join(key, "headers"), p.Headers)...)
		if isLiteral(p.APIKey) {
			written = append(written, join(key, "api_key"))
		}
		if (!p.APIKey.IsZero() || len(p.Headers) > 0) && isPlainRemote(p.BaseURL) {
			ck.warn(join(key, "base_url"), "sends the key over the network without encryption; use https")
		}
	}
	for name, s := range ck.c.MCPServers {
		key := join("mcp_servers", name)
		written = append(written, secretKeys(join(key, "headers"), s.Headers)...)
		written = append(written, secretKeys(join(key, "env"), s.Env)...)
		if isLiteral(s.OAuth.ClientSecret) {
			written = append(written, join(join(key, "oauth"), "client_secret"))
		}
		if len(s.Headers) > 0 && isPlainRemote(s.URL) {
			ck.warn(join(key, "url"), "sends the headers over the network without encryption; use https")
		}
	}
	for name, a := range ck.c.Agents {
		program, setting := a.Program()
		written = append(written, secretKeys(join(join(join("agents", name), setting), "env"), program.Env)...)
	}
	slices.SortFunc(written, func(a, b string) int {
		pa, pb := ck.c.near(a), ck.c.near(b)
		return cmp.Or(cmp.Compare(pa.Line, pb.Line), cmp.Compare(a, b))
	})
	for _, key := range written {
		if at, ok := ck.c.Where(key); ok && ck.c.shared[at.File] {
			ck.warn(key, "the key is written out in a file that other users can read; run chmod 600 "+at.File)
			return
		}
	}
}

// nativeServer is the server of dragoman's own tools in rules.
const nativeServer = "native"

// PlainSecrets lists the settings of a server that look like secrets in plain text: keys below
// its entry, such as env.TOKEN, and args[1].
func (s MCPServer) PlainSecrets() []string {
	keys := slices.Concat(secretKeys("env", s.Env), secretKeys("headers", s.Headers))
	slices.Sort(keys)
	if isLiteral(s.OAuth.ClientSecret) {
		keys = append(keys, "oauth.client_secret")
	}
	flag := false // the argument before names a secret
	for i, arg := range s.Args {
		name, value, both := strings.Cut(arg.String(), "=")
		names := strings.HasPrefix(name, "-") && display.SecretName("args."+name)
		switch {
		case names && both && value != "" && !arg.refers(value),
			flag && !strings.HasPrefix(name, "-") && !arg.hasReference():
			keys = append(keys, index("args", i))
		}
		flag = names && !both
	}
	if _, query, ok := strings.Cut(s.URL.raw(), "?"); ok && !s.URL.refers(query) &&
		slices.ContainsFunc(strings.Split(query, "&"), isSecretParameter) {
		keys = append(keys, "url")
	}
	return keys
}

// isSecretParameter reports whether a NAME=VALUE of an address has the name of a secret.
func isSecretParameter(parameter string) bool {
	name, _, _ := strings.Cut(parameter, "=")
	return display.SecretName("query." + name)
}

// secretKeys returns the keys of a mapping's entries that contain secrets in plain text,
// according to their names.
func secretKeys(key string, values map[string]Secret) []string {
	var keys []string
	for name, s := range values {
		if isLiteral(s) && display.SecretName("entry."+name) {
			keys = append(keys, join(key, name))
		}
	}
	return keys
}

// isLiteral reports whether a secret is plain text and not a reference.
func isLiteral(s Secret) bool { return strings.Contains(s.String(), hidden) }

// isPlainRemote reports whether an address is http to another machine.
func isPlainRemote(address URL) bool {
	u, err := url.Parse(address.raw())
	if err != nil || u.Scheme != "http" || address.hasReference() {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return !ip.IsLoopback()
	}
	return host != "localhost" && !strings.HasSuffix(host, ".localhost")
}
