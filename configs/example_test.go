package configs

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// eachField calls f for every possible setting.
func eachField(t *testing.T, f func(key string, is field, s shape)) {
	t.Helper()
	var structure func(typ reflect.Type, key string)
	structure = func(typ reflect.Type, key string) {
		for _, is := range fieldsOf(typ) {
			sub, at := typ.Field(is.index).Type, join(key, is.name)
			f(at, is, shapeOf(sub))
			switch shapeOf(sub) {
			case shapeMap, shapeList:
				sub = sub.Elem()
				at = join(at, "x")
			case shapeString, shapeText, shapeBool, shapeInt, shapeNumber, shapeDuration, shapeStruct:
			}
			if shapeOf(sub) == shapeStruct {
				structure(sub, at)
			}
		}
	}
	structure(reflect.TypeFor[Config](), "")
}

// switchedOn removes the "# " before the example's settings.
func switchedOn(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "##") {
			line = strings.TrimPrefix(line, "# ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestExample(t *testing.T) {
	for name, text := range map[string]string{"as it is": ExampleYAML(), "switched on": switchedOn(ExampleYAML())} {
		c, err := read("example.yaml", []byte(text))
		if err != nil || len(c.Warnings) > 0 {
			t.Errorf("%s: %v %v", name, err, c.Warnings)
		}
		if on := name == "switched on"; on != (c.Model != "") || on != (len(c.Policy.Deny) == 3) {
			t.Errorf("%s: model %q, %d deny rules", name, c.Model, len(c.Policy.Deny))
		}
	}
	// The defaults in the example are the real ones.
	c, _ := read("example.yaml", []byte(switchedOn(ExampleYAML())))
	d := Defaults()
	if c.MCP.AllowAuto != d.MCP.AllowAuto || c.MCP.ElicitationTimeout != d.MCP.ElicitationTimeout || c.Limits != d.Limits || c.Log.Level != d.Log.Level || c.Policy.Default != d.Policy.Default || c.Policy.AskTimeout != d.Policy.AskTimeout {
		t.Errorf("the example shows other defaults than hold")
	}
}

func TestInit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "config.yaml")
	if err := Init(path); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := Init(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if c, err := Load(Options{Path: path}); err != nil || c.Source != path || len(c.Warnings) > 0 {
		t.Errorf("%v %v %q", err, c.Warnings, c.Source)
	}
}

// Tags for numbers contain numbers: the code that reads them does not check.
func TestTagsParse(t *testing.T) {
	eachField(t, func(key string, f field, s shape) {
		for _, n := range []string{f.min, f.max, f.def} {
			if n == "" {
				continue
			}
			var err error
			switch s {
			case shapeInt:
				_, err = strconv.Atoi(n)
			case shapeDuration:
				_, err = ParseDuration(n)
			case shapeBool:
				_, err = strconv.ParseBool(n)
			case shapeString, shapeText, shapeNumber, shapeStruct, shapeMap, shapeList:
			}
			if err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	})
}

// The schema covers the example and all keys of the structs.
func TestSchemaKnowsEveryKey(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(SchemaJSON(), &schema); err != nil {
		t.Fatal(err)
	}
	text := string(SchemaJSON())
	eachField(t, func(key string, f field, _ shape) {
		if !strings.Contains(text, strconv.Quote(f.name)+": {") || !strings.Contains(text, strings.Trim(quoted(f.doc), `"`)) {
			t.Errorf("%s is not in the schema, or not described", key)
		}
	})
	for name, def := range schema["$defs"].(map[string]any) {
		if def.(map[string]any)["additionalProperties"] != false {
			t.Errorf("%s takes unknown keys", name)
		}
	}
}
