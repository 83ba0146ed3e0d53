// Package answers shows what people have allowed for good, forgets it, and says what the rules
// decide about a call.
//
// Nothing is run: a question about a call is put to the policy of a session in the current folder, as
// the session would put it, and the answer is printed.
package answers
