package edge

import (
	"testing"

	"dragoman/adapters/mcp/permit"
	"dragoman/core/access"
)

// Every method that a client can call has a row in the table of rights.
func TestMethodsHaveRights(t *testing.T) {
	for method := range methods {
		if _, ok := permit.Method(method); !ok {
			t.Errorf("%s has no row", method)
		}
	}
	if need, ok := permit.Method("sessions/erase"); ok || !need.Met(access.All) || need.Met(access.All&^access.Act) {
		t.Errorf("an unknown method has a row: %v", need)
	}
}
