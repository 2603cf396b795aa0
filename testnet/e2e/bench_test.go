//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	cmtnode "github.com/cometbft/cometbft/node"
	rpclocal "github.com/cometbft/cometbft/rpc/client/local"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/testnet"
)

var (
	sizes  = flag.String("sizes", "4,20", "numbers of validators that BenchmarkRound measures")
	repeat = flag.Int("repeat", 3, "its nets of each application and size")
	rounds = flag.Uint64("rounds", 0, "its rounds of each net; 0 for the preset's")
	flood  = flag.Bool("flood", false, "whether it also runs SPDL with p2p.gossip = \"flood\"")
	reveal = flag.Bool("reveal", false, "whether it also runs SPDL with election.commit_reveal")
	hidden = flag.Uint("hidden", 0, "its hidden units over 28 x 28 pixels, in place of the preset's model: 128 make "+
		"101,770 parameters")
	alone  = flag.Bool("alone", false, "whether it leaves the baseline out, for a profile")
	preset = flag.String("preset", "paper", "its preset")
	rule   = flag.String("rule", "", "its rule, if not the preset's")
	zones  = flag.String("zones", "", "its zones, to which the nodes are dealt in turn; empty: all nodes in one place")
)

// BenchmarkRound compares what a round costs with and without SPDL: it runs nets of
// SPDL and of the baseline in turn. `make bench-net` runs it.
func BenchmarkRound(b *testing.B) {
	for size := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(size)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				m := testnet.Manifest{Validators: n, Preset: *preset, Rounds: *rounds, Rule: *rule}
				if *zones != "" {
					m.Zones = testnet.DealZones(strings.Split(*zones, ","), n)
					b.ReportMetric(m.LongestRoundTrip().Seconds()*500, "longest-way-ms")
				}
				if *hidden > 0 {
					m.Adjust = withHidden(*hidden)
				}
				c, err := compare(b.Context(), m, *repeat, b.Output())
				require.NoError(b, err)
				b.ReportMetric(float64(c.txBytes), "tx-bytes")
				if !*alone {
					b.ReportMetric(c.spdl.median/c.baseline.median, "median-ratio")
					b.ReportMetric(c.spdl.cpu/c.baseline.cpu, "CPU-ratio")
					b.ReportMetric((c.spdl.cpu-c.spdl.gradients)/c.baseline.cpu, "CPU-ratio-without-gradients")
				}
				b.ReportMetric(1000*c.spdl.gradients, "gradients-CPU-ms/round")
				b.ReportMetric(c.spdl.copies, "spdl-copies")
				b.ReportMetric(c.flood.copies, "flood-copies")
				for name, f := range map[string]figures{"spdl": c.spdl, "flood": c.flood, "reveal": c.reveal,
					"baseline": c.baseline} {
					if f.rounds == 0 {
						continue
					}
					b.ReportMetric(f.median, name+"-median-ms")
					b.ReportMetric(f.p90, name+"-p90-ms")
					b.ReportMetric(f.blocks, name+"-blocks/round")
					b.ReportMetric(f.cpu, name+"-CPU-s/round")
					b.ReportMetric(f.bytes/1e6, name+"-MB-sent/round")
				}
			}
		})
	}
}

// withHidden returns a change of the model to one with hidden units over 28 x 28 pixels, or to softmax
// without any.
func withHidden(units uint) func(*params.Params) {
	return func(p *params.Params) {
		p.Model = params.Model{Kind: params.ModelMLP, Inputs: 784, Hidden: uint32(units), Classes: 10, Pool: 1,
			PixelScale: 255}
		if units == 0 {
			p.Model.Kind = params.ModelSoftmax
		}
	}
}

// figures are what a net costs a round.
type figures struct {
	rounds int
	median float64 // ms from one closing block's commit on node 0 to the next
	p90    float64 // ms
	blocks float64
	cpu    float64 // seconds, user and system, all nodes
	bytes  float64 // sent by all nodes
	copies float64 // bytes that a node received by gossip over those of the others' gradients; of SPDL

	gradients float64 // seconds of cpu that gradientCPU measured; of SPDL
}

// comparison is SPDL beside the baseline.
type comparison struct {
	txBytes                       int
	spdl, flood, reveal, baseline figures
}

