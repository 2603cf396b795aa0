package plan

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

// wide is a plan of an external model over a link.
func wide(n, d int, width gradients.Width, l Link) Input {
	return with(defaults, func(in *Input) {
		in.Participants, in.Byzantine, in.Rule = n, (n-1)/3, "trimmed-mean"
		in.External, in.Width, in.RoundTime, in.Link = d, width, 0, l
	})
}

// fast is a link that delays nothing.
var fast = Link{Rate: 1e15, Cores: 2}

// TestRoundsAsMeasured compares the formula with measured nets of MLPs, each in one process on two
// idle cores, with batches of 100 and two bytes a coordinate: `make bench-net ALONE=1 REPEAT=1`
// with SIZES and HIDDEN of each line. There all nodes share the cores and no link delays anything,
// so the time is CPU time. The last line is a net of processes with slowed links: perturbations
// "slow" of nodes 0 to 2 with a delay of 20 ms and a rate of 416,667 bytes a second for each
// connection, which is 10 Mbit/s for a node, timeout_propose 20 s and proposal.wait 8 s; medians of
// ten rounds.
func TestRoundsAsMeasured(t *testing.T) {
	for _, m := range []struct {
		n, d             int
		cpu, bytes, wall float64 // CPU seconds and sent bytes of all nodes in a round, median seconds
	}{
		{4, 7_850, 0.047, 0.52e6, 0.0444},
		{4, 101_770, 0.240, 5.83e6, 0.1656},
		{4, 1_000_120, 1.764, 52.67e6, 1.0035},
		{10, 7_850, 0.212, 5.60e6, 0.1459},
		{10, 500_860, 3.933, 273.71e6, 2.2554},
	} {
		in, _, err := with(wide(m.n, m.d, gradients.Int16, fast), func(in *Input) {
			in.Batch, in.SamplingRate = 100, 0
		}).fillIn()
		require.NoError(t, err)
		got := in.receivedBytes(in.traffic(m.d))
		cpu := float64(m.n) * (in.work(m.d, in.traffic(m.d)) + stepWork*float64(in.Batch*m.d))
		within := func(what string, times, want, got float64) {
			assert.Less(t, math.Abs(math.Log(got/want)), math.Log(times), "N=%d, d=%d: %s %.4g, measured %.4g", m.n, m.d, what,
				got, want)
		}
		within("bytes", 1.25, m.bytes, float64(m.n)*got)
		within("CPU", 1.25, m.cpu, cpu)
		within("time", 2, m.wall, cpu/(2*coreShare)+4*partPause)
	}
	r := made(t, wide(4, 105_994, gradients.Int8, Link{Rate: 10e6, Latency: 20 * time.Millisecond,
		Step: 250 * time.Millisecond, Cores: 2})).Round
	require.Less(t, math.Abs(math.Log(r.Gradients/0.49)), math.Log(2), r.Gradients)
	require.Less(t, math.Abs(math.Log((r.Block+r.Votes)/1.335)), math.Log(1.25), r.Block+r.Votes)
}

// TestCrowdAsMeasured compares the formula with 1,004 participants on four nodes: `spdl-lab testnet start
// --workers 1000 --rounds 6`, with the default preset of 1,600 parameters, on two cores that others
// used too. CPU time is a node's mean, in seconds a round.
func TestCrowdAsMeasured(t *testing.T) {
	l := fast
	l.Nodes = 4
	in := wide(1004, 1600, gradients.Int8, l)
	full, _, err := in.fillIn()
	require.NoError(t, err)
	require.Less(t, math.Abs(math.Log(full.work(1600, in.traffic(1600))/0.76)), math.Log(1.25))
	require.Less(t, made(t, in).Round.Votes, made(t, wide(1004, 1600, gradients.Int8, fast)).Round.Votes,
		"four nodes vote, and not a thousand")
	l.Nodes = 2000
	alone := wide(1004, 1600, gradients.Int8, fast)
	require.Equal(t, made(t, alone).Round, made(t, wide(1004, 1600, gradients.Int8, l)).Round)
}

