// Package rawinput finds in the input of a tool call what the call would do. External agents put there
// whatever their tools take: nothing says what a member means but its name. A command, a file or an
// address is found wherever it is; what cannot be searched is reported, so that a person is asked.
package rawinput
