// Package losses lists what clients that speak ECA are not told, or are told in another way.
package losses

import "dragoman/core/fidelity"

// Encoder lists the facts that the encoder of ECA does not carry as they are.
func Encoder() []fidelity.Loss {
	return []fidelity.Loss{}
}
