package child

// Level is how far programs are confined.
type Level string

// The levels. Full: programs have files, processes and a network of their own, apart from what they
// are let into. Files: they can change only what they are let into, read nothing hidden and reach no
// network, but see other processes. None: they run as the user.
const (
	Full  Level = "full"
	Files Level = "files"
	None  Level = "none"
)

// Confines reports whether programs at this level are kept from changing what they are not let into.
func (l Level) Confines() bool { return l == Full || l == Files }
