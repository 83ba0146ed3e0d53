package eca

import "dragoman/adapters/eca/content"

// details returns the subject and the result of a call; nil if the protocol has no form for them.
func (v *View) details(c *call) any {
	if c.task {
		return v.taskDetails()
	}
	if d := v.subagent(c.now); d != nil {
		return d
	}
	if d := content.Kept(c.now); d != nil {
		return d
	}
	if d := content.Changes(c.now.Content); d != nil {
		return d
	}
	if d := v.allowed.Shell(c.now); d != nil {
		return d
	}
	if d := content.JSON(c.now); d != nil {
		return d
	}
	return nil
}
