package policy

import (
	"testing"

	"dragoman/core"
)

// Control files are asked about without any rule, under other spellings and by commands that change
// them under names of their own.
func TestControlFilesOfCommands(t *testing.T) {
	for line, asked := range map[string]bool{
		"cp evil .g?t/hooks/":                      true,
		"cp evil .gi*/hooks/pre-commit":            true,
		"cp evil .git/{hooks,x}/pre-commit":        true,
		"cp evil {.git/hooks,x}/pre-commit":        true,
		"cp evil .git/hoo?s/":                      true,
		"d=.gi; cp evil ${d}t/hooks/":              true,
		"cp evil ${d}t/hooks/":                     true,
		"cp evil .gi$x/config":                     true,
		"cp evil $d/hooks/pre-commit":              true,
		"cp evil h/pre-commit":                     true, // a link
		"cd .git; cp ../evil hooks/x":              true,
		"cp evil .gi@(t)/hooks/x":                  true,
		"echo x >> ~/.ssh/authorized_keys":         true,
		"echo x >> $HOME/.gitconfig":               true,
		"cp x ~/.config/systemd/user/":             true,
		"cp x ~/.local/bin/":                       true,
		"echo x > CLAUDE.local.md":                 true,
		"cp x AGENTS.m?":                           true,
		"cp x .github/workflows/ci.yml":            true,
		"tar xf a.tar -C .git/hooks":               true,
		"tar xf a.tar .git/hooks/pre-commit":       true,
		"python3 -c \"open('.git/hooks/x','w')\"":  true,
		"python3 <<E\nopen('.git/hooks/x','w')\nE": true,
		"git config core.fsmonitor ./evil":         true,
		"git config --global core.hooksPath x":     true,
		"git -C sub config alias.x '!y'":           true,
		"git config set core.pager x":              true,
		"git config --edit":                        true,
		"env git config core.editor x":             true,
		"crontab x":                                true,
		"systemctl --user enable x":                true,
		"dragoman config set x":                    true,
		"dragoman mcp-servers add x -- y":          true,
		"./bin/dragoman policy forget --all":       true,
		"sudo dragoman token":                      true,
		"npm config set script-shell x":            true,
		"git config user.name":                     false,
		"git config --get core.pager":              false,
		"git config --list":                        false,
		"git config core.editor":                   false,
		"git config user.email a@b.c":              false,
		"crontab -l":                               false,
		"dragoman version":                         false,
		"dragoman doctor":                          false,
		"cat *.md":                                 false,
		"cat C*.md":                                false,
		"cat C*.md; cat AGENTS.md":                 true,
		"cp x h*/y; cp x h/y":                      true,
		"cat docs/*.md":                            false,
		"for f in *.json; do jq . $f; done":        false,
		"cat $X":                                   false,
		"cat $tmp/a.txt":                           false,
		"~/.local/bin/uv sync":                     false,
		"ls *":                                     false,
		"git apply x.patch":                        false,
		"export PATH=$HOME/.local/bin:$PATH; make": false,
		"echo {a,b}/c":                             false,
	} {
		v := everywhere(t, nil, line)
		if asked != (v.Effect == core.MustAsk) || asked && !v.Hard {
			t.Errorf("%q: %s, hard %t, %q; want asked %t", line, v.Effect, v.Hard, v.Why, asked)
		}
	}
}
