// Package netguard classifies network addresses by their distance from this machine.
//
// A program that connects to an address from someone else can be tricked into
// contacting a service that only it can reach: a service of this machine, a router, a
// cloud's metadata. Such a program checks the class of the address that it really
// connects to, after any lookup of its name.
//
// # What holds
//
//   - An address that no rule knows is Never. Of IPv6 only the assigned space is
//     Public.
//   - An address that contains an IPv4 address has that one's class, in the forms that
//     a translator on this network may use (NAT64); in the others (6to4, Teredo) it is
//     Never, because it may be any.
//   - This machine's own addresses are Local, even public ones: a service that listens
//     there may trust us as a local program.
package netguard

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Class is the distance of an address from this machine. A greater one is closer.
type Class int

// The classes of addresses.
const (
	Public     Class = iota // any address on the public network
	Translated              // a public address, reached through a translator of this network (NAT64)
	Private                 // of this machine's network
	Local                   // of this machine
	Never                   // not for connections: link-local (a cloud's metadata), multicast, documentation
)

var (
	neverAt = prefixes(
		"0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "192.0.2.0/24", "192.88.99.0/24", "198.51.100.0/24", "203.0.113.0/24",
		"168.63.129.16/32", // Azure's service for its virtual machines
		"::/128", "fe80::/10", "ff00::/8",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	)
	privateAt = prefixes(
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15",
		"fc00::/7", "fec0::/10",
	)
	// The last four bytes of these are an IPv4 address.
	translatedAt = prefixes("64:ff9b::/96", "64:ff9b:1::/48")
	compatibleAt = prefixes("::/96") // the same, in an obsolete form that is no longer translated
	publicAt     = prefixes("0.0.0.0/0", "2000::/3")
)

func prefixes(list ...string) (all []netip.Prefix) {
	for _, p := range list {
		all = append(all, netip.MustParsePrefix(p))
	}
	return all
}

// ByNumber returns the class of an address by its number only, without looking up this
// machine's own addresses.
func ByNumber(ip netip.Addr) Class {
	ip = ip.Unmap().WithZone("")
	in := func(list []netip.Prefix) bool {
		return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	switch {
	case !ip.IsValid() || in(neverAt):
		return Never
	case ip.IsLoopback():
		return Local
	case in(privateAt):
		return Private
	case in(translatedAt):
		return max(Translated, ByNumber(embedded(ip)))
	case in(compatibleAt):
		if c := ByNumber(embedded(ip)); c != Public {
			return c
		}
		return Never
	case in(publicAt):
		return Public
	}
	return Never
}

func embedded(ip netip.Addr) netip.Addr {
	b := ip.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// Of returns the class of an address; this machine's own addresses are Local. An error
// means that they could not be looked up: then the caller should not connect.
func Of(ip netip.Addr) (Class, error) { return among(ip, net.InterfaceAddrs) }

// among is Of with the addresses of this machine from own.
func among(ip netip.Addr, own func() ([]net.Addr, error)) (Class, error) {
	list, err := own()
	if err != nil {
		return Never, fmt.Errorf("look up this machine's own addresses: %w", err)
	}
	c, ip := ByNumber(ip), ip.WithZone("").Unmap()
	if c < Local && slices.ContainsFunc(list, func(n net.Addr) bool {
		p, err := netip.ParsePrefix(n.String())
		return err == nil && p.Addr().WithZone("").Unmap() == ip
	}) {
		c = Local
	}
	return c, nil
}
