package fault

import (
	"errors"
	"io/fs"
	"testing"
)

type id string

func TestErrors(t *testing.T) {
	for want, err := range map[string]error{
		"agent bob wants a login: run /login (dragoman agents login bob)":                                                     &SignIn{"bob", "run /login"},
		"session s1 is in use by another process (here, 42); close it there first":                                            &Owned[id]{Session: "s1", Node: "here, 42"},
		"session s1 could not be stored: file does not exist; free space or fix the data folder, then open the session again": &Store[id]{"s1", fs.ErrNotExist},
	} {
		if err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	if !errors.Is(&Store[id]{"s1", fs.ErrNotExist}, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
}
