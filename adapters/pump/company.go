package pump

import (
	"time"

	"dragoman/core"
	"dragoman/core/company"
)

// Company tells a client who else is attached to its session. It belongs to the pump's goroutine.
type Company struct {
	of    company.Company
	pause *time.Timer // until the news is told; nil: there is none
	over  bool
}

// See notes the clients of now, and reports whether they are others than before. What that means for the
// client of an attachment is told after a pause, if it still holds.
func (c *Company) See(p *Pump, list []core.Attendee, of func() *core.Attachment, tell func(string)) bool {
	if c.over || !c.of.See(list) {
		return false
	}
	if c.pause == nil {
		c.pause = time.AfterFunc(company.Pause, func() {
			p.Do(func() {
				if c.pause = nil; c.over {
					return
				}
				if text := c.of.News(of().Client().ID); text != "" {
					tell(text)
				}
			})
		})
	}
	return true
}

// Stop ends it: the client no longer follows the session.
func (c *Company) Stop() {
	if c.over = true; c.pause != nil {
		c.pause.Stop()
		c.pause = nil
	}
}