// TestRoundOverALink: the parts of a round follow from the link, and the longest part is named.
func TestRoundOverALink(t *testing.T) {
	of := func(n, d int, l Link) Round { return *made(t, wide(n, d, gradients.Int8, l)).Round }
	slow := Link{Rate: 10e6, Latency: 20 * time.Millisecond, Step: time.Second, Cores: 2}
	r := of(4, 1_000_000, slow)
	require.InDelta(t, 1, r.Step, 0)
	require.InDelta(t, 1.1*3*1_000_512/1.25e6+0.02, r.Gradients, 1e-9, "each gradient to all others")
	require.InDelta(t, 3*4_002_752/1.25e6+0.03, r.Block, 1e-9, "the block of each to all peers")
	require.Equal(t, "way of the block", r.BoundBy)
	require.InDelta(t, r.Step+r.Gradients+r.Block+r.Votes+r.Node, r.Seconds, 1e-9)
	require.LessOrEqual(t, float64(r.NodeBytes), r.Seconds*1.25e6, "no link carries more")
	faster := slow
	faster.Rate *= 10
	require.InDelta(t, (r.Block-0.03)/10, of(4, 1_000_000, faster).Block-0.03, 1e-9)
	faster.Latency = 200 * time.Millisecond
	far := of(4, 1600, faster)
	require.Greater(t, far.Votes, 0.4)
	faster.Step = 10 * time.Second
	require.Equal(t, "training step", of(4, 1600, faster).BoundBy)
	require.Greater(t, of(20, 1600, Link{Rate: 1e9, Latency: 20 * time.Millisecond, Cores: 2, Peers: 4}).Gradients,
		of(20, 1600, Link{Rate: 1e9, Latency: 20 * time.Millisecond, Cores: 2, Peers: 19}).Gradients,
		"who has few peers hears by announcement")
	alone := of(1, 1600, slow)
	require.Zero(t, alone.Gradients+alone.Block+alone.Votes)
	require.Zero(t, alone.NodeBytes)
}

// TestDayFollowsTheLink: the traffic of a day follows from the round time over the link, unless a
// round time is given.
func TestDayFollowsTheLink(t *testing.T) {
	in := wide(4, 1_000_000, gradients.Int8, Link{Rate: 100e6, Latency: 20 * time.Millisecond, Step: time.Second,
		Cores: 2})
	p := made(t, in)
	require.InDelta(t, p.Round.Seconds, p.Traffic.Seconds, 0)
	require.InEpsilon(t, float64(p.Round.NodeBytes)*86400/p.Round.Seconds, float64(p.Round.DayBytes), 1e-6)
	in.RoundTime = time.Minute
	require.InDelta(t, 60, made(t, in).Traffic.Seconds, 0)
}

// TestMisfits: the plan warns if a round does not fit the configuration.
func TestMisfits(t *testing.T) {
	config := Config{BlockBytes: 5e6, MostBytes: 104857600, Wait: 2, Propose: 3,
		Vote: 100 * time.Millisecond}
	says := func(l Link, change func(*Input)) string {
		in := wide(4, 1_000_000, gradients.Int8, l)
		in.Config = config
		change(&in)
		return strings.Join(made(t, in).Warnings, "\n")
	}
	same := func(*Input) {}
	good := Link{Rate: 1e9, Latency: 10 * time.Millisecond, Step: time.Second, Cores: 2}
	for _, what := range []string{"proposal.wait", "timeout_p", "genesis will be rejected", "--step"} {
		require.NotContains(t, says(good, same), what)
	}
	slow := good
	slow.Step = 3 * time.Second
	require.Contains(t, says(slow, same), "proposal.wait is 2s: rounds take empty blocks")
	slow = good
	slow.Rate = 40e6
	require.Contains(t, says(slow, same), "consensus.timeout_propose is 3s: proposals are given up")
	slow = good
	slow.Latency = 60 * time.Millisecond
	require.Contains(t, says(slow, same), "a round trip is 120ms")
	slow.Step = 0
	require.Contains(t, says(slow, same), "the trainer's step is not in the time")
	require.Contains(t, says(good, func(in *Input) { in.Config.BlockBytes = 130e6 }),
		"blocks of 130000000 bytes, CometBFT's bound is 104857600")
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]float64{"100Mbit/s": 1e8, "1 Gbit/s": 1e9, "0.5kbit/s": 500} {
		got, err := ParseRate(text)
		require.NoError(t, err)
		require.InDelta(t, want, got, 0)
	}
	for _, text := range []string{"", "100", "100MB/s", "-1Mbit/s", "0Mbit/s", "NaNMbit/s", "InfMbit/s", "1e300Gbit/s",
		"Mbit/s"} {
		_, err := ParseRate(text)
		require.ErrorIs(t, err, ErrInput, text)
	}
	for _, l := range []Link{{Rate: -1, Cores: 1}, {Rate: 1e6}, {Rate: 1e6, Cores: 1, Latency: -1},
		{Rate: 1e6, Cores: 1, Step: -1}, {Rate: 1e6, Cores: 1, Peers: -1}, {Rate: 1e6, Cores: 1, Nodes: -1},
		{Rate: math.NaN(), Cores: 1}} {
		_, err := Make(wide(4, 10, gradients.Int8, l))
		require.ErrorIs(t, err, ErrInput, "%+v", l)
	}
}
