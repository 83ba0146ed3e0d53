package policy

import (
	"strings"
	"testing"

	"dragoman/core"
)

func TestToolsAreNamed(t *testing.T) {
	read := core.Spec{Server: core.Native, Name: "read_file"}
	sh := core.Spec{Server: core.Native, Name: "shell_command"}
	list := core.Spec{Server: "tracker", Name: "list_issues"}
	for _, c := range []struct {
		entry string
		spec  core.Spec
		want  bool
	}{
		{"read_file", read, true},
		{"READ_FILE", read, true},
		{"read_*", read, true},
		{"*", read, true},
		{"*", list, true},
		{"write_file", read, false},
		{"native/read_file", read, true},
		{"eca__read_file", read, true},
		{"eca/*", read, true},
		{"eca/*", list, false},
		{"native", read, false},
		{"Read", read, true},
		{"Bash(git *)", sh, true},
		{"Bash", read, false},
		{"Read", core.Spec{Server: "other", Name: "read_file"}, false},
		{"tracker", list, true},
		{"tracker/list_*", list, true},
		{"tracker__list_issues", list, true},
		{"mcp__tracker__list_issues", list, true},
		{"other/list_issues", list, false},
		{"list_issues", list, true},
		{"[", read, false},
		{"", read, false},
	} {
		if got := named([]string{c.entry}, c.spec, false); got != c.want {
			t.Errorf("%q names %s/%s: %v", c.entry, c.spec.Server, c.spec.Name, got)
		}
	}
}

// What is no pattern takes everything away where it stands in a list that takes away, and
// gives nothing in one that gives.
func TestEntriesThatAreNone(t *testing.T) {
	spec := core.Spec{Server: "tracker", Name: "list_issues"}
	for _, entry := range []string{"list_[a-z]*", "tracker/{a,b}", `a\b`, "list_issue?"} {
		if err := CheckTools([]string{"Bash(git [a])", entry}); err == nil || !strings.Contains(err.Error(), "the only wildcard is *") {
			t.Errorf("%s: %v", entry, err)
		}
		if (Role{Never: []string{entry}}).Offers(spec) || (Role{Only: []string{entry}}).Offers(spec) {
			t.Errorf("%s: the tool is offered", entry)
		}
	}
	if (Role{Never: []string{"LIST_*"}}).Offers(spec) {
		t.Error("case counts where a tool is taken away")
	}
}
