package configs

import (
	"fmt"
	"maps"
	"reflect"
)

// Same reports whether two servers have the same configuration, wherever it is written.
func (s MCPServer) Same(o MCPServer) bool { return maps.Equal(writtenIn(s), writtenIn(o)) }

// Same reports whether two agents have the same configuration, wherever it is written.
func (a Agent) Same(o Agent) bool { return maps.Equal(writtenIn(a), writtenIn(o)) }

// writtenIn lists a setting and those below it, by key, with references and secrets as written.
func writtenIn(v any) map[string]string {
	all := map[string]string{}
	visit(reflect.ValueOf(v), "", field{}, func(key string, _ field, v reflect.Value) {
		switch shapeOf(v.Type()) {
		case shapeText:
			all[key] = v.Interface().(readable).written()
		case shapeString, shapeBool, shapeInt, shapeNumber, shapeDuration:
			all[key] = fmt.Sprint(v.Interface())
		case shapeStruct, shapeMap, shapeList:
		}
	})
	return all
}
