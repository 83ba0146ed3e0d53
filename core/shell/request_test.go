package shell

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	base := []string{"PATH=/bin", "HOME=/home/u"}
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Request{Command: "cd x && npm test | tail"}, "cd x && npm test | tail"},
		{Request{Command: "git", Args: []string{"log", "--format=%H", "-n5"}}, "git log --format=%H -n5"},
		{Request{Command: "git", Args: []string{"commit", "-m", "it's $HOME; rm -rf *", ""}}, `git commit -m 'it'\''s $HOME; rm -rf *' ''`},
		{Request{Command: "A=b", Args: []string{"x"}}, "'A=b' x"},
		{Request{Command: "ls", Args: []string{"~", "a=~", "{a,b}", "#"}}, "ls '~' 'a=~' '{a,b}' '#'"},
		{Request{Command: "git", Args: []string{"fetch"}, Env: map[string]string{"TERM": "x", "LC_ALL": "C", "PATH": "/bin"}}, "git fetch"},
		{Request{Command: "git", Args: []string{"fetch"}, Env: map[string]string{"PATH": "/tmp", "GIT_SSH_COMMAND": "sh evil"}}, "GIT_SSH_COMMAND='sh evil' PATH=/tmp git fetch"},
		{Request{Command: "ls | cat", Env: map[string]string{"LD_PRELOAD": "./x.so"}}, "export LD_PRELOAD=./x.so; ls | cat"},
		{Request{Command: "ls", Args: []string{"."}, Env: map[string]string{"x; rm": "1", "API_TOKEN": "canary"}}, "API_TOKEN='…' 'x; rm'=1 ls ."},
	} {
		if got := c.req.Line(base); got != c.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.req, got, c.want)
		}
	}
}

func TestRequestsThatNoSystemCanStart(t *testing.T) {
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Request{Command: " ", Dir: "/"}, "empty"},
		{Request{Command: "a\x00b", Dir: "/"}, "NUL"},
		{Request{Command: "a", Args: []string{"\x00"}, Dir: "/"}, "NUL"},
		{Request{Command: "a", Env: map[string]string{"x": "\x00"}, Dir: "/"}, "NUL"},
		{Request{Command: "a", Env: map[string]string{"": "x"}, Dir: "/"}, "no name of a variable"},
		{Request{Command: "a", Env: map[string]string{"x=y": "x"}, Dir: "/"}, "no name of a variable"},
		{Request{Command: "a", Args: []string{strings.Repeat("x", MaxLine)}, Dir: "/"}, "larger than 100 KB"},
		{Request{Command: "a", Dir: "x"}, "not an absolute path"},
		{Request{Command: "a"}, "not an absolute path"},
	} {
		if _, err := (&Terminals{}).Start(t.Context(), c.req); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.req, err, c.want)
		}
	}
}
