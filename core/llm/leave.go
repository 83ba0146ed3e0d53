package llm

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dragoman/core"
	"dragoman/core/inference"
)

// leaver sends a request without the parts that its service refuses: pictures, tools and sealed thoughts. If the
// refusal says which part it is about, that part is left out. Otherwise those parts of its kind go that are new
// since the last answer, and then all of them. What was left out is announced when an answer begins, and not if the
// service refuses the request anyway.
type leaver struct {
	m    *remote
	r    *inference.Request // in its present form
	left []string           // keys of the parts that were left out
	why  error              // the first refusal

	times    map[subject]int  // refusals of parts of a kind
	narrowed map[subject]bool // only some parts of a kind were left out
}

const (
	// maxLeft limits the refusals after which a request is repeated without some parts.
	maxLeft = 12
	// maxNamed limits those refusals that name a part of one kind; after that all parts of the kind are left out.
	maxNamed = 4
)

// subject is a kind of part that a service can refuse.
type subject string

const (
	ofThoughts subject = "thoughts"
	ofTools    subject = "tools"
	ofPictures subject = "pictures"
)

// subjects has the words by which a refusal is about parts of a kind, in lower case. The first match counts.
var subjects = []struct {
	of    subject
	words []string
}{
	{ofThoughts, []string{
		"signature", "`thinking`", "thinking block", "redacted_thinking", "encrypted_content", "encrypted content", "'reasoning'", "reasoning item",
	}},
	{ofTools, []string{
		"tools.", "tools[", "'tools'", "`tools`", "\"tools\"", "tools:", "many tools", "support tool", "tool use", "tool calling", "tool choice", "function calling",
		"function_declaration", "functiondeclaration", "function_parameters", "function parameters", "schema for function", "schema for tool",
		"function schema", "tool schema", "input_schema",
	}},
	{ofPictures, []string{
		"image", "picture", "vision", "multimodal", "multi-modal", "mime", "media", "inline_data", "base64", "pixel", "document", "pdf", "mmproj", "图片", "图像",
	}},
}

// unsupported has the words by which a model accepts no part of a kind at all.
var unsupported = map[subject][]string{
	ofPictures: {
		"support images", "support image input", "support image_url", "support image content", "support vision", "support multimodal",
		"image input is not", "images are not supported", "image_url is only supported", "unknown variant `image_url`", "data required for image input",
		"not a multimodal", "mmproj",
	},
	ofTools: {
		"support tools", "support tool use", "support tool calling", "support function calling", "tools are not supported", "tools is not supported",
		"tool use is not", "tool calling is not", "function calling is not", "'tools' is not supported", "`tools` is not supported", "tools not supported",
		"enable-auto-tool-choice",
	},
}

// part is a part of a request that can be refused.
type part struct {
	of    subject
	key   string
	fresh bool   // not in a request that was answered
	text  string // what is sent of it: base64 or an address, the name, the sealed data
	plain string // of a thought: its text
}

// leave reports whether the request has a new form, after this error.
func (l *leaver) leave(err error) bool {
	var e *inference.Error
	if !errors.As(err, &e) || !refusesParts(e) || l.total() >= maxLeft {
		return false
	}
	said, name := strings.ToLower(e.Message+" "+e.Place), strings.ToLower(l.m.model)
	for _, s := range subjects {
		if containsAny(name, s.words) { // the name of a vision model says nothing about pictures
			said = strings.ReplaceAll(said, name, "")
		}
	}
	if strings.Contains(said, "expected `thinking`") && l.r.Effort != "" {
		calm := *l.r // calls without their thoughts are accepted from a model that does not think
		calm.Effort, l.r = "", &calm
		return true
	}
	keys := l.blamed(e, said)
	if keys == nil {
		return false
	}
	if l.why == nil {
		l.why = err
	}
	l.left = append(l.left, keys...)
	l.r = l.r.Without(keys)
	return true
}

func (l *leaver) total() (n int) {
	for _, times := range l.times {
		n += times
	}
	return n
}

// refusesParts reports whether an error can be the refusal of a part.
func refusesParts(e *inference.Error) bool {
	switch e.Kind {
	case inference.ErrBadRequest, inference.ErrSafety:
		return true
	case inference.ErrServer: // local services have no other status for a picture that they cannot read
		return e.Status == http.StatusInternalServerError || e.Status == http.StatusNotImplemented
	case inference.ErrContextLength: // in bytes, most of which are pictures
		return e.Status == http.StatusRequestEntityTooLarge
	case inference.ErrAuth, inference.ErrQuota, inference.ErrRateLimit, inference.ErrOverloaded, inference.ErrNetwork, inference.ErrTruncated:
	}
	return false
}

