package internal_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/light/provider"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// localnet is a net that has learnt, a client of its first node and a header of
// it that is trusted.
type localnet struct {
	*client.Client
	trust light.Trust
}

func start(t *testing.T, rounds uint64) localnet {
	t.Helper()
	n, err := testnet.Init(testnet.Manifest{Home: t.TempDir(), Preset: "pixels", Rounds: rounds, Seed: 1, Memory: true})
	require.NoError(t, err)
	nodes, err := testnet.StartInProcess(n, log.NewNopLogger())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, nodes.Stop()) })
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	require.NoError(t, testnet.Follow(ctx, n, nil, func(testnet.Round) error { return nil }))
	c, err := client.New(n.Nodes[0].RPC)
	require.NoError(t, err)
	b, err := c.Provider(n.Manifest.ChainID).LightBlock(ctx, 2)
	require.NoError(t, err)
	return localnet{c, light.Trust{ChainID: n.Manifest.ChainID, Height: 2, Hash: b.Hash()}}
}

// fetch exports the model after a round.
func (n localnet) fetch(ctx context.Context, t *testing.T, round uint64) *modelfile.File {
	t.Helper()
	b, err := client.Ask[query.Bundle](ctx, n.Client, fmt.Sprintf("/bundle/0/%d", round))
	require.NoError(t, err)
	var r app.Record
	require.NoError(t, r.Unmarshal(b.Round.Value))
	m, err := n.ModelOf(ctx, 0, round)
	require.NoError(t, err)
	x, err := app.DecodeParameters(m.Parameters)
	require.NoError(t, err)
	again, err := n.Recompute(ctx, r, nil)
	require.NoError(t, err)
	require.Equal(t, x, again, "the blocks give the model that the node keeps")
	root, err := b.Round.Root()
	require.NoError(t, err)
	header, err := n.HeaderOf(ctx, n.trust.ChainID, int64(b.Height), root)
	require.NoError(t, err)
	f, err := modelfile.New(x, header, b.Bundle)
	require.NoError(t, err)
	return f
}

// lying changes what a provider says.
type lying struct {
	provider.Provider
	change func(*types.LightBlock)
}

func (l lying) LightBlock(ctx context.Context, height int64) (*types.LightBlock, error) {
	b, err := l.Provider.LightBlock(ctx, height)
	if err == nil {
		l.change(b)
	}
	return b, err
}

// fewSign takes votes out of the commits above the trusted height, and leaves so
// many.
func fewSign(above int64, left int) func(*types.LightBlock) {
	return func(b *types.LightBlock) {
		for i := range b.Commit.Signatures {
			if b.Height > above && i >= left {
				b.Commit.Signatures[i] = types.NewCommitSigAbsent()
			}
		}
	}
}