// compare runs SPDL and the baseline in turn, repeat times each, in process over
// real p2p, with the manifest's parameters and transactions of the same size,
// and pools the rounds of each.
func compare(ctx context.Context, m testnet.Manifest, repeat int, progress io.Writer) (c comparison, err error) {
	samples := map[string][]sample{}
	kinds := []string{"spdl", "baseline"}
	if *alone {
		kinds = []string{"spdl"}
	}
	if *flood {
		kinds = append(kinds, "flood")
	}
	if *reveal {
		kinds = append(kinds, "reveal")
	}
	for i := range repeat {
		for _, kind := range kinds {
			fmt.Fprintf(progress, "%d validators, %s, net %d of %d\n", m.Validators, kind, i+1, repeat)
			var s sample
			m.Gossip = home.GossipAnnounce
			if kind == "flood" {
				m.Gossip = home.GossipFlood
			}
			if m.CommitReveal = nil; kind == "reveal" {
				m.CommitReveal = reveal
			}
			// A CPU profile tells the applications apart: go tool pprof -tagfocus app=spdl.
			pprof.Do(ctx, pprof.Labels("app", kind), func(ctx context.Context) {
				s, c.txBytes, err = runOne(ctx, m, kind == "baseline")
			})
			if err != nil {
				return c, fmt.Errorf("%s: %w", kind, err)
			}
			samples[kind] = append(samples[kind], s)
			one := pool([]sample{s})
			fmt.Fprintf(progress, "  median %.1f ms, CPU %.3f s, %.2f MB sent a round; %.2f copies\n", one.median, one.cpu,
				one.bytes/1e6, one.copies)
		}
	}
	c.spdl = pool(samples["spdl"])
	if !*alone {
		c.baseline = pool(samples["baseline"])
	}
	if *flood {
		c.flood = pool(samples["flood"])
	}
	if *reveal {
		c.reveal = pool(samples["reveal"])
	}
	return c, nil
}

// sample is one run of a net.
type sample struct {
	gaps   []float64 // ms between closing blocks
	blocks int64
	cpu    float64
	bytes  float64
	copies float64
	heap   float64 // bytes of live objects of all nodes after the last round
	disk   float64 // bytes of all homes after the last round

	gradients float64
}

// pool returns the figures of all rounds of the samples.
func pool(samples []sample) figures {
	var f figures
	var gaps []float64
	var blocks int64
	for _, s := range samples {
		gaps = append(gaps, s.gaps...)
		blocks += s.blocks
		f.cpu += s.cpu
		f.bytes += s.bytes
		f.copies += s.copies / float64(len(samples))
		f.gradients += s.gradients / float64(len(samples))
	}
	f.rounds = len(gaps)
	slices.Sort(gaps)
	f.median, f.p90 = gaps[len(gaps)/2], gaps[len(gaps)*9/10]
	f.blocks, f.cpu, f.bytes = float64(blocks)/float64(f.rounds), f.cpu/float64(f.rounds), f.bytes/float64(f.rounds)
	return f
}

