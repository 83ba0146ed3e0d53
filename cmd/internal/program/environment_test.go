package program

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestDataFolderIsChosen(t *testing.T) {
	home, data, state := t.TempDir(), t.TempDir(), t.TempDir()
	at := func(flag string, env map[string]string) string {
		a := &Environment{Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Flags: Flags{DataDir: flag}}
		dir, err := a.DataDir()
		if err != nil {
			return err.Error()
		}
		return dir
	}
	env := map[string]string{"HOME": home, "DRAGOMAN_DATA": data, "XDG_STATE_HOME": state}
	if got := at(home, env); got != home {
		t.Errorf("--data-dir: %s", got)
	}
	if got := at("", env); got != data {
		t.Errorf("DRAGOMAN_DATA: %s", got)
	}
	delete(env, "DRAGOMAN_DATA")
	if got := at("", env); got != filepath.Join(state, "dragoman") {
		t.Errorf("XDG_STATE_HOME: %s", got)
	}
	if got := at("", nil); !strings.Contains(got, "--data-dir") {
		t.Errorf("without anything: %s", got)
	}
}
