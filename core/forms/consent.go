package forms

import "encoding/json"

// consent is the only field of the form that [Consent] returns.
const consent = "allow"

// Consent returns the schema of a form with one checkbox and a text that says what it allows.
func Consent(title, description string) json.RawMessage {
	b := []byte(`{"type":"object","properties":{"` + consent + `":{"type":"boolean","title":`)
	b = append(b, encode(title)...)
	b = append(b, `,"description":`...)
	b = append(b, encode(description)...)
	return append(b, `}},"required":["`+consent+`"]}`...)
}

// Consented reports whether the content of an accepted form of [Consent] ticks its box.
// A content that names the box twice, or in another case, does not.
func Consented(content json.RawMessage) bool {
	var ticked bool
	return decode(content, targets{consent: &ticked}) == nil && ticked
}
