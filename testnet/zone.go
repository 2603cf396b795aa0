package testnet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spdl/spdl/testnet/link"
)

// Zone is a place with some of a localnet's nodes. Traffic between two zones is delayed by half of
// their round trip each way; traffic within a zone is not.
type Zone struct {
	Name  string `mapstructure:"name"`
	Nodes []int  `mapstructure:"nodes"`
}

// Route describes the way between two zones. A route that the manifest does not list has the round
// trip of Regions, without jitter and with no limit of its rate.
type Route struct {
	Zones     []string      `mapstructure:"zones"`      // the two zones
	RoundTrip time.Duration `mapstructure:"round_trip"` // both ways together
	Jitter    time.Duration `mapstructure:"jitter"`     // a random addition of up to this, each way
	Rate      int           `mapstructure:"rate"`       // max bytes a second of a connection, each way; 0: no limit
}

// maxRoundTrip bounds a round trip: with longer ones the timeouts of consensus no longer suffice.
const maxRoundTrip = 2 * time.Second

// rule returns the rule of one way of the route.
func (r Route) rule() link.Rule {
	return link.Rule{Delay: r.RoundTrip / 2, Jitter: r.Jitter, Rate: r.Rate}
}

// DealZones puts the nodes of a net into zones in turn: node 0 into the first, node 1 into the second.
func DealZones(names []string, nodes int) []Zone {
	zones := make([]Zone, len(names))
	for i := range zones {
		zones[i].Name = names[i]
	}
	for k := range nodes {
		zones[k%len(zones)].Nodes = append(zones[k%len(zones)].Nodes, k)
	}
	return zones
}

// checkZones returns an error unless every node is in one zone and every two zones have a route.
func (m *Manifest) checkZones() error {
	if len(m.Zones) == 1 {
		return fmt.Errorf("one zone, %q, delays no link: name at least two", m.Zones[0].Name)
	}
	var seen []string
	for _, z := range m.Zones {
		if z.Name == "" || slices.Contains(seen, z.Name) {
			return fmt.Errorf("zone %q, want a name that no other zone has", z.Name)
		}
		seen = append(seen, z.Name)
	}
	if err := m.checkPlaces(); err != nil {
		return err
	}
	for _, r := range m.Routes {
		if err := m.checkRoute(r, seen); err != nil {
			return err
		}
	}
	for i, a := range seen {
		for _, b := range seen[:i] {
			if _, ok := m.route(a, b); !ok {
				return fmt.Errorf("no route between the zones %q and %q: add one, or name zones of %s", b, a,
					strings.Join(Regions, ", "))
			}
		}
	}
	return nil
}

// checkPlaces returns an error unless there are no zones or every node is in one zone.
func (m *Manifest) checkPlaces() error {
	places := make([]string, m.nodes())
	for _, z := range m.Zones {
		for _, k := range z.Nodes {
			switch {
			case k < 0 || k >= len(places):
				return fmt.Errorf("node %d in zone %q, want 0 to %d", k, z.Name, len(places)-1)
			case places[k] != "":
				return fmt.Errorf("node %d is in the zones %q and %q, want one", k, places[k], z.Name)
			}
			places[k] = z.Name
		}
	}
	if k := slices.Index(places, ""); k >= 0 && len(m.Zones) > 0 {
		return fmt.Errorf("node %d is in no zone", k)
	}
	return nil
}

func (m *Manifest) checkRoute(r Route, zones []string) error {
	if len(r.Zones) != 2 || r.Zones[0] == r.Zones[1] || !slices.Contains(zones, r.Zones[0]) ||
		!slices.Contains(zones, r.Zones[1]) {
		return fmt.Errorf("route between the zones %q, want two zones of the manifest", r.Zones)
	}
	if r.RoundTrip < 0 || r.RoundTrip > maxRoundTrip {
		return fmt.Errorf("round trip %v between the zones %q, want 0 to %v", r.RoundTrip, r.Zones, maxRoundTrip)
	}
	if err := r.rule().Check(); err != nil {
		return fmt.Errorf("route between the zones %q: %w", r.Zones, err)
	}
	return nil
}

// route returns the route between two zones, from the manifest or from the table of regions.
func (m *Manifest) route(a, b string) (Route, bool) {
	for _, r := range m.Routes {
		if slices.Contains(r.Zones, a) && slices.Contains(r.Zones, b) && a != b {
			return r, true
		}
	}
	d, ok := regionRoundTrip(a, b)
	return Route{Zones: []string{a, b}, RoundTrip: d}, ok
}

// zoneOf returns the name of a node's zone, or "" in a net without zones.
func (m *Manifest) zoneOf(node int) string {
	for _, z := range m.Zones {
		if slices.Contains(z.Nodes, node) {
			return z.Name
		}
	}
	return ""
}

// LinkRule returns the undisturbed rule of the traffic from one node to another.
func (m *Manifest) LinkRule(from, to int) link.Rule {
	a, b := m.zoneOf(from), m.zoneOf(to)
	if a == b {
		return link.Rule{}
	}
	r, _ := m.route(a, b) // checkZones found it
	return r.rule()
}

// LongestRoundTrip returns the longest round trip between two nodes, with jitter; 0 without zones.
func (m *Manifest) LongestRoundTrip() (longest time.Duration) {
	for i := range m.nodes() {
		for k := range i {
			r := m.LinkRule(i, k)
			longest = max(longest, 2*(r.Delay+r.Jitter))
		}
	}
	return longest
}
