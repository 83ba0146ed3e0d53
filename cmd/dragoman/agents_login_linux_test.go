package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"dragoman/bridge/agent/agenttest"
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