// blamed returns the keys of the parts that a refusal is about; nil: of none. said is what it says, in lower case.
func (l *leaver) blamed(e *inference.Error, said string) []string {
	all := l.parts()
	for _, s := range subjects {
		if containsAny(said, s.words) {
			if mine := partsOf(all, s.of); len(mine) > 0 {
				return l.choose(s.of, mine, e, said)
			}
		}
	}
	// Some services do not say what they refuse. Pictures are the likeliest; an answer shows whether it was them.
	if e.Kind == inference.ErrBadRequest && (e.Status == 0 || e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity) ||
		e.Status == http.StatusRequestEntityTooLarge {
		for _, of := range []subject{ofPictures, ofThoughts} {
			if mine := partsOf(all, of); len(mine) > 0 {
				return l.choose(of, mine, e, said)
			}
		}
	}
	return nil
}

// choose returns the keys of those parts of a kind that are left out after a refusal.
func (l *leaver) choose(of subject, mine []part, e *inference.Error, said string) []string {
	if l.times == nil {
		l.times, l.narrowed = map[subject]int{}, map[subject]bool{}
	}
	l.times[of]++
	if containsAny(said, unsupported[of]) {
		switch of {
		case ofPictures:
			return []string{inference.AllPictures}
		case ofTools:
			return []string{inference.AllTools}
		case ofThoughts:
		}
	}
	if l.times[of] <= maxNamed {
		if named := l.named(of, mine, e); len(named) > 0 {
			return keysOf(named)
		}
		if most, many := tooMany(said, len(mine)); many && of != ofThoughts {
			return keysOf(beyond(of, mine, most))
		}
	}
	if !l.narrowed[of] {
		l.narrowed[of] = true
		some := slices.DeleteFunc(slices.Clone(mine), func(p part) bool { return !p.fresh })
		if len(some) > 0 {
			return keysOf(some)
		}
	}
	return keysOf(mine)
}

// parts returns the parts of the request that can be refused, in their order. The tools of servers count as new.
func (l *leaver) parts() (list []part) {
	for _, t := range l.r.Tools {
		list = append(list, part{of: ofTools, key: inference.ToolKey(t.Name), text: l.m.family.named(t.Name), fresh: strings.Contains(t.Name, "__")})
	}
	answered := 0
	for i := range l.r.Messages {
		if l.r.Messages[i].Role == inference.RoleAssistant {
			answered = i
		}
	}
	for i := range l.r.Messages {
		m := &l.r.Messages[i]
		for _, t := range m.Thoughts {
			var seal sealedData
			if json.Unmarshal(t.Sealed, &seal) == nil && seal.Of == l.m.info.ID {
				list = append(list, part{of: ofThoughts, key: inference.ThoughtKey(t), text: string(t.Sealed), plain: t.Text})
			}
		}
		for _, b := range slices.Concat(m.Blocks, m.Result.Blocks) {
			if k := inference.PictureKey(b); k != "" {
				list = append(list, part{of: ofPictures, key: k, text: sentAs(b), fresh: i >= answered})
			}
		}
	}
	return list
}

// sentAs returns the content of a picture as it is in requests, without its type.
func sentAs(b core.Block) string {
	switch b := b.(type) {
	case core.Image:
		if len(b.Data) > 0 {
			return base64.StdEncoding.EncodeToString(b.Data)
		}
		return b.URI
	case core.Resource:
		return base64.StdEncoding.EncodeToString(b.Blob)
	case core.Text, core.Audio, core.Link, core.Diff, core.Terminal:
	}
	return ""
}

func partsOf(all []part, of subject) []part {
	return slices.DeleteFunc(slices.Clone(all), func(p part) bool { return p.of != of })
}

