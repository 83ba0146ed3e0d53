package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// effect is the effect of a setting in an editor's options on the user's settings.
type effect int

const (
	// effectNone changes neither permissions nor what is sent. It applies at once.
	effectNone effect = iota + 1
	// effectNarrows only restricts. It applies at once.
	effectNarrows
	// effectBounds is a number that restricts up to its default. If 0 is allowed it means no
	// limit.
	effectBounds
	// effectWidens allows more, or sends something to another place. It applies once a person has
	// agreed.
	effectWidens
	// effectAsks has a question of its own, when it would be used.
	effectAsks
)

// editorEffects classifies every setting by its effect when an editor sets it; * is a name of the
// user's choice. A setting with its default value changes nothing.
var editorEffects = map[string]effect{
	"$schema":  effectNone,
	"model":    effectWidens, // the receiver of the conversation
	"fallback": effectWidens,

	"providers.*.kind":                       effectWidens,
	"providers.*.base_url":                   effectWidens,
	"providers.*.api_key":                    effectWidens,
	"providers.*.headers":                    effectWidens,
	"providers.*.max_concurrent":             effectBounds,
	"providers.*.requests_per_minute":        effectBounds,
	"providers.*.options":                    effectWidens,
	"providers.*.models.*.name":              effectWidens,
	"providers.*.models.*.context_window":    effectWidens,
	"providers.*.models.*.max_output":        effectWidens,
	"providers.*.models.*.can":               effectWidens,
	"providers.*.models.*.efforts":           effectWidens,
	"providers.*.models.*.price.input":       effectWidens,
	"providers.*.models.*.price.output":      effectWidens,
	"providers.*.models.*.price.cache_read":  effectWidens,
	"providers.*.models.*.price.cache_write": effectWidens,
	"providers.*.models.*.free":              effectWidens,

	// The code that starts or connects to an editor's server asks first, and shows all of it.
	"mcp_servers.*.command":             effectAsks,
	"mcp_servers.*.args":                effectAsks,
	"mcp_servers.*.env":                 effectAsks,
	"mcp_servers.*.url":                 effectAsks,
	"mcp_servers.*.headers":             effectAsks,
	"mcp_servers.*.oauth.client_id":     effectAsks,
	"mcp_servers.*.oauth.client_secret": effectAsks,
	"mcp_servers.*.oauth.issuer":        effectAsks,
	"mcp_servers.*.oauth.scopes":        effectAsks,
	"mcp_servers.*.oauth.redirect_port": effectAsks,
	"mcp_servers.*.dir":                 effectAsks,
	"mcp_servers.*.transport":           effectAsks,
	"mcp_servers.*.sandbox":             effectAsks,
	"mcp_servers.*.write":               effectAsks,
	"mcp_servers.*.disabled":            effectNarrows,
	"mcp_servers.*.start":               effectAsks,
	"mcp_servers.*.tools":               effectAsks,
	"mcp_servers.*.without_tools":       effectNarrows,
	"mcp_servers.*.start_timeout":       effectAsks,
	"mcp_servers.*.call_timeout":        effectAsks,

	"agents.*.description":    effectNone,
	"agents.*.model":          effectWidens,
	"agents.*.instructions":   effectWidens,
	"agents.*.mode":           effectWidens,
	"agents.*.tools":          effectNarrows, // without it all are offered
	"agents.*.disabled_tools": effectNarrows,
	"agents.*.max_steps":      effectBounds,
	"agents.*.acp.command":    effectWidens, // an editor cannot set this and the following at all
	"agents.*.acp.env":        effectWidens,
	"agents.*.eca.command":    effectWidens,
	"agents.*.eca.env":        effectWidens,
	"agents.*.options":        effectWidens,
	"agents.*.paths":          effectWidens,
	"agents.*.mcp":            effectWidens,
	"agents.*.idle":           effectWidens,
	"agents.*.shared":         effectWidens,
	"agents.*.sandbox":        effectWidens,
	"agents.*.write":          effectWidens,
	"default_agent":           effectWidens, // the receiver of the conversation

	"policy.allow":       effectWidens,
	"policy.ask":         effectNarrows,
	"policy.deny":        effectNarrows,
	"policy.default":     effectWidens,
	"policy.ask_timeout": effectBounds,
	"policy.unattended":  effectWidens,
	"policy.terminal":    effectWidens,
	"policy.sandbox":     effectWidens,
	"policy.write":       effectWidens,
	"policy.env":         effectWidens,

	"mcp.allow_auto":          effectWidens,
	"mcp.model_answers":       effectWidens,
	"mcp.workspaces":          effectWidens,
	"mcp.elicitation_timeout": effectBounds,
	"mcp.servers":             effectNarrows, // without it clients get all of them
	"mcp.prefix":              effectNone,
	"mcp.tools":               effectNone,

	"limits.agents":            effectWidens, // concerns all connections; an editor cannot set it at all
	"limits.max_turn_requests": effectBounds,
	"limits.tools":             effectBounds,
	"limits.cost.turn":         effectNarrows, // the lowest of all layers holds
	"limits.cost.session":      effectNarrows,
	"limits.cost.day":          effectNarrows,
	"limits.tokens.turn":       effectNarrows,
	"limits.tokens.session":    effectNarrows,
	"limits.tokens.day":        effectNarrows,
	"limits.unknown":           effectWidens, // an editor cannot set it at all
	"limits.compact_at":        effectBounds,

	"sessions.archive_after": effectWidens, // an editor cannot set these at all
	"sessions.delete_after":  effectWidens,

	"log.level": effectWidens, // more content is logged
	"log.file":  effectWidens, // an editor cannot set it at all
}

