package coretest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ToolFaults returns what the services of a family of models would refuse in a tool, by their published rules and the
// texts of their refusals. The families are those of core/llm: anthropic, azure, gemini, kimi, ollama and openai.
func ToolFaults(family, name, description string, schema []byte) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	names := map[string]string{"gemini": `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`, "kimi": `^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`}[family]
	if names == "" {
		names = `^[a-zA-Z0-9_-]{1,64}$`
	}
	if !regexp.MustCompile(names).MatchString(name) {
		fault("the name %q does not match %s", name, names)
	}
	if family == "azure" && len(description) > 1024 {
		fault("the description has %d bytes", len(description))
	}
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		fault("the schema is no object: %v", err)
		return faults
	}
	if root["type"] != "object" {
		fault("the schema's type is %v", root["type"])
	}
	properties, ok := root["properties"].(map[string]any)
	if !ok {
		fault("object schema missing properties")
	}
	for _, union := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if _, has := root[union]; has {
			fault("%s at the top", union)
		}
	}
	keys := map[string]string{"anthropic": `^[a-zA-Z0-9_.-]{1,64}$`, "gemini": `^[a-zA-Z_][a-zA-Z0-9_]{0,63}$`}[family]
	for key := range properties {
		if keys != "" && !regexp.MustCompile(keys).MatchString(key) {
			fault("the property %q does not match %s", key, keys)
		}
	}
	checkSchema(root, root, "", family, fault)
	return faults
}

// checkSchema checks a schema and those below it.
func checkSchema(root map[string]any, v any, at, family string, fault func(string, ...any)) {
	s, ok := v.(map[string]any)
	if !ok {
		if _, isBool := v.(bool); !isBool || family == "gemini" || family == "ollama" {
			fault("%s is %v, and no schema", at, v)
		}
		return
	}
	types := typesOf(s, at, fault)
	if slices.Contains(types, "array") && s["items"] == nil {
		fault("%s: array schema missing items", at)
	}
	for _, number := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if n, has := s[number]; has {
			if _, is := n.(float64); !is {
				fault("%s: %s is %v", at, number, n)
			}
		}
	}
	if required, has := s["required"]; has {
		list, is := required.([]any)
		if !is || slices.ContainsFunc(list, func(v any) bool { _, text := v.(string); return !text }) {
			fault("%s: required is %v", at, required)
		}
	}
	if ref, is := s["$ref"].(string); is && strings.HasPrefix(ref, "#/") && !pointsAt(root, ref) {
		fault("%s: nothing is at %s", at, ref)
	}
	if family == "gemini" {
		checkGemini(s, at, types, fault)
	}
	for keyword, v := range s {
		switch keyword {
		case "properties", "$defs", "definitions", "patternProperties", "dependentSchemas":
			all, is := v.(map[string]any)
			if !is {
				fault("%s: %s is %v", at, keyword, v)
			}
			for name, one := range all {
				checkSchema(root, one, at+"/"+keyword+"/"+name, family, fault)
			}
		case "items", "not", "additionalProperties", "contains":
			if _, isBool := v.(bool); !isBool {
				checkSchema(root, v, at+"/"+keyword, family, fault)
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			all, is := v.([]any)
			if !is || len(all) == 0 {
				fault("%s: %s is %v", at, keyword, v)
			}
			for i, one := range all {
				checkSchema(root, one, fmt.Sprintf("%s/%s/%d", at, keyword, i), family, fault)
			}
		}
	}
}

func typesOf(s map[string]any, at string, fault func(string, ...any)) (types []string) {
	all, has := s["type"]
	if !has {
		return nil
	}
	list, isList := all.([]any)
	if !isList {
		list = []any{all}
	}
	for _, v := range list {
		name, _ := v.(string)
		if !slices.Contains([]string{"string", "number", "integer", "boolean", "object", "array", "null"}, name) {
			fault("%s: the type %v", at, v)
		}
		types = append(types, name)
	}
	if len(list) == 0 {
		fault("%s: no type", at)
	}
	return types
}

// pointsAt reports whether a value is at a reference within the document.
func pointsAt(root map[string]any, ref string) bool {
	var at any = root
	for step := range strings.SplitSeq(ref[2:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$", "%20", " ").Replace(step)
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return false
			}
			at = next
		case []any:
			var n int
			if _, err := fmt.Sscan(step, &n); err != nil || n < 0 || n >= len(v) {
				return false
			}
			at = v[n]
		default:
			return false
		}
	}
	return true
}

// checkGemini checks the subset of OpenAPI 3.0 that Gemini's Schema is.
func checkGemini(s map[string]any, at string, types []string, fault func(string, ...any)) {
	for keyword := range s {
		if !slices.Contains([]string{
			"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required", "minProperties",
			"maxProperties", "minLength", "maxLength", "pattern", "anyOf", "items", "minimum", "maximum",
		}, keyword) {
			fault("%s: unknown name %q", at, keyword)
		}
	}
	if len(types) != 1 && s["anyOf"] == nil || len(types) == 1 && types[0] == "null" {
		fault("%s: the type is %v", at, types)
	}
	if _, isText := s["type"].(string); s["type"] != nil && !isText {
		fault("%s: the type is no text", at)
	}
	if format, has := s["format"]; has && !slices.Contains([]string{"enum", "date-time", "float", "double", "int32", "int64"}, fmt.Sprint(format)) {
		fault("%s: only 'enum' and 'date-time' are supported for STRING type, not %v", at, format)
	}
	if values, has := s["enum"].([]any); has {
		if !slices.Contains(types, "string") {
			fault("%s: enum: only allowed for STRING type", at)
		}
		for _, v := range values {
			if text, is := v.(string); !is || text == "" {
				fault("%s: enum has %v", at, v)
			}
		}
	}
	properties, _ := s["properties"].(map[string]any)
	if required, has := s["required"].([]any); has {
		for _, name := range required {
			if properties[fmt.Sprint(name)] == nil {
				fault("%s: required: property %v is not defined", at, name)
			}
		}
	}
}