// runOne runs one net for the manifest's rounds.
func runOne(ctx context.Context, m testnet.Manifest, baseline bool) (s sample, txBytes int, err error) {
	home, err := os.MkdirTemp("", "spdl-bench-")
	if err != nil {
		return s, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	m.Home = filepath.Join(home, "net")
	// Rounds that close before the measurement begins must not make it wait for
	// ever at the end.
	var rounds int
	adjust := m.Adjust
	m.Adjust = func(p *params.Params) {
		if adjust != nil {
			adjust(p)
		}
		rounds = int(p.Training.Rounds)
		p.Training.Rounds *= 2
	}
	n, err := testnet.Init(m)
	if err != nil {
		return s, 0, err
	}
	if rounds <= warmup {
		return s, 0, fmt.Errorf("%d rounds, want at least %d: the first %d are not counted", rounds, warmup+1, warmup)
	}
	txBytes = gradientTxBytes(n.Genesis.Params)
	var gradients float64
	if !baseline {
		if gradients, err = gradientCPU(n); err != nil {
			return s, txBytes, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var nodes []*cmtnode.Node
	var p *testnet.InProcess
	if baseline {
		var stop func() error
		nodes, stop, err = startBaseline(ctx, n, txBytes, nil)
		defer func() { err = errors.Join(err, stop()) }()
	} else {
		if p, err = testnet.StartInProcess(n, log.NewNopLogger()); err == nil {
			defer func() { err = errors.Join(err, p.Stop()) }()
			for _, r := range p.Nodes {
				nodes = append(nodes, r.Node)
			}
		}
	}
	if err != nil {
		return s, txBytes, err
	}
	if s, err = measure(ctx, nodes, rounds); err == nil && p != nil {
		s.copies, s.gradients = copies(p, txBytes), gradients
		s.heap = liveHeap()
		s.disk, err = bytesIn(m.Home)
	}
	return s, txBytes, err
}

// copies returns how many times a node received the gradients of the others since the net started,
// announcements included.
func copies(p *testnet.InProcess, txBytes int) float64 {
	var all int64
	for _, r := range p.Nodes {
		for _, bytes := range r.ReceivedBytes() {
			all += bytes
		}
	}
	_, round := p.Nodes[0].Application.Pending()
	n := int64(len(p.Nodes))
	return float64(all) / float64(n*(n-1)*int64(round)*int64(txBytes))
}

// gradientTxBytes returns the size of a signed gradient.
func gradientTxBytes(p params.Params) int { return p.Model.Dim()*int(p.Grid.Width) + 168 }

// startBaseline starts a net's nodes with the baseline in place of SPDL, and their
// senders. The change, which may be nil, is made to every node's configuration.
func startBaseline(
	ctx context.Context, n *testnet.Net, size int, change func(*config.Config, *home.AppConfig),
) (nodes []*cmtnode.Node, stop func() error, err error) {
	links, err := n.OpenLinks()
	if err != nil {
		return nil, func() error { return nil }, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop = func() error {
		cancel()
		var errs []error
		if links != nil {
			defer links.Close()
		}
		for _, b := range nodes {
			errs = append(errs, b.Stop())
			b.Wait()
			errs = append(errs, b.ProxyApp().Stop()) // as node.Running does
		}
		return errors.Join(errs...)
	}
	var apps []*baseline
	for i, made := range n.Nodes {
		c, a, err := home.Load(made.Home)
		if err != nil {
			return nodes, stop, err
		}
		if change != nil {
			change(c, &a)
		}
		n.Dial(i, links, c, &a)
		db, err := dbm.NewDB("application", dbm.BackendType(c.DBBackend), c.DBDir())
		if err != nil {
			return nodes, stop, err
		}
		b := newBaseline(len(n.Nodes), a.Proposal.Wait.Duration, db)
		keys := new(home.Keystore)
		validator, err := keys.LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
		if err != nil {
			return nodes, stop, err
		}
		nd, err := node.Build(c, b, validator, log.NewNopLogger(), keys, new(databases.Set))
		if err != nil {
			return nodes, stop, err
		}
		if err := nd.Start(); err != nil {
			return nodes, stop, err
		}
		nodes, apps = append(nodes, nd), append(apps, b)
	}
	// A node that syncs drops what is gossiped to it.
	for _, nd := range nodes {
		for nd.ConsensusReactor().WaitSync() {
			time.Sleep(10 * time.Millisecond)
		}
	}
	for i, nd := range nodes {
		local := rpclocal.New(nd)
		go apps[i].send(ctx, uint32(i), size, func(ctx context.Context, raw []byte) error {
			_, err := local.BroadcastTxSync(ctx, raw)
			return err
		})
	}
	return nodes, stop, nil
}

// warmup is the number of first rounds that are not counted, in which connections are made.
const warmup = 5

// measure watches node 0's blocks until the rounds are closed.
func measure(ctx context.Context, nodes []*cmtnode.Node, rounds int) (s sample, err error) {
	blocks, err := nodes[0].EventBus().Subscribe(ctx, "bench", types.EventQueryNewBlock, 4*rounds+64)
	if err != nil {
		return s, err
	}
	var last time.Time
	var height int64
	for closed := 0; closed < rounds; {
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case msg := <-blocks.Out():
			block := msg.Data().(types.EventDataNewBlock).Block
			if len(block.Txs) == 0 {
				continue
			}
			if t, err := tx.Decode(block.Txs[0]); err == nil && t.Commit != nil {
				continue // the round is not closed
			}
			now := time.Now()
			if closed++; closed == warmup {
				s.cpu, s.bytes, height = -cpuSeconds(), -sentBytes(nodes), block.Height
			} else if closed > warmup {
				s.gaps = append(s.gaps, float64(now.Sub(last).Microseconds())/1000)
			}
			last = now
			s.blocks = block.Height - height
		}
	}
	s.cpu += cpuSeconds()
	s.bytes += sentBytes(nodes)
	return s, nil
}

// cpuSeconds is this process's user and system time.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// sentBytes returns what the nodes' connections have sent.
func sentBytes(nodes []*cmtnode.Node) float64 {
	var sum float64
	for _, n := range nodes {
		for _, p := range n.Switch().Peers().Copy() {
			sum += float64(p.Status().SendMonitor.Bytes)
		}
	}
	return sum
}
