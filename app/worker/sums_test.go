package worker_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
)

// TestSumsOverARestart: a worker that stopped in any round goes on with its sum, from its journal.
func TestSumsOverARestart(t *testing.T) {
	const rounds = 5
	payloads := func(stopAt uint64) (sent [rounds][]byte) {
		c, conf := newChain(rounds), config(t)
		c.state = apptest.State(1, apptest.Summed, func(p *params.Params) {
			p.Rule.Name, p.TestChain, p.Training.Rounds = "mean", true, rounds
		})
		if stopAt < rounds {
			stopped(t, c, conf, stopAt)
			c.fail = func(int) error { return nil }
		}
		err := worker.Run(within(t), c, conf)
		require.True(t, err == nil || errors.Is(err, worker.ErrBudget), err)
		for _, x := range c.submitted {
			if x.Gradient != nil {
				sent[x.Gradient.Round] = x.Gradient.Payload
			}
		}
		return sent
	}
	whole := payloads(rounds)
	for at := range uint64(rounds) {
		require.Equal(t, whole, payloads(at), "stopped in round %d", at)
	}
}