// TestNet: what a localnet has learnt is verified through CometBFT's light client
// from a trusted header to the bytes of the file, and what is wrong is refused
// with its reason.
func TestNet(t *testing.T) {
	stage.OnlyLong(t)
	if testing.Short() {
		t.Skip("runs a net")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	n := start(t, 20)
	chain := n.Provider(n.trust.ChainID)
	headers := func(p provider.Provider) light.Headers {
		h, err := light.Light(ctx, n.trust, p, nil)
		require.NoError(t, err)
		return h
	}
	f := n.fetch(ctx, t, 7)
	b, err := f.Verify(ctx, headers(chain))
	require.NoError(t, err)
	require.Equal(t, f.Card.Height, b.Height)
	own, err := f.Header()
	require.NoError(t, err)
	pin := n.trust
	pin.Height, pin.Hash = b.Height, b.Hash()
	_, err = f.Verify(ctx, light.PinnedHeader(pin, own))
	require.NoError(t, err)

	t.Run("offline", func(t *testing.T) {
		for _, format := range modelfile.Formats() {
			data, err := f.Encode(format)
			require.NoError(t, err)
			file, err := modelfile.Open("m", data, pin.ChainID)
			require.NoError(t, err)
			for _, height := range []int64{0, b.Height} {
				v, err := file.Offline(light.Trust{Height: height, Hash: pin.Hash})
				require.NoError(t, err)
				var text strings.Builder
				v.Text(&text)
				for _, part := range []string{"model after epoch 0 round 7", fmt.Sprintf("%x", pin.Hash), f.Card.ModelHash} {
					require.Contains(t, text.String(), part)
				}
			}
			_, err = file.Offline(light.Trust{Height: b.Height + 1, Hash: pin.Hash})
			require.ErrorIs(t, err, light.ErrNotTrusted)
			_, err = file.Offline(light.Trust{Hash: make([]byte, 32)})
			require.ErrorIs(t, err, light.ErrNotTrusted)
			_, err = modelfile.Open("m", data, "another")
			require.ErrorContains(t, err, `it is of chain "spdl-localnet", want "another"`)
		}
	})
	t.Run("flipped byte in the file", func(t *testing.T) {
		for _, format := range modelfile.Formats() {
			data, err := f.Encode(format)
			require.NoError(t, err)
			step := 1 + len(data)/1500
			for i := 0; i < len(data); i += step {
				bad := append([]byte(nil), data...)
				bad[i] ^= 1 << (i % 8)
				_, err := modelfile.Open("bad", bad, "")
				require.Error(t, err, "%s byte %d", format, i)
			}
			good, which, err := modelfile.Decode(data)
			require.NoError(t, err)
			require.Equal(t, format, which)
			_, err = good.Verify(ctx, headers(chain))
			require.NoError(t, err)
		}
		g := *f
		g.Parameters = append([]float64(nil), f.Parameters...)
		g.Parameters[11] += 1e-9
		_, err := g.Verify(ctx, headers(chain))
		require.ErrorIs(t, err, proof.ErrNotProven)
		require.ErrorContains(t, err, "the parameters have hash")
	})
	t.Run("flipped byte in the proof", func(t *testing.T) {
		g := *f
		g.Card.Proof.Round.Value = append([]byte(nil), f.Card.Proof.Round.Value...)
		g.Card.Proof.Round.Value[20] ^= 1
		_, err := g.Verify(ctx, headers(chain))
		require.ErrorContains(t, err, "the card was changed")
		g.Measured(0.5, "") // a forger can compute the digest
		_, err = g.Verify(ctx, headers(chain))
		require.ErrorIs(t, err, proof.ErrNotProven)
		g = *f
		g.Card.Rule = "mean"
		g.Measured(0.5, "")
		_, err = g.Verify(ctx, headers(chain))
		require.ErrorContains(t, err, "rule is \"mean\", proven is")
	})
	t.Run("wrong chain", func(t *testing.T) {
		wrong := n.trust
		wrong.ChainID = "another"
		_, err := light.Light(ctx, wrong, n.Provider("another"), nil)
		require.ErrorIs(t, err, light.ErrNotTrusted)
		require.ErrorContains(t, err, "another")
		wrong = n.trust
		wrong.Hash = make([]byte, 32)
		_, err = light.Light(ctx, wrong, chain, nil)
		require.ErrorIs(t, err, light.ErrNotTrusted)
		// A header that somebody signed all by himself.
		forged := n.fetch(ctx, t, 7)
		_, err = forged.Verify(ctx, headers(lying{chain, func(b *types.LightBlock) {
			if b.Height > n.trust.Height {
				b.AppHash = make([]byte, 32)
				b.Commit.BlockID.Hash = b.Hash()
			}
		}}))
		require.ErrorIs(t, err, light.ErrNotTrusted)
		_, err = f.Verify(ctx, light.PinnedHeader(n.trust, own))
		require.ErrorIs(t, err, light.ErrNotTrusted)
	})
	t.Run("too few signatures", func(t *testing.T) {
		for left, says := range map[int]string{0: "signed by", 1: "signed by", 2: "it takes more than two thirds"} {
			_, err := f.Verify(ctx, headers(lying{chain, fewSign(n.trust.Height, left)}))
			require.ErrorIs(t, err, light.ErrNotTrusted)
			require.ErrorContains(t, err, says, left)
		}
		few, err := f.Header()
		require.NoError(t, err)
		fewSign(0, 2)(few)
		_, err = light.PinnedHeader(pin, few).Header(ctx, few.Height)
		require.ErrorIs(t, err, light.ErrNotTrusted)
		require.ErrorContains(t, err, "it takes more than two thirds")
	})
	t.Run("answers", func(t *testing.T) {
		for path, asked := range map[string]string{
			"params": "", "progress": "", "participants": "", "participants/2": "", "model": "", "velocity": "", "chunk/0": "",
			"chain_id": "", "closed": "", "epochs": "",
			"model/0/5": "", "round/0/19": "", "round/0/0": "", "proposals": "", "evidence": "offences",
		} {
			if asked == "" {
				asked = path
			}
			p, err := n.Prove(ctx, path)
			require.NoError(t, err, path)
			require.Equal(t, asked, p.Key)
			root, err := p.Root()
			require.NoError(t, err, path)
			at, err := n.HeaderOf(ctx, n.trust.ChainID, p.Height, root)
			require.NoError(t, err, path)
			h := headers(chain)
			_, err = modelfile.Answer(ctx, asked, p.Proven, at.Height, h)
			require.NoError(t, err, path)
			require.NoError(t, modelfile.Fresh(at, at.Time.Add(time.Hour), time.Hour))
			require.NoError(t, modelfile.Fresh(at, at.Time.Add(-time.Hour), time.Second), "a clock that is behind")
			require.NoError(t, modelfile.Fresh(at, at.Time.Add(1000*time.Hour), 0))
			require.ErrorIs(t, modelfile.Fresh(at, at.Time.Add(time.Hour+1), time.Hour), modelfile.ErrStale)
			_, err = modelfile.Answer(ctx, asked+"0", p.Proven, at.Height, h)
			require.ErrorIs(t, err, proof.ErrNotProven, path)
			for i, op := range p.Ops.Ops {
				if len(op.Data) == 0 {
					continue
				}
				op.Data[len(op.Data)-1] ^= 1 // of a hash, or of the record
				_, err = modelfile.Answer(ctx, asked, p.Proven, at.Height, h)
				require.ErrorIs(t, err, proof.ErrNotProven, fmt.Sprint(path, " operator ", i))
				op.Data[len(op.Data)-1] ^= 1
			}
		}
		_, err := n.Prove(ctx, "participants/9")
		var refusal *client.Refusal
		require.ErrorAs(t, err, &refusal)
		// What was proven stays proven while the chain goes on: its age is all that tells.
		old, err := n.Prove(ctx, "progress")
		require.NoError(t, err)
		root, err := old.Root()
		require.NoError(t, err)
		at, err := n.HeaderOf(ctx, n.trust.ChainID, old.Height, root)
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			s, err := n.Status(ctx)
			return err == nil && int64(s.Height) > at.Height+2
		}, time.Minute, 50*time.Millisecond)
		b, err := modelfile.Answer(ctx, "progress", old.Proven, at.Height, headers(chain))
		require.NoError(t, err)
		require.ErrorIs(t, modelfile.Fresh(b, time.Now(), time.Millisecond), modelfile.ErrStale)
	})
}