// narrowest lists, for settings with effectWidens, the values that only restrict.
var narrowest = map[string]string{
	"policy.default":    "deny",
	"mcp.model_answers": "none",
	"log.level":         "error",
}

// Escalation describes the part of an editor's options that extends the user's permissions.
type Escalation struct {
	// Settings describes its settings, "KEY: VALUE", with secrets hidden; each element of a list,
	// or of a mapping of texts, is one.
	Settings []string
	// Sum identifies the content, including the secrets, for a person's consent.
	Sum string
}

// Narrowed splits an editor's layer into the settings that apply at once, because they only
// restrict, and the rest. An entry of providers or agents is not split.
func (c *Config) Narrowed() (narrow *Config, wider Escalation) {
	var set []layerSetting
	c.settings(reflect.ValueOf(c).Elem(), layerSetting{}, func(s layerSetting) { set = append(set, s) })
	skip := map[string]bool{}
	for _, s := range set {
		if s.widens() {
			skip[s.key] = true
			if s.entry != "" {
				skip[s.entry] = true
			}
		}
	}
	var content strings.Builder
	for _, s := range set {
		if skip[s.key] || skip[s.entry] {
			wider.Settings = append(wider.Settings, shownAs(s.key, s.value)...)
			fmt.Fprintf(&content, "%q %q\n", s.key, fmt.Sprintf("%#v", rawValue(s.value)))
		}
	}
	slices.Sort(wider.Settings)
	if len(wider.Settings) > 0 {
		lines := slices.Sorted(strings.Lines(content.String()))
		sum := sha256.Sum256([]byte("editor\n" + strings.Join(lines, "")))
		wider.Sum = hex.EncodeToString(sum[:])
	}
	narrow = &Config{
		Source: c.Source,
		where:  map[string]Position{},
		bad:    map[string]bool{},
		shared: map[string]bool{},
	}
	m := merger{to: narrow, from: c, skip: skip}
	m.merge(reflect.ValueOf(narrow).Elem(), reflect.ValueOf(c).Elem(), "", field{})
	return narrow, wider
}

// layerSetting is a setting in a layer: a value, a list, or a mapping of texts.
type layerSetting struct {
	key   string // in the form of Where
	class string // in editorEffects
	entry string // the entry of providers or agents that contains it; "": none
	is    field
	value reflect.Value
}

