package home

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// HostNames returns the names in api.hosts, in lower case.
func (c APIConfig) HostNames() (names []string) {
	for name := range strings.SplitSeq(c.Hosts, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// IsOwnHost reports whether a Host header names this host: an address, localhost or one of the names,
// of which "*" is any. With a foreign name that resolves to this host, a page on the web could read
// a node behind a firewall (DNS rebinding).
func IsOwnHost(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || slices.Contains(names, host) || slices.Contains(names, "*")
}
