// Package jsonscan handles JSON as text: it walks over it without decoding it.
//
// There are two ways, for two kinds of readers:
//
//   - [Members], [Elements] and the functions beside them go from value to value and look
//     into none. They never read outside of their input, whatever it is, and accept all
//     valid JSON and some that is not. Who has the text from elsewhere asks [Valid]
//     first, or decodes what is found.
//   - [Cursor] goes from token to token and accepts nothing but valid JSON, within what was
//     asked of it. A reader of a stream takes in with it, in one pass, the few shapes that
//     most events have, and leaves the others to encoding/json.
//
// Neither can serve for the other: the first would look at each byte twice where a text must
// be valid, the second would have to look into values that are only passed on.
//
// Nothing that reads allocates, but for a string with escapes. What is written goes through
// encoding/json, with [Append] and [Object]: they leave out its escapes for HTML and keep
// an order.
package jsonscan
