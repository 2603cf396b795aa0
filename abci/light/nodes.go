//go:build !js

package light

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cometbft/cometbft/light/provider"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/internal/wait"
)

// patience is the max time that a node may take to answer a request for its status. It applies only
// if the workers know another node.
const patience = 1500 * time.Millisecond

// node is a node that workers query and send transactions to.
type node struct {
	*client.Client
	provider provider.Provider

	// The mutex of chain.outbox guards these fields.
	senders int       // the number of goroutines that send to the node
	failed  int       // the number of unanswered requests since the node's last answer
	rests   time.Time // before this time the node gets transactions only if all nodes rest
}

// checkAlive returns nil if the node answers within patience.
func (n *node) checkAlive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := n.RPC().Status(ctx); err != nil {
		return fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	return nil
}

// nodes are the nodes that workers know. The workers query one of them, the current node, until it
// fails. They distribute transactions over all of them.
type nodes struct {
	all   []*node
	moves atomic.Uint64
}

func newNodes(clients []*client.Client, chainID string) *nodes {
	var s nodes
	for _, c := range clients {
		s.all = append(s.all, &node{Client: c, provider: c.Provider(chainID)})
	}
	return &s
}

func (s *nodes) current() *node { return s.all[s.moves.Load()%uint64(len(s.all))] }

// ask calls f, which queries the current node. If f fails, except with a *client.Refusal, the next node becomes the
// current node. While f runs, ask checks whether the node is alive, and cancels f's context if it is not, because a
// hanging node may accept connections and never answer. If only one node is known, ask only calls f.
func (s *nodes) ask(ctx context.Context, f func(context.Context) error) error {
	if len(s.all) == 1 {
		return f(ctx)
	}
	at := s.moves.Load()
	n := s.all[at%uint64(len(s.all))]
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for wait.For(asking, patience/6) == nil {
			if n.checkAlive(asking) != nil {
				cancel()
			}
		}
	}()
	err := f(asking)
	var refusal *client.Refusal
	if err != nil && ctx.Err() == nil && !errors.As(err, &refusal) {
		s.moves.CompareAndSwap(at, at+1)
	}
	return err
}
