package netguard

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

func TestNearness(t *testing.T) {
	for ip, want := range map[string]Class{
		"8.8.8.8": Public, "2606:4700::1111": Public, "10.1.2.3": Private, "172.31.0.1": Private, "192.168.1.1": Private, "100.64.0.1": Private,
		"fd00:ec2::254": Private, "127.0.0.1": Local, "127.9.9.9": Local, "::1": Local, "::ffff:127.0.0.1": Local, "::ffff:10.0.0.1": Private,
		"64:ff9b::7f00:1": Local, "64:ff9b::a9fe:a9fe": Never, "::7f00:1": Local, "169.254.169.254": Never, "fe80::1%eth0": Never, "0.0.0.0": Never,
		"::": Never, "0.1.2.3": Never, "224.0.0.1": Never, "255.255.255.255": Never, "ff02::1": Never,
		// Addresses that only one of the two former guards knew.
		"168.63.129.16": Never, "::ffff:168.63.129.16": Never, "192.0.2.1": Never, "198.51.100.7": Never, "203.0.113.9": Never, "192.88.99.1": Never,
		"2001:db8::1": Never, "3fff::1": Never, "2002:7f00:1::": Never, "2002:808:808::": Never, "2001::1": Never, "100::1": Never, "5f00::1": Never,
		"::808:808": Never, "64:ff9b::808:808": Translated, "64:ff9b::a00:1": Private, "192.0.0.8": Private, "198.18.0.1": Private, "fec0::1": Private,
	} {
		if got := ByNumber(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: %d, want %d", ip, got, want)
		}
	}
	if ByNumber(netip.Addr{}) != Never {
		t.Error("no address is one to connect to")
	}
}

// The addresses by which others reach this machine are as close as its loopback
// address.
func TestOwnAddresses(t *testing.T) {
	own := []net.Addr{
		&net.IPNet{IP: net.ParseIP("203.1.113.9"), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("2606:4700::9"), Mask: net.CIDRMask(64, 128)},
		&net.IPNet{IP: net.ParseIP("192.168.1.5"), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("169.254.1.1"), Mask: net.CIDRMask(16, 32)},
	}
	for a, want := range map[string]Class{
		"203.1.113.9": Local, "203.1.113.8": Public, "2606:4700::9": Local, "2606:4700::8": Public, "::ffff:203.1.113.9": Local,
		"192.168.1.5": Local, "192.168.1.6": Private, "169.254.1.1": Never,
	} {
		if got, err := among(netip.MustParseAddr(a), func() ([]net.Addr, error) { return own, nil }); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", a, got, err, want)
		}
	}
	c, err := among(netip.MustParseAddr("1.1.1.1"), func() ([]net.Addr, error) { return nil, errors.New("no list") })
	if err == nil || c != Never {
		t.Errorf("an address that may be this machine's: %d, %v", c, err)
	}
}
