//go:build race

package setup

const raced = true
