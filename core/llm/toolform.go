package llm

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"dragoman/core/display"
	"dragoman/core/inference"
	"dragoman/core/jsonscan"
)

// toolFamily has what the services of a family of models refuse in a tool, beyond what all of them do.
type toolFamily struct {
	name string
	is   func(m *remote) bool
	// most limits the number of tools in a request; 0: no limit is known.
	most int
	// names and properties are patterns for names of tools and of their arguments; "": all are accepted.
	names, properties string
	// description limits a tool's description, in characters; 0: no limit.
	description int
	// subset means that only the keywords of Gemini's schemas are accepted.
	subset bool

	legalName, legalProperty *regexp.Regexp // of a family in use
}

// toolFamilies lists the families. The first match counts.
func toolFamilies() []toolFamily {
	host := func(names ...string) func(*remote) bool {
		return func(m *remote) bool {
			return slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(m.base.Hostname(), n) })
		}
	}
	called := func(name string) func(*remote) bool {
		return func(m *remote) bool { return strings.Contains(strings.ToLower(m.model), name) }
	}
	return []toolFamily{
		// https://ai.google.dev/api/caching#FunctionDeclaration and #Schema
		{
			name: "gemini", is: anyFamily(called("gemini"), host("googleapis.com")), subset: true, most: 512,
			names: `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, properties: `^[A-Za-z_][A-Za-z0-9_]{0,63}$`,
		},
		// Its refusals name the pattern: https://docs.anthropic.com/en/api/messages
		{name: "anthropic", is: anyFamily(called("claude"), func(m *remote) bool { return m.wire == wire(messagesWire{}) }), properties: `^[a-zA-Z0-9_.-]{1,64}$`},
		// https://learn.microsoft.com/azure/ai-foundry/openai/quotas-limits
		{name: "azure", is: func(m *remote) bool { return m.wire == wire(azureWire{}) }, most: 128, description: 1024},
		// https://platform.openai.com/docs/api-reference/chat/create
		{name: "openai", is: host("openai.com", "groq.com"), most: 128},
		// https://platform.moonshot.ai/docs/api/tool-use
		{name: "kimi", is: anyFamily(called("kimi"), host("moonshot.ai", "moonshot.cn")), most: 128, names: `^[A-Za-z][A-Za-z0-9_-]{0,63}$`},
		{name: "others", is: func(*remote) bool { return true }},
	}
}

func anyFamily(a, b func(*remote) bool) func(*remote) bool {
	return func(m *remote) bool { return a(m) || b(m) }
}

func familyOf(m *remote) *toolFamily {
	for _, f := range toolFamilies() {
		if f.is(m) {
			if f.names != "" {
				f.legalName = regexp.MustCompile(f.names)
			}
			if f.properties != "" {
				f.legalProperty = regexp.MustCompile(f.properties)
			}
			return &f
		}
	}
	return &toolFamily{}
}

// toolForm is a tool in the form for a family.
type toolForm struct {
	sent sentFunction
	own  inference.ToolSpec
	// names has the own names of arguments that are sent with another one; nil: there are none.
	names map[string]string
	// folded means that the schema was folded; alternatives says in words what it no longer says.
	folded       bool
	alternatives string

	checks func() *jsonschema.Resolved // the tool's own schema; nil: it cannot be checked
}

// forms caches the tools of a provider's models in their forms. It is safe for concurrent use.
type forms struct {
	mu   sync.Mutex // guards kept
	kept map[formKey]*toolForm
}

type formKey struct{ family, tool string }

const maxForms = 4096

// of returns the form of a tool.
func (c *forms) of(f *toolFamily, t inference.ToolSpec) *toolForm {
	key := formKey{f.name, t.Name}
	c.mu.Lock()
	found := c.kept[key]
	c.mu.Unlock()
	if found != nil && sameTool(found.own, t) {
		return found
	}
	made := f.form(t)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxForms {
		c.kept = map[formKey]*toolForm{}
	}
	c.kept[key] = made
	return made
}

// emptySchema is of a tool without arguments. Services refuse an object without properties.
var emptySchema = json.RawMessage(`{"type":"object","properties":{}}`)

// form puts a tool into the form of the family. A schema that breaks no rule stays as it is written.
func (f *toolFamily) form(t inference.ToolSpec) *toolForm {
	out := &toolForm{own: t, sent: sentFunction{f.named(t.Name), t.Description, t.Schema}}
	if t.Plain && !f.subset && len(t.Description) <= cmp.Or(f.description, len(t.Description)) {
		return out
	}
	if len(t.Schema) == 0 {
		out.sent.Parameters = emptySchema
	}
	v, ok := parseSchema(out.sent.Parameters)
	root, isObject := v.(*schema)
	if !ok || !isObject {
		root = &schema{}
	}
	_, changed := tidy(root, root, true)
	out.alternatives, out.folded = fold(root)
	changed = changed || !ok || !isObject || out.folded
	if root.get("type") != "object" {
		root.drop("type")
		root.members = slices.Insert(root.members, 0, jsonscan.Member{Name: "type", Value: "object"})
		changed = true
	}
	if root.object("properties") == nil {
		root.set("properties", &schema{})
		changed = true
	}
	if f.subset {
		s := subsetter{doc: root}
		if one := s.of(root, 0); written(one) != written(root) {
			root, changed = one, true
		}
	}
	out.names = f.rename(root)
	about := out.alternatives
	if f.description > 0 && len(t.Description)+len(about)+2 > f.description {
		kept := display.Cut(t.Description, f.description)
		about = strings.TrimSpace(t.Description[len(kept):] + "\n\n" + about)
		out.sent.Description = kept
		root.set("description", strings.TrimSpace(root.text("description")+"\n"+about))
		changed = true
	} else if about != "" {
		out.sent.Description = strings.TrimSpace(t.Description + "\n\n" + about)
	}
	if changed || out.names != nil {
		out.sent.Parameters = json.RawMessage(written(root))
	}
	out.checks = sync.OnceValue(func() *jsonschema.Resolved {
		var s jsonschema.Schema
		if json.Unmarshal(t.Schema, &s) != nil {
			return nil
		}
		r, err := s.Resolve(nil)
		if err != nil {
			return nil
		}
		return r
	})
	return out
}

// tools returns tools in the form for the model, in their original order, which stays the same for the whole session.
func (m *remote) tools(specs []inference.ToolSpec) (list []sentTool) {
	for _, t := range specs {
		list = append(list, sentTool{Type: "function", Function: m.p.forms.of(m.family, t).sent})
	}
	return list
}

// called finds the tool that a model calls by the name that was sent; nil: there is none.
func (m *remote) called(specs []inference.ToolSpec, name string) *toolForm {
	for _, t := range specs {
		if m.family.named(t.Name) == name {
			return m.p.forms.of(m.family, t)
		}
	}
	return nil
}

// named returns the name of a tool in requests.
func (f *toolFamily) named(tool string) string {
	if f == nil || f.legalName == nil || f.legalName.MatchString(tool) {
		return tool
	}
	return safeName("t_"+tool, tool)
}

// safeName returns a name of legal characters with at most 64 bytes. A longer one ends with a part of a checksum.
func safeName(name, own string) string {
	if len(name) <= inference.MaxToolName {
		return name
	}
	sum := sha256.Sum256([]byte(own))
	return name[:inference.MaxToolName-9] + "_" + hex.EncodeToString(sum[:4])
}

// rename gives the arguments in a schema names that are accepted. It returns the own names of those with another one.
func (f *toolFamily) rename(root *schema) (own map[string]string) {
	all := root.object("properties")
	legal := f.legalProperty
	if legal == nil || all == nil {
		return nil
	}
	sent := map[string]string{}
	for i, m := range all.members {
		if legal.MatchString(m.Name) {
			continue
		}
		name := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
				return r
			}
			return '_'
		}, m.Name)
		if !legal.MatchString(name) && len(name) <= inference.MaxToolName {
			name = "p_" + name
		}
		name = safeName(name, m.Name)
		for n := 2; all.has(name); n++ {
			name = safeName(fmt.Sprintf("%s_%d", strings.TrimRight(name, "_"), n), m.Name+fmt.Sprint(n))
		}
		all.members[i].Name, sent[m.Name] = name, name
		if own == nil {
			own = map[string]string{}
		}
		own[name] = m.Name
	}
	if required, ok := root.get("required").([]any); ok && own != nil {
		for i, v := range required {
			if name, isText := v.(string); isText && sent[name] != "" {
				required[i] = sent[name]
			}
		}
	}
	return own
}

// restore returns the arguments of a call with their own names.
func (t *toolForm) restore(args []byte) json.RawMessage {
	v, ok := parseSchema(args)
	s, isObject := v.(*schema)
	if t.names == nil || !ok || !isObject {
		return args
	}
	for i, m := range s.members {
		if own, renamed := t.names[m.Name]; renamed {
			s.members[i].Name = own
		}
	}
	return json.RawMessage(written(s))
}

// check compares a call's arguments with the tool's own schema, if the model has seen another one. The error is for
// the model.
func (t *toolForm) check(args []byte) error {
	if !t.folded {
		return nil
	}
	r := t.checks()
	if r == nil {
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(args))
	if d.Decode(&v) != nil {
		return nil
	}
	err := r.Validate(v)
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimSpace("the arguments do not fit the tool's schema: " + display.Cut(err.Error(), maxMessage) + ". " + t.alternatives))
}
