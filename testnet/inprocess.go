package testnet

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/link"
)

// InProcess is a localnet whose nodes are goroutines of this process, with real p2p over loopback.
type InProcess struct {
	Net   *Net
	Nodes []*node.Running

	links   *link.Switch // between the nodes, nil if nothing disturbs a link
	failed  chan error
	stopped chan struct{}
	once    sync.Once
}

// StartInProcess starts all nodes. It decodes the data set once for all of them.
func StartInProcess(n *Net, logger log.Logger) (*InProcess, error) {
	p := &InProcess{
		Net: n, Nodes: make([]*node.Running, len(n.Nodes)),
		failed: make(chan error, len(n.Nodes)), stopped: make(chan struct{}),
	}
	var err error
	if p.links, err = n.OpenLinks(); err != nil {
		return nil, err
	}
	load := sync.OnceValues(func() (mnist.Data, error) { return home.LoadData(n.Manifest.Data, n.Genesis.Params.Model) })
	share := func(_ string, _ params.Model, part mnist.Part) (mnist.Set, error) {
		whole, err := load()
		if err != nil {
			return mnist.Set{}, err
		}
		return whole.Train.Part(part)
	}
	errs := make([]error, len(n.Nodes))
	var wg sync.WaitGroup
	for i := range n.Nodes {
		wg.Go(func() {
			hooks := n.Manifest.Hooks(i)
			if len(n.Manifest.Sites) == 0 {
				hooks.Data = share
			}
			c, a := *n.Nodes[i].home.Config, n.Nodes[i].app
			p2p := *c.P2P
			c.P2P = &p2p
			n.Dial(i, p.links, &c, &a)
			p.Nodes[i], errs[i] = node.Start(&c, a, logger.With("node", i), hooks)
			if errs[i] != nil {
				errs[i] = fmt.Errorf("node %d: %w", i, errs[i])
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	for i, r := range p.Nodes {
		go func() {
			select {
			case err := <-r.Failed():
				p.failed <- fmt.Errorf("node %d: %w", i, err)
			case <-p.stopped:
			}
		}()
	}
	return p, nil
}

// Failed delivers the errors from which a node cannot recover.
func (p *InProcess) Failed() <-chan error { return p.failed }

// PeakRSS returns the peak resident memory of this process, in bytes: all nodes and their observer.
func (p *InProcess) PeakRSS() int64 { return peakOfPID(os.Getpid()) }

// Stop stops all nodes.
func (p *InProcess) Stop() error {
	p.once.Do(func() { close(p.stopped) })
	errs := make([]error, len(p.Nodes))
	var wg sync.WaitGroup
	for i, r := range p.Nodes {
		if r != nil {
			wg.Go(func() { errs[i] = r.Stop() })
		}
	}
	wg.Wait()
	if p.links != nil {
		errs = append(errs, p.links.Close())
	}
	return errors.Join(errs...)
}
