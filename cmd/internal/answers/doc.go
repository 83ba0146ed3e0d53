// Package answers keeps what people allow for good in a terminal, shows and forgets what they have
// allowed, and says what the rules decide about a call.
//
// Nothing is run: a question about a call is put to the policy of a session in the current folder, as
// the session would put it, and the answer is printed.
package answers