// settings calls f for each setting in a layer.
func (c *Config) settings(v reflect.Value, at layerSetting, f func(layerSetting)) {
	below := func(sub reflect.Value, name, class string, is field) {
		next := layerSetting{
			key:   join(at.key, name),
			class: strings.TrimPrefix(at.class+"."+class, "."),
			entry: at.entry,
			is:    is,
		}
		if class == "*" && next.entry == "" {
			next.entry = next.key
		}
		c.settings(sub, next, f)
	}
	switch {
	case shapeOf(v.Type()) == shapeStruct:
		for _, sub := range fieldsOf(v.Type()) {
			below(v.Field(sub.index), sub.name, sub.name, sub)
		}
	case shapeOf(v.Type()) == shapeMap && shapeOf(v.Type().Elem()) == shapeStruct:
		for _, name := range v.MapKeys() {
			below(v.MapIndex(name), name.String(), "*", element(at.is))
		}
	default:
		if _, written := c.where[at.key]; written || !v.IsZero() {
			at.value = v
			f(at)
		}
	}
}

// widens reports whether the setting needs a person's consent. An unclassified one does.
func (s layerSetting) widens() bool {
	text := fmt.Sprint(rawValue(s.value))
	if text == s.is.def || s.value.IsZero() && s.is.def == "" {
		return false
	}
	switch editorEffects[s.class] {
	case effectNone, effectNarrows, effectAsks:
		return false
	case effectBounds:
		return !withinDefault(s.value, s.is)
	case effectWidens:
	}
	return text != narrowest[s.class]
}

// withinDefault reports whether a number is at least as strict as its default.
func withinDefault(v reflect.Value, is field) bool {
	var def int64
	if is.def != "" {
		def = number(v, is.def)
	}
	unbounded := func(n int64) bool { return n == 0 && is.min == "0" }
	n := v.Int()
	return !unbounded(n) && (unbounded(def) || n <= def)
}

// shownAs returns the whole setting in words.
func shownAs(key string, v reflect.Value) (list []string) {
	switch shapeOf(v.Type()) {
	case shapeMap:
		for _, name := range v.MapKeys() {
			list = append(list, shownAs(join(key, name.String()), v.MapIndex(name))...)
		}
	case shapeList:
		for i := range v.Len() {
			list = append(list, shownAs(key, v.Index(i))...)
		}
	case shapeStruct:
		w := &writer{}
		w.listItem(v, 0)
		list = []string{key + ": " + strings.TrimSpace(strings.TrimPrefix(w.String(), "-"))}
	case shapeString, shapeText, shapeBool, shapeInt, shapeNumber, shapeDuration:
		w := &writer{}
		w.value(v, 0, false)
		list = []string{key + ": " + strings.TrimSpace(w.String())}
	}
	return list
}

// rawValue returns a value as written, with its secrets.
func rawValue(v reflect.Value) any {
	switch shapeOf(v.Type()) {
	case shapeText:
		return v.Interface().(readable).written()
	case shapeMap:
		raw := map[string]any{}
		for _, name := range v.MapKeys() {
			raw[name.String()] = rawValue(v.MapIndex(name))
		}
		return raw
	case shapeList:
		raw := make([]any, v.Len())
		for i := range raw {
			raw[i] = rawValue(v.Index(i))
		}
		return raw
	case shapeString, shapeBool, shapeInt, shapeNumber, shapeDuration, shapeStruct:
	}
	return v.Interface()
}

// GoString returns the rule as its consents are identified: one without an agent, a client and a
// workspace reads as it did when rules had none of these, so that a consent to it still counts.
func (r Rule) GoString() string {
	text := fmt.Sprintf("configs.Rule{_:struct {}{}, Tool:%q, Server:%q, Path:%q, Command:%q, URL:%q", r.Tool, r.Server, r.Path, r.Command, r.URL)
	if r.Agent != "" || r.Client != "" || r.Workspace != "" {
		text += fmt.Sprintf(", Agent:%q, Client:%q, Workspace:%q", r.Agent, r.Client, r.Workspace)
	}
	return text + "}"
}
