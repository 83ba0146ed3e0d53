package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"dragoman/bridge/agent/agenttest"
	"dragoman/core/child/childtest"
)

// At a terminal the way to log in is chosen there, and the agent's program then has the terminal for
// itself. What was typed ahead is left to it. An interrupt ends both kinds of logins.
func TestAgentsLoginAtATerminal(t *testing.T) {
	p := newPlace(t)
	login := filepath.Join(p.home, "login")
	p.config(t, "agents:\n"+entry("bot", agenttest.Options{Auth: loginMethods(), Login: login}, ""))
	c := p.onTerminal(t, nil, "agents", "login", "bot")
	c.until("1  Log in with Scripted: Opens a page (web)")
	c.until("Which one (1 to 3)? ")
	c.types("9\n")
	c.until("Which one (1 to 3)? ")
	c.types("2\n4321\n")
	c.until("Signed in.")
	c.until("The login program of agent bot has ended.")
	if err := c.cmd.Wait(); err != nil || !kept(login) {
		t.Errorf("%v; the login is kept: %t", err, kept(login))
	}

	p.config(t, "agents:\n"+entry("bot", agenttest.Options{Auth: loginMethods(), Faults: map[string]string{"authenticate": "stderr Waiting; wait"}}, ""))
	for method, asks := range map[string]string{"bot/here": "Code: ", "bot/web": "bot: Waiting"} {
		c = p.onTerminal(t, nil, "acp", "--login", method)
		c.until(asks)
		c.types("\x03")
		for range c.screen { // until the program has ended
		}
		if err := c.cmd.Wait(); err == nil {
			t.Errorf("%s: a login that was interrupted has succeeded", method)
		}
		if st := c.cmd.ProcessState.Sys().(syscall.WaitStatus); st.Signaled() {
			t.Errorf("%s: the program was ended by %v itself", method, st.Signal())
		}
	}
}

// However we end during a login at a terminal, nothing of its program is left, also if it has left the
// session and refuses to end.
func TestAgentsLoginLeavesNothing(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			odd := childtest.OddSleep()
			t.Cleanup(func() { childtest.Wake(t, odd) })
			o := agenttest.Options{Auth: loginMethods()}
			p.config(t, `agents:
  bot:
    acp:
      env: {`+agenttest.Variable+": '"+o.Value()+`'}
      command:
        - sh
        - -c
        - |
          [ "$1" = --login ] || exec "$0" scripted-agent
          trap '' HUP INT TERM
          setsid sleep `+odd+` &
          (setsid sleep `+odd+` &)
          printf 'Code: '
          read code
          echo "It is $code."
          sleep `+odd+`
        - `+binary+"\n")
			c := p.onTerminal(t, nil, "acp", "--login", "bot/here")
			c.until("Code: ")
			c.types("4321\n")
			c.until("It is 4321.")
			childtest.Soon(t, "all of it runs", func() bool { return len(childtest.Asleep(t, odd)) == 3 })
			if err := c.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := c.cmd.Wait(); err == nil {
				t.Error("it ended well")
			}
			childtest.Soon(t, "all is gone", func() bool { return len(childtest.Asleep(t, odd)) == 0 })
			for range c.screen { // until nobody has the terminal
			}
		})
	}
}
