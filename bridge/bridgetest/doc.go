// Package bridgetest provides the servers and clients for the tests of the bridge's packages. It
// imports none of them, because their own tests import it.
package bridgetest
