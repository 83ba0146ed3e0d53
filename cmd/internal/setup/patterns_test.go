package setup

import (
	"path/filepath"
	"strings"
	"testing"

	"dragoman/cmd/internal/program"
	"dragoman/cmd/internal/secrets"
	"dragoman/configs"
	"dragoman/core"
	"dragoman/core/guide"
)

// The files of keys are denied wherever the data folder is.
func TestKeysInOddFolders(t *testing.T) {
	if filepath.Separator != '/' {
		t.Skip("the names are ones that Unix takes")
	}
	for _, dir := range []string{"/data", "/d[a/t{a/*b?", `/d\a`, "/" + strings.Repeat("long/", 100) + "x"} {
		env := &program.Environment{Lookup: func(string) (string, bool) { return "", false }}
		env.Flags.DataDir = dir
		rules, err := newPolicy(configs.Defaults(), env.Lookup, secrets.New(env, nil).Files()...)
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, name := range []string{"auth.json", "mcp-logins/a.json"} {
			c := core.Check{
				Spec: core.Spec{Server: core.Native, Name: "read_file"}, Meta: core.Meta{Cwd: dir},
				Access: []core.Access{{Op: core.OpRead, Path: filepath.Join(dir, name)}},
			}
			if rules.Decide(c).Effect != core.Deny || rules.Strict().Decide(c).Effect != core.Deny {
				t.Errorf("%s/%s may be read", dir, name)
			}
		}
	}
}

// An agent of the workspace with invalid lists of tools is left out: a list that removes tools
// must not remove none.
func TestAgentsWithInvalidTools(t *testing.T) {
	roles, warnings := fileRoles(nil, []guide.Agent{{Name: "a", Disabled: []string{"write_[a-z]*"}}, {Name: "b", Disabled: []string{"write_*"}}}, nil)
	if len(roles) != 1 || roles[0].Name != "b" || len(warnings) != 1 || !strings.Contains(warnings[0], `tool "write_[a-z]*": '[' at character 7 has no meaning here`) {
		t.Errorf("%+v, %q", roles, warnings)
	}
}
