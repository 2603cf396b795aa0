package testnet_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/testnet/attack"
)

// chain takes what is submitted.
type chain struct {
	task worker.Task
	got  *tx.Tx
}

func (c *chain) Await(context.Context, []byte, *worker.Task) (*worker.Task, error) {
	return &c.task, nil
}
func (c *chain) Submit(_ context.Context, t *tx.Tx) error { c.got = t; return nil }
func (c *chain) Lead(context.Context, uint32) (*tx.Aggregate, error) {
	return nil, context.Canceled
}

// forge has what an attacker sends in place of an honest gradient taken, if it sends anything.
func forge(t *testing.T, c *chain, bad worker.Chain, honest *tx.Tx) {
	t.Helper()
	sent, err := bad.(worker.Forger).Forge(context.Background(), honest)
	require.NoError(t, err)
	if sent != nil {
		require.NoError(t, bad.Submit(context.Background(), sent))
	}
}

// TestTwisted: a real node's attack on its own gradient is signed, admitted and
// the same when it is sent again.
func TestTwisted(t *testing.T) {
	s := apptest.State(4)
	honest := apptest.Gradient(s, 2)
	own, err := gradients.Decode(s.Grid().Width, len(s.Model), honest.Gradient.Payload)
	require.NoError(t, err)
	for kind, first := range map[string]int64{"constant": 127, "zero": 0, "sign-flip": -own.At(0)} {
		require.NoError(t, attack.Check(kind))
		c := &chain{task: worker.Task{ChainID: apptest.ChainID, Params: s.Params}}
		bad, err := attack.Hooks(kind).Chain(c, worker.Keys{Signing: apptest.Key(2), VRF: apptest.VRFKey(2)})
		require.NoError(t, err)
		forge(t, c, bad, honest)
		sent := c.got
		require.NoError(t, s.Admit(sent), kind)
		v, err := gradients.Decode(s.Grid().Width, len(s.Model), sent.Gradient.Payload)
		require.NoError(t, err)
		require.Equal(t, first, v.At(0), kind)
		forge(t, c, bad, honest)
		require.Equal(t, sent.Raw, c.got.Raw)
	}
}

// TestScripted: a node signs what the script says in place of the worker's gradient. It sends neither
// silence nor the gradient of a closed round.
func TestScripted(t *testing.T) {
	s := apptest.State(4)
	honest := apptest.Gradient(s, 2)
	want := gradients.NewVector(s.Grid().Width, len(s.Model))
	want.Set(1, 5)
	say := want
	c := &chain{task: worker.Task{ChainID: apptest.ChainID, Params: s.Params}}
	bad, err := attack.Scripted(func(task worker.Task) gradients.Vector {
		require.Equal(t, c.task.Round, task.Round)
		return say
	}).Chain(c, worker.Keys{Signing: apptest.Key(2), VRF: apptest.VRFKey(2)})
	require.NoError(t, err)
	forge(t, c, bad, honest)
	require.NoError(t, s.Admit(c.got))
	require.Equal(t, want.Encode(), c.got.Gradient.Payload)

	c.got, say = nil, gradients.Vector{}
	forge(t, c, bad, honest)
	require.Nil(t, c.got)
	c.task.Round, say = 1, want
	forge(t, c, bad, honest)
	require.Nil(t, c.got)
}
