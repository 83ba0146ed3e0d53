package piped

import (
	"slices"
	"testing"
)

func TestEnv(t *testing.T) {
	ours := []string{
		"PATH=/bin", "OPENAI_API_KEY=theirs", "CODEX_HOME=/c", "CLAUDECODE=1", "SECRET=canary", "HTTPS_PROXY=http://u:p@proxy:1", "LANG=C",
		ChainVar + "=a,b",
	}
	want := []string{
		"CODEX_HOME=/c", ChainVar + "=a,b", "HTTPS_PROXY=http://u:p@proxy:1", "LANG=de", "OPENAI_API_KEY=theirs", "OWN=1", "PATH=/bin",
	}
	got := Env(ours, []string{"OPENAI_API_KEY", "CODEX_*"}, map[string]string{"LANG": "de", "OWN": "1"})
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
