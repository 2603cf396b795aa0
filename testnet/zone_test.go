package testnet

import (
	"context"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet/link"
)

// TestRegions: every two regions have a round trip, the same both ways, that light allows.
func TestRegions(t *testing.T) {
	for _, a := range Regions {
		for _, b := range Regions {
			d, ok := regionRoundTrip(a, b)
			require.True(t, ok, "%s %s", a, b)
			back, _ := regionRoundTrip(b, a)
			require.Equal(t, d, back)
			require.Equal(t, a == b, d == 0)
			require.Less(t, d, 400*time.Millisecond)
		}
	}
	_, ok := regionRoundTrip("tokyo", "atlantis")
	require.False(t, ok)
}

// TestZones: nodes are dealt out in turn, and links have the delay of the manifest's route, or of the
// table where there is none.
func TestZones(t *testing.T) {
	m := Manifest{Home: t.TempDir(), Validators: 5, Zones: DealZones([]string{"tokyo", "frankfurt", "moon"}, 5),
		Routes: []Route{
			{Zones: []string{"moon", "tokyo"}, RoundTrip: 2 * time.Second, Jitter: time.Millisecond, Rate: 5000},
			{Zones: []string{"moon", "frankfurt"}, RoundTrip: time.Second},
		}}
	require.NoError(t, m.Check())
	require.Equal(t, []Zone{{"tokyo", []int{0, 3}}, {"frankfurt", []int{1, 4}}, {"moon", []int{2}}}, m.Zones)
	require.Equal(t, link.Rule{}, m.LinkRule(0, 3))
	require.Equal(t, link.Rule{Delay: 118500 * time.Microsecond}, m.LinkRule(4, 0))
	require.Equal(t, link.Rule{Delay: time.Second, Jitter: time.Millisecond, Rate: 5000}, m.LinkRule(2, 0))
	require.Equal(t, 2002*time.Millisecond, m.LongestRoundTrip())
	require.Zero(t, (&Manifest{Validators: 4}).LongestRoundTrip())
}

// TestZonesFail: a net whose nodes have no place or no way to each other is an error.
func TestZonesFail(t *testing.T) {
	two := func(a, b string) []Zone { return []Zone{{a, []int{0, 1}}, {b, []int{2, 3}}} }
	route := func(r Route) Manifest {
		return Manifest{Zones: two("tokyo", "seoul"), Routes: []Route{r}}
	}
	both := []string{"tokyo", "seoul"}
	for says, m := range map[string]Manifest{
		`no route between the zones "tokyo" and "moon": add one, or name zones of virginia`: {Zones: two("tokyo", "moon")},
		`one zone, "paris", delays no link: name at least two`: {
			Zones: []Zone{{"paris", []int{0, 1, 2, 3}}}},
		`node 3 is in no zone`: {Zones: []Zone{{"tokyo", []int{0, 1}}, {"seoul", []int{2}}}},
		`node 1 is in the zones "tokyo" and "seoul", want one`: {
			Zones: []Zone{{"tokyo", []int{0, 1}}, {"seoul", []int{1}}}},
		`node 4 in zone "tokyo", want 0 to 3`:                          {Zones: []Zone{{"tokyo", []int{4}}, {"seoul", nil}}},
		`zone "tokyo", want a name that no other zone has`:             {Zones: two("tokyo", "tokyo")},
		`zone "", want a name that no other zone has`:                  {Zones: two("", "tokyo")},
		`route between the zones ["tokyo"], want two zones`:            route(Route{Zones: both[:1]}),
		`round trip 3s between the zones ["tokyo" "seoul"], want 0 to`: route(Route{Zones: both, RoundTrip: 3 * time.Second}),
		`route between the zones ["tokyo" "seoul"]: rate is -1 bytes`:  route(Route{Zones: both, Rate: -1}),
		`route between the zones ["tokyo" "seoul"], want two zones of`: {Routes: []Route{{Zones: both}}},
	} {
		m.Home, m.Validators = t.TempDir(), 4
		require.ErrorContains(t, m.Check(), says)
	}
}

// TestZonesDelay: between two zones a round takes at least three one-way trips, for the proposal and
// two votes, since no quorum of four nodes fits into a zone of two.
func TestZonesDelay(t *testing.T) {
	stage.OnlyLong(t) // runs a net
	const oneWay = 100 * time.Millisecond
	n, err := Init(Manifest{Home: t.TempDir(), Rounds: 5, Memory: true, Zones: DealZones([]string{"a", "b"}, 4),
		Routes: []Route{{Zones: []string{"a", "b"}, RoundTrip: 2 * oneWay}}})
	require.NoError(t, err)
	nodes, err := StartInProcess(n, log.NewNopLogger())
	require.NoError(t, err)
	defer func() { require.NoError(t, nodes.Stop()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var begin, end time.Time
	require.NoError(t, Follow(ctx, n, nil, func(r Round) error {
		if end = time.Now(); r.Round == 0 {
			begin = end
		}
		require.Equal(t, 4, r.Included)
		return nil
	}))
	require.Greater(t, end.Sub(begin), 4*3*oneWay)
}
