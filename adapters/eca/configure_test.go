package eca_test

import (
	"encoding/json"
	"errors"
)

// configure accepts only options without mistakes.
func configure(options json.RawMessage) error {
	var o struct{ Wrong, Panics *string }
	if err := json.Unmarshal(options, &o); err != nil {
		return err
	}
	if o.Panics != nil {
		panic(*o.Panics)
	}
	if o.Wrong != nil {
		return errors.New("wrong: unknown key, 100% sure")
	}
	return nil
}
