package node

import (
	"bytes"
	"strings"
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/privval"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app"
)

// TestValidatorVotes: blocks without a vote of this node's validator key are counted, and a vote starts the count at
// 0. The log has one warning for each key of the chain that is not this node's.
func TestValidatorVotes(t *testing.T) {
	c, _ := alone(t, 10)
	doc, err := home.ReadGenesis(c)
	require.NoError(t, err)
	g, err := app.DecodeGenesis(doc.AppState)
	require.NoError(t, err)
	s, err := app.NewState("alone", 1, 1<<20, g)
	require.NoError(t, err)
	mine, other := ed25519.PubKey(s.Participants[0].ConsensusKey), ed25519.GenPrivKey().PubKey()

	var out bytes.Buffer
	registry := prometheus.NewRegistry()
	v := &validatorVotes{participant: s.Participants[0].PubKey, key: mine, metrics: metrics.New(registry, "c"),
		logger: log.NewTMLogger(&out)}
	gauge := func() float64 {
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() == "spdl_blocks_since_vote" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	for _, b := range []struct {
		flag cmtproto.BlockIDFlag
		want int64
	}{
		{cmtproto.BlockIDFlagAbsent, 1}, {cmtproto.BlockIDFlagAbsent, 2}, {cmtproto.BlockIDFlagCommit, 0},
		{cmtproto.BlockIDFlagAbsent, 1}, {cmtproto.BlockIDFlagNil, 0},
	} {
		votes := []abcitypes.VoteInfo{{Validator: abcitypes.Validator{Address: other.Address()},
			BlockIdFlag: cmtproto.BlockIDFlagCommit}, {Validator: abcitypes.Validator{Address: mine.Address()},
			BlockIdFlag: b.flag}}
		v.onFinalized(&abcitypes.RequestFinalizeBlock{DecidedLastCommit: abcitypes.CommitInfo{Votes: votes}},
			&app.Outcome{State: s})
		require.Equal(t, b.want, v.silent.Load())
		require.Equal(t, float64(b.want), gauge())
	}
	require.Empty(t, out.String())

	v.key = other
	require.True(t, v.compare(s))
	require.Empty(t, out.String(), "the blocks may be from before a rotation")
	v.current.Store(true)
	require.True(t, v.compare(s))
	require.True(t, v.compare(s))
	require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("this node signs no block")), out.String())
	require.Contains(t, out.String(), "chain="+mine.Address().String())
	require.Contains(t, out.String(), "here="+other.Address().String())

	for name, w := range map[string]*validatorVotes{
		"a relay": {participant: v.participant}, "a node without a participant": {key: other},
	} {
		require.False(t, w.compare(s), name)
	}
	require.False(t, v.compare(nil), "before InitChain")

	v.onFinalized(&abcitypes.RequestFinalizeBlock{}, &app.Outcome{State: s})
	require.Equal(t, 1.0, gauge())
	s.Participants[0].Active = false
	v.onFinalized(&abcitypes.RequestFinalizeBlock{}, &app.Outcome{State: s})
	require.Zero(t, gauge(), "the participant has left")
}

// TestOtherValidatorKey: a node that has caught up warns about a validator key that is not the chain's.
func TestOtherValidatorKey(t *testing.T) {
	t.Parallel()
	c, a := alone(t, 10)
	for i, want := range []int{0, 0, 1} {
		var out bytes.Buffer
		r, err := Start(c, a, log.NewTMLogger(log.NewSyncWriter(&out)), Hooks{})
		require.NoError(t, err)
		if want > 0 { // a node without peers does not find out by itself that it has caught up
			r.logCaughtUp(t.Context(), time.Now(), func() int64 { return 0 })
		}
		require.NoError(t, r.Stop())
		require.Equal(t, want, strings.Count(out.String(), "this node signs no block"))
		if i == 0 {
			privval.GenFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile()).Save()
		}
	}
}
