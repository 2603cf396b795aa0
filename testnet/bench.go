package testnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/libs/log"
	cmtnode "github.com/cometbft/cometbft/node"
	rpclocal "github.com/cometbft/cometbft/rpc/client/local"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/params"
)

// Figures are what a net costs a round.
type Figures struct {
	Rounds int     `json:"rounds"`
	Median float64 `json:"median_ms"` // from one closing block's commit on node 0 to the next
	P90    float64 `json:"p90_ms"`
	Blocks float64 `json:"blocks_per_round"`
	CPU    float64 `json:"cpu_s_per_round"` // user and system, all nodes
	Bytes  float64 `json:"bytes_sent_per_round"`
}

// Comparison is SPDL beside the baseline in one run.
type Comparison struct {
	Validators int     `json:"validators"`
	TxBytes    int     `json:"tx_bytes"`
	SPDL       Figures `json:"spdl"`
	Baseline   Figures `json:"baseline"`
	Ratio      float64 `json:"median_ratio"`
}

// maxBenchRounds is more than any net closes in a run's three minutes.
const maxBenchRounds = 10000

// CheckBench refuses what Bench cannot measure.
func CheckBench(m Manifest, repeat int) error {
	m.Home = "bench" // each run has its own
	p, err := m.check()
	switch t := p.Training.Rounds; {
	case err != nil:
		return err
	case repeat < 1:
		return fmt.Errorf("%d runs of each, want at least 1", repeat)
	case t <= warmup || t > maxBenchRounds:
		return fmt.Errorf("%d rounds, want %d to %d: the first %d are not counted", t, warmup+1, maxBenchRounds, warmup)
	}
	return nil
}

// Bench runs SPDL and the baseline in turn, repeat times each, in process over
// real p2p, with the manifest's parameters and transactions of the same size,
// and pools the rounds of each.
func Bench(ctx context.Context, m Manifest, repeat int, progress io.Writer) (Comparison, error) {
	var spdl, base []sample
	c := Comparison{Validators: m.Validators}
	if err := CheckBench(m, repeat); err != nil {
		return c, err
	}
	for i := range repeat {
		for _, kind := range []string{"spdl", "baseline"} {
			fmt.Fprintf(progress, "%d validators, %s, run %d of %d\n", m.Validators, kind, i+1, repeat)
			s, size, err := benchOne(ctx, m, kind == "baseline")
			if err != nil {
				return c, fmt.Errorf("%s: %w", kind, err)
			}
			c.TxBytes = size
			if kind == "spdl" {
				spdl = append(spdl, s)
			} else {
				base = append(base, s)
			}
		}
	}
	c.SPDL, c.Baseline = figures(spdl), figures(base)
	c.Ratio = c.SPDL.Median / c.Baseline.Median
	return c, nil
}

// sample is one run of a net.
type sample struct {
	gaps   []float64 // ms between closing blocks
	blocks int64
	cpu    float64
	bytes  float64
}

func figures(samples []sample) Figures {
	var f Figures
	var gaps []float64
	var blocks int64
	for _, s := range samples {
		gaps = append(gaps, s.gaps...)
		blocks += s.blocks
		f.CPU += s.cpu
		f.Bytes += s.bytes
	}
	f.Rounds = len(gaps)
	slices.Sort(gaps)
	f.Median, f.P90 = gaps[len(gaps)/2], gaps[len(gaps)*9/10]
	f.Blocks, f.CPU, f.Bytes = float64(blocks)/float64(f.Rounds), f.CPU/float64(f.Rounds), f.Bytes/float64(f.Rounds)
	return f
}

// benchOne runs one net for the manifest's rounds.
func benchOne(ctx context.Context, m Manifest, baseline bool) (s sample, txBytes int, err error) {
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
	n, err := Init(m)
	if err != nil {
		return s, 0, err
	}
	txBytes = gradientTxBytes(n.Genesis.Params)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var nodes []*cmtnode.Node
	if baseline {
		var stop func() error
		nodes, stop, err = startBaseline(ctx, n, txBytes)
		defer func() { err = errors.Join(err, stop()) }()
	} else {
		var p *InProcess
		if p, err = StartInProcess(n, log.NewNopLogger()); err == nil {
			defer func() { err = errors.Join(err, p.Stop()) }()
			for _, r := range p.Nodes {
				nodes = append(nodes, r.Node)
			}
		}
	}
	if err != nil {
		return s, txBytes, err
	}
	s, err = measure(ctx, nodes, rounds)
	return s, txBytes, err
}

// gradientTxBytes is the size of a signed gradient.
func gradientTxBytes(p params.Params) int { return p.Model.Dim()*int(p.Grid.Width) + 168 }

func startBaseline(ctx context.Context, n *Net, size int) (nodes []*cmtnode.Node, stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	stop = func() error {
		cancel()
		var errs []error
		for _, b := range nodes {
			errs = append(errs, b.Stop())
			b.Wait()
			errs = append(errs, b.ProxyApp().Stop()) // as node.Running does
		}
		return errors.Join(errs...)
	}
	var apps []*Baseline
	for i := range n.Nodes {
		c := n.Nodes[i].home.Config
		db, err := dbm.NewDB("application", dbm.BackendType(c.DBBackend), c.DBDir())
		if err != nil {
			return nodes, stop, err
		}
		b := NewBaseline(len(n.Nodes), n.Nodes[i].app.Proposal.Wait, db)
		nd, err := node.New(c, b, log.NewNopLogger())
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

// warmup is how many rounds are not counted: connections are made meanwhile.
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

// sentBytes is what the nodes' connections have sent.
func sentBytes(nodes []*cmtnode.Node) float64 {
	var sum float64
	for _, n := range nodes {
		for _, p := range n.Switch().Peers().Copy() {
			sum += float64(p.Status().SendMonitor.Bytes)
		}
	}
	return sum
}
