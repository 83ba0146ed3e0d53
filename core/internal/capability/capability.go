// Package capability has what agents can do, as far as not every one can.
package capability

// Name names something that not every agent can do.
type Name string

const (
	Rewind    Name = "rewind"
	Fork      Name = "fork"
	Compact   Name = "compact"
	Images    Name = "images"
	Audio     Name = "audio"
	Resources Name = "resources"
)

// Caps lists the capabilities of a back end.
type Caps struct {
	OwnsHistory bool // it remembers the conversation itself; ours is a copy
	Rewind      bool // it can forget the records that a Truncated hides
	Fork        bool
	Steer       bool // it takes messages while a turn runs
	Load        bool // it can import a session that it had before
	Images      bool
	Audio       bool
	Resources   bool // embedded resources in prompts
}

// Has reports whether a back end has a capability. One that works from our log can rewind and
// fork without doing anything.
func Has(c Caps, what Name) bool {
	return map[Name]bool{
		Rewind: c.Rewind || !c.OwnsHistory, Fork: c.Fork || !c.OwnsHistory, Compact: !c.OwnsHistory,
		Images: c.Images, Audio: c.Audio, Resources: c.Resources,
	}[what]
}

// Check returns an *Unsupported for the first capability that an agent lacks.
func Check(agent string, c Caps, needs []Name) error {
	for _, what := range needs {
		if !Has(c, what) {
			return &Unsupported{agent, what}
		}
	}
	return nil
}

// Unsupported refuses a request that an agent does not support.
type Unsupported struct {
	Agent string
	What  Name
}

func (e *Unsupported) Error() string {
	return "agent " + e.Agent + map[Name]string{
		Rewind:    " keeps its own history and cannot forget a part of it",
		Fork:      " keeps its own history and cannot be forked",
		Compact:   " keeps its own history and summarizes it itself",
		Images:    " takes no images",
		Audio:     " takes no audio",
		Resources: " takes no embedded resources",
	}[e.What]
}
