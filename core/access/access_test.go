package access

import (
	"encoding/json"
	"strings"
	"testing"

	"dragoman/core"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Rights{
		"watch": Watch, "act,watch": Watch | Act, " prompt , answer": Prompt | Answer, "watch,watch": Watch,
		"watch,prompt,answer,act": All,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ",", "watch,", "Watch", "all", "watch prompt", "delete"} {
		if got, err := Parse(text); err == nil || got != 0 || !strings.Contains(err.Error(), "watch,prompt,answer,act") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// Each set of rights has a text of its own, which is read back as the same set.
func TestTexts(t *testing.T) {
	seen := map[string]bool{}
	for r := Rights(1); r <= All; r++ {
		b, err := json.Marshal(r)
		if err != nil || seen[string(b)] {
			t.Fatalf("%d: %s, %v", r, b, err)
		}
		seen[string(b)] = true
		var back Rights
		if err := json.Unmarshal(b, &back); err != nil || back != r {
			t.Errorf("%s is read as %v, %v", b, back, err)
		}
	}
	for _, r := range []Rights{0, All + 1} {
		if b, err := json.Marshal(r); err == nil {
			t.Errorf("%d has the text %s", r, b)
		}
	}
	held := All
	if err := json.Unmarshal([]byte(`"watch,own"`), &held); err == nil || held != 0 {
		t.Errorf("an unknown right grants %v, %v", held, err)
	}
}

// A token is a caller and a name of its own, whatever its client says.
func TestHolders(t *testing.T) {
	owner := Owner(core.Local)
	a := Holder{Principal: core.Local, Token: "a1", Name: "phone", Rights: Watch}
	b := Holder{Principal: core.Local, Token: "b2", Name: "laptop", Rights: Watch}
	if owner.Key() == a.Key() || a.Key() == b.Key() || a.Key() != (Holder{Principal: core.Local, Token: "a1"}).Key() {
		t.Errorf("%q, %q, %q", owner.Key(), a.Key(), b.Key())
	}
	if owner.Caller("made") != "made" || a.Caller("made") != "token:a1" || a.Caller("x") == b.Caller("x") {
		t.Errorf("%q, %q", owner.Caller("made"), a.Caller("made"))
	}
	if owner.Says("Zed 1") != "Zed 1" || a.Says("Zed 1") != "phone" {
		t.Errorf("%q, %q", owner.Says("Zed 1"), a.Says("Zed 1"))
	}
	if !owner.Rights.Has(All) || a.Rights.HasAny(Prompt|Answer|Act) || !a.Rights.HasAny(Watch|Act) || a.Rights.Has(Watch|Act) {
		t.Error("rights")
	}
}
