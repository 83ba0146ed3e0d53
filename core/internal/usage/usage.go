// Package usage counts tokens.
package usage

// Usage counts tokens. Cost is in US dollars; nil means unknown, never free.
type Usage struct {
	In         int      `json:"in"`
	Out        int      `json:"out"`
	CacheRead  int      `json:"cache_read,omitempty"`
	CacheWrite int      `json:"cache_write,omitempty"`
	Reasoning  int      `json:"reasoning,omitempty"`
	Cost       *float64 `json:"cost,omitempty"`
	Estimated  bool     `json:"estimated,omitempty"` // counted from characters, not by the provider
}

// Add returns the sum. The cost of a sum is known only where both are.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{
		In: u.In + v.In, Out: u.Out + v.Out, CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning: u.Reasoning + v.Reasoning, Estimated: u.Estimated || v.Estimated,
	}
	switch {
	case u == (Usage{}):
		sum.Cost = v.Cost
	case u.Cost != nil && v.Cost != nil:
		c := *u.Cost + *v.Cost
		sum.Cost = &c
	}
	return sum
}

// Share is the estimated size of a part of a request to a model, in tokens.
type Share struct {
	Part   string `json:"part"` // package inference has the names
	Tokens int    `json:"tokens"`
}
