package acp

import (
	"slices"
	"testing"

	"dragoman/adapters/proto/acp"
	"dragoman/core"
)

// The answers that last come behind those that do not, and of two of a kind the narrower is first: some
// clients choose by the kind alone.
func TestPermissions(t *testing.T) {
	once := acp.PermissionOption{OptionID: "allow_once", Name: "Allow once", Kind: acp.AllowOnce}
	session := acp.PermissionOption{OptionID: "allow_session", Name: "Allow for this session: x", Kind: acp.AllowAlways}
	always := acp.PermissionOption{OptionID: "allow_always", Name: "Always allow in this folder: x", Kind: acp.AllowAlways}
	no := acp.PermissionOption{OptionID: "reject_once", Name: "Reject", Kind: acp.RejectOnce}
	never := acp.PermissionOption{OptionID: "reject_session", Name: "Reject for this session: x", Kind: acp.RejectAlways}
	for _, test := range []struct {
		ask  core.Ask
		want []acp.PermissionOption
	}{
		{core.Ask{}, []acp.PermissionOption{once, no}},
		{core.Ask{Hard: true}, []acp.PermissionOption{once, no}},
		{core.Ask{Remember: "x"}, []acp.PermissionOption{once, session, no, never}},
		{core.Ask{Remember: "x", Always: true}, []acp.PermissionOption{once, session, always, no, never}},
		{
			core.Ask{Remember: "x", Options: []core.Option{{ID: "y", Label: "Yes", Decision: core.AllowOnce}}},
			[]acp.PermissionOption{{OptionID: "y", Name: "Yes", Kind: acp.AllowOnce}},
		},
	} {
		if got := permissions(test.ask); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %+v", test.ask, got)
		}
	}
}
