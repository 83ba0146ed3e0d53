// Package jsonscan handles JSON as text: it walks over it without decoding it.
//
// There are two ways, for two kinds of readers:
//
//   - [Members], [Elements] and related functions go from value to value without looking
//     into them. They never read outside of their input, whatever it is, and accept all
//     valid JSON and some invalid JSON. Callers check text from others with [Valid] first,
//     or decode the values.
//   - [Cursor] goes from token to token and accepts only valid JSON, within the requested
//     tokens. With it, the reader of a stream handles the few shapes of most events in one
//     pass, and leaves the others to encoding/json.
//
// Neither can replace the other: the first would look at each byte twice where a text must
// be valid, the second would have to look into values that are only passed on.
//
// Reading allocates only for strings with escapes. Writing goes through encoding/json, with
// [Append] and [Object]: they do not escape for HTML, and keep an order.
package jsonscan
