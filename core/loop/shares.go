package loop

import (
	"math"

	"dragoman/core"
	"dragoman/core/inference"
)

// shares divides the counted tokens of a request and its answer among their parts, by the parts'
// sizes in bytes.
func (c *conversation) shares(req *inference.Request, total, answer int) []core.Share {
	size, all := c.sizes(req), 0
	size[inference.PartMessages] += answer * bytesPerToken
	for _, n := range size {
		all += n
	}
	if all == 0 || total <= 0 {
		return nil
	}
	var list []core.Share
	covered, given := 0, 0
	for _, part := range inference.Parts {
		if size[part] == 0 {
			continue
		}
		covered += size[part]
		upto := int(math.Round(float64(total) * float64(covered) / float64(all)))
		if upto > given {
			list = append(list, core.Share{Part: part, Tokens: upto - given})
		}
		given = upto
	}
	return list
}

// sizes returns the sizes of a request's parts, in bytes.
func (c *conversation) sizes(req *inference.Request) map[string]int {
	size := map[string]int{}
	for _, s := range c.system {
		size[s.Part] += len(s.Text)
	}
	for _, t := range req.Tools {
		size[inference.PartTools] += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		size[inference.PartMessages] += len(m.Text) + weigh(m.Blocks)
		for _, t := range m.Thoughts {
			size[inference.PartMessages] += len(t.Text)
		}
		size[inference.PartCalls] += weigh(m.Result.Blocks)
		for _, u := range m.Calls {
			size[inference.PartCalls] += len(u.Name) + len(u.Args)
		}
	}
	return size
}

// compactPercent returns the percentage of the window above which a conversation is summarized
// automatically; 0: never.
func (c *conversation) compactPercent() int {
	if c.b.o.CompactAt > 1 {
		return 0
	}
	return int(math.Round(c.b.o.CompactAt * 100))
}

// summarized returns the shares after a summary has replaced the messages: tokens is the size of
// everything.
func summarized(shares []core.Share, tokens int) (list []core.Share) {
	for _, s := range shares {
		if s.Part != inference.PartCalls && s.Part != inference.PartMessages {
			list = append(list, s)
			tokens -= s.Tokens
		}
	}
	if list == nil || tokens <= 0 {
		return list
	}
	return append(list, core.Share{Part: inference.PartMessages, Tokens: tokens})
}
