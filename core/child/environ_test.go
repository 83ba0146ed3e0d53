package child

import (
	"runtime"
	"slices"
	"testing"
)

// Variables that are not on the list are not handed on, whatever their names; named
// ones are.
func TestEnviron(t *testing.T) {
	env := []string{
		"PATH=/bin", "HOME=/home/u", "LC_ALL=C", "LC_=x", "GOCACHE=/c", "JAVA_HOME=/j", "HTTPS_PROXY=http://u:canary@proxy:1", "https_proxy=http://canary@p", "http_proxy=http://p:3128",
		"GOPROXY=https://u:canary@a,https://b", "LINEAR_API=canary", "SLACK_WEBHOOK_URL=https://canary", "ANTHROPIC_CUSTOM_HEADERS=canary", "GIT_CONFIG_COUNT=1", "GIT_SSH_COMMAND=canary",
		"LD_LIBRARY_PATH=/canary", "LD_PRELOAD=canary", "PYTHONPATH=/canary", "NODE_OPTIONS=canary", "SSH_AUTH_SOCK=/canary", "DBUS_SESSION_BUS_ADDRESS=canary", "DRAGOMAN_DATA=/canary",
		"OPENAI_API_KEY=canary", "PATHX=canary", "XPATH=canary", "MINE=a=b", "OWN_A=1", "OWN_B=2", "OWN=canary", "BASH_ENV=canary", "=C:=C:\\canary", "noise",
	}
	want := []string{
		"PATH=/bin", "HOME=/home/u", "LC_ALL=C", "LC_=x", "GOCACHE=/c", "JAVA_HOME=/j", "HTTPS_PROXY=http://proxy:1", "https_proxy=http://p", "http_proxy=http://p:3128",
		"GOPROXY=https://a,https://b", "MINE=a=b", "OWN_A=1", "OWN_B=2",
	}
	if got := Environ(env, []string{"MINE", "OWN_*"}); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := Environ([]string{"HTTPS_PROXY=http://u:p@proxy:1"}, []string{"HTTPS_PROXY"}); !slices.Equal(got, []string{"HTTPS_PROXY=http://u:p@proxy:1"}) {
		t.Errorf("a variable that was named is changed: %q", got)
	}
	for proxy, want := range map[string]string{
		"HTTPS_PROXY=u:canary@proxy:1": "HTTPS_PROXY=proxy:1", "all_proxy=socks5h://u:can@ry@proxy:1/": "all_proxy=socks5h://proxy:1/", "http_proxy=u:can/ary@p": "http_proxy=p", "HTTP_PROXY=http://u:can,ary/@p:1": "HTTP_PROXY=http://p:1",
		"https_proxy=proxy:3128": "https_proxy=proxy:3128", "NO_PROXY=a,.b": "NO_PROXY=a,.b", "GOPROXY=https://u:can,a@ry@a,file:///x@y": "GOPROXY=https://a,file:///x@y",
		"GIT_AUTHOR_EMAIL=me@home": "GIT_AUTHOR_EMAIL=me@home", "PATH=/opt/tool@2/bin": "PATH=/opt/tool@2/bin",
	} {
		if got := Environ([]string{proxy}, nil); !slices.Equal(got, []string{want}) {
			t.Errorf("%s becomes %q, want %s", proxy, got, want)
		}
	}
	if got := len(Environ([]string{"Path=C:\\", "systemroot=C:\\Windows"}, nil)) == 2; got != (runtime.GOOS == "windows") {
		t.Errorf("names without regard to case: %v on %s", got, runtime.GOOS)
	}
}

func TestLookup(t *testing.T) {
	if v := Lookup([]string{"LANG=de", "LANGUAGE=en", "LANG=fr"}, "LANG"); v != "fr" {
		t.Errorf("the last value of a name counts, and not %q", v)
	}
}
