package core

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

// EstimateTokens returns about how many tokens a model makes of a text of so many characters.
func EstimateTokens(chars int) int { return (chars + 3) / 4 }

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

// ModelInfo describes a model.
type ModelInfo struct {
	ID       string // PROVIDER/MODEL
	Name     string // for people
	Provider string
	Window   int // tokens; 0: unknown
	MaxOut   int // tokens; 0: unknown
	Tools    bool
	Images   bool
	Thinks   bool
	Offline  bool     // needs no network and is not a language model
	Efforts  []string // names of the reasoning efforts it knows
	Price    *Price   // nil: unknown
}

// Price is the price of a million tokens, in US dollars.
type Price struct {
	In, Out               float64
	CacheRead, CacheWrite float64 // of the tokens in
}

// Cost returns the cost of an answer. Usage.In includes cache reads and cache writes.
func (p Price) Cost(u Usage) float64 {
	plain := max(u.In-u.CacheRead-u.CacheWrite, 0)
	return (float64(plain)*p.In + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite + float64(u.Out)*p.Out) / 1e6
}

// Model is a language model. Core only passes it on; package inference defines the requests.
type Model interface {
	Info() ModelInfo
}
