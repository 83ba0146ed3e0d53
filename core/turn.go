package core

// Turn is one prompt being answered.
type Turn struct{}