// keysOf returns the keys of parts, each once.
func keysOf(parts []part) (keys []string) {
	for _, p := range parts {
		if !slices.Contains(keys, p.key) {
			keys = append(keys, p.key)
		}
	}
	return keys
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// The forms in which refusals limit a number, and name a place in the request.
var (
	manyPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`too many (?:images|pictures|tools|functions|documents)|array too long|number of (?:images|tools|functions)|` +
			`(?:at most|up to|maximum of|limit of|more than) \d+ (?:image|picture|tool|function)`)
	})
	mostPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:at most|up to|max\w*|limit|more than|>)\D{0,24}?(\d+)`)
	})
	placePattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(messages|input|tools)((?:\.\w+|\[[^\]]{1,40}\])+)`)
	})
	stepPattern        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\w+`) })
	declarationPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`function_?[dD]eclarations\[(\d+)\]`) })
)

// tooMany reports whether a refusal is about the number of parts, and how many are accepted: half of them if it
// does not say.
func tooMany(said string, have int) (most int, many bool) {
	if !manyPattern().MatchString(said) {
		return 0, false
	}
	if m := mostPattern().FindStringSubmatch(said); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n < have {
			return n, true
		}
	}
	return have / 2, true
}

// beyond returns the parts that are too many: the oldest pictures, and the last tools, those of servers first.
func beyond(of subject, mine []part, most int) []part {
	n := len(mine) - most
	if of == ofPictures {
		return mine[:n]
	}
	var out []part
	for _, server := range []bool{true, false} {
		for _, p := range slices.Backward(mine) {
			if p.fresh == server && len(out) < n {
				out = append(out, p)
			}
		}
	}
	return out
}

// named returns those parts that a refusal names: by a place in the request, a tool's name or an item's id.
func (l *leaver) named(of subject, mine []part, e *inference.Error) (found []part) {
	text := e.Message + " " + e.Place
	if of == ofTools {
		return namedTools(mine, text)
	}
	var sent any
	for _, at := range placePattern().FindAllString(text, -1) {
		if sent == nil {
			body, err := l.m.wire.encode(l.m, l.r)
			if err != nil || json.Unmarshal(body.whole(), &sent) != nil {
				return nil
			}
		}
		for _, v := range slices.Backward(walked(sent, stepPattern().FindAllString(at, -1))) {
			texts := textsIn(v, nil)
			some := slices.DeleteFunc(slices.Clone(mine), func(p part) bool { return !slices.ContainsFunc(texts, p.is) })
			if len(some) > 0 {
				found = append(found, some...)
				break
			}
		}
	}
	if of == ofThoughts && len(found) == 0 {
		for _, word := range stepPattern().FindAllString(text, -1) {
			for _, p := range mine {
				if strings.HasPrefix(word, "rs_") && strings.Contains(p.text, word) {
					found = append(found, p)
				}
			}
		}
	}
	return found
}

// namedTools finds tools by their place in the list, else by their names.
func namedTools(mine []part, text string) (found []part) {
	var places []string
	for _, m := range declarationPattern().FindAllStringSubmatch(text, -1) {
		places = append(places, m[1])
	}
	if places == nil {
		for _, m := range placePattern().FindAllStringSubmatch(text, -1) {
			if m[1] == "tools" {
				places = append(places, stepPattern().FindString(m[2]))
			}
		}
	}
	for _, at := range places {
		if i, err := strconv.Atoi(at); err == nil && i < len(mine) {
			found = append(found, mine[i])
		}
	}
	if found != nil {
		return found
	}
	for _, p := range mine {
		for _, form := range []string{"'" + p.text + "'", `"` + p.text + `"`, "`" + p.text + "`", "function " + p.text + " ", "tool " + p.text + " ", "function " + p.text + ":", "tool " + p.text + ":"} {
			if strings.Contains(text+" ", form) {
				found = append(found, p)
				break
			}
		}
	}
	return found
}

// walked returns the values on the way to a place in a request, from its message on. Names that are not there are
// the service's own, and are passed over.
func walked(v any, steps []string) (list []any) {
	for i, step := range steps {
		switch at := v.(type) {
		case map[string]any:
			next, ok := at[step]
			if !ok {
				continue
			}
			v = next
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil {
				continue
			}
			if n >= len(at) {
				return list
			}
			v = at[n]
		default:
			return list
		}
		if i > 0 {
			list = append(list, v)
		}
	}
	return list
}

// textsIn collects the texts in a value.
func textsIn(v any, list []string) []string {
	switch v := v.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, one := range v {
			list = textsIn(one, list)
		}
	case map[string]any:
		for _, one := range v {
			list = textsIn(one, list)
		}
	}
	return list
}

// is reports whether a text in a request is of the part.
func (p part) is(sent string) bool {
	const least = 8 // characters: a shorter text is no signature
	switch p.of {
	case ofPictures:
		return strings.HasSuffix(sent, p.text)
	case ofThoughts:
		return len(sent) >= least && (strings.Contains(p.text, sent) || p.plain == sent)
	case ofTools:
	}
	return false
}
