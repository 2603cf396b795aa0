package internal_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtlight "github.com/cometbft/cometbft/light"
	"github.com/cometbft/cometbft/light/provider"
	cmtversion "github.com/cometbft/cometbft/proto/tendermint/version"
	"github.com/cometbft/cometbft/types"
	"github.com/cometbft/cometbft/version"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// The chain of these tests has ten validators of equal power and a block in a second, the last of
// them now: so that a header needs seven signatures, and a third of the power is between three and
// four.
const (
	theChain   = "c"
	validators = 10
	tip        = 20
)

// signers are validators with their keys.
type signers []types.MockPV

func newSigners(n int, secret string) signers {
	var all signers
	for i := range n {
		all = append(all, types.NewMockPVWithParams(ed25519.GenPrivKeyFromSecret(fmt.Append(nil, secret, i)), false, false))
	}
	return all
}

func (s signers) set() *types.ValidatorSet {
	var all []*types.Validator
	for _, v := range s {
		all = append(all, types.NewValidator(v.PrivKey.PubKey(), 10))
	}
	return types.NewValidatorSet(all)
}

// block returns a header with an application hash, of the validators of a set, signed by some of
// them.
func block(t *testing.T, chain string, height int64, at time.Time, appHash []byte, set *types.ValidatorSet,
	by signers) *types.LightBlock {
	t.Helper()
	h := &types.Header{
		Version: cmtversion.Consensus{Block: version.BlockProtocol}, ChainID: chain, Height: height, Time: at,
		AppHash:        appHash,
		ValidatorsHash: set.Hash(), NextValidatorsHash: set.Hash(), ProposerAddress: set.Validators[0].Address,
		LastBlockID: types.BlockID{Hash: make([]byte, 32), PartSetHeader: types.PartSetHeader{Total: 1,
			Hash: make([]byte, 32)}},
	}
	id := types.BlockID{Hash: h.Hash(), PartSetHeader: types.PartSetHeader{Total: 1, Hash: make([]byte, 32)}}
	commit := &types.Commit{Height: height, BlockID: id}
	for i, v := range set.Validators {
		sig := types.NewCommitSigAbsent()
		for _, s := range by {
			if string(s.PrivKey.PubKey().Address()) == string(v.Address) {
				sig = types.MakeVoteNoError(t, s, chain, int32(i), height, 0, 2, id, at).CommitSig()
			}
		}
		commit.Signatures = append(commit.Signatures, sig)
	}
	return &types.LightBlock{SignedHeader: &types.SignedHeader{Header: h, Commit: commit}, ValidatorSet: set}
}

// blocks is a node that has some.
type blocks struct {
	chain    string
	at       map[int64]*types.LightBlock
	reported *int // pieces of evidence that it was sent
}

func (b blocks) ChainID() string { return b.chain }

func (b blocks) LightBlock(_ context.Context, height int64) (*types.LightBlock, error) {
	if height == 0 {
		height = tip
	}
	if x := b.at[height]; x != nil {
		return x, nil
	}
	return nil, provider.ErrLightBlockNotFound
}

func (b blocks) ReportEvidence(context.Context, types.Evidence) error { *b.reported++; return nil }

// with returns a node that lies about some heights.
func (b blocks) with(lies ...*types.LightBlock) blocks {
	out := blocks{b.chain, map[int64]*types.LightBlock{}, new(int)}
	for h, x := range b.at {
		out.at[h] = x
	}
	for _, x := range lies {
		out.at[x.Height] = x
	}
	return out
}

// honest is a chain that ended an age ago, its validators, and the trust in its second header.
func honest(t *testing.T, chain string, age time.Duration, all signers, appHash []byte) (blocks, light.Trust) {
	t.Helper()
	b := blocks{chain, map[int64]*types.LightBlock{}, new(int)}
	for h := int64(1); h <= tip; h++ {
		b.at[h] = block(t, chain, h, time.Now().Add(-age-time.Duration(tip-h)*time.Second).UTC(), appHash, all.set(), all)
	}
	return b, light.Trust{ChainID: chain, Height: 2, Hash: b.at[2].Hash()}
}

// ask follows a node to a height.
func ask(t *testing.T, trust light.Trust, height int64, primary provider.Provider,
	witnesses ...provider.Provider) (*types.LightBlock, error) {
	t.Helper()
	h, err := light.Light(t.Context(), trust, primary, witnesses)
	if err != nil {
		return nil, err
	}
	return h.Header(t.Context(), height)
}

var trueHash, falseHash = make([]byte, 32), []byte("another application hash, 32 byt")

// TestUpToTwoThirdsOfThePowerCannotSignForTheTrueValidators: a header that names the true
// validators needs more than two thirds of them, next to the trusted one or far from it, from a
// node or in a file.
func TestUpToTwoThirdsOfThePowerCannotSignForTheTrueValidators(t *testing.T) {
	all := newSigners(validators, "v")
	chain, trust := honest(t, theChain, 0, all, trueHash)
	for _, height := range []int64{trust.Height + 1, tip} {
		for bad := range validators + 1 {
			forged := block(t, theChain, height, chain.at[height].Time, falseHash, all.set(), all[:bad])
			_, err := ask(t, trust, height, chain.with(forged))
			pin := light.Trust{ChainID: theChain, Hash: forged.Hash()}
			_, pinned := light.PinnedHeader(pin, forged).Header(t.Context(), height)
			if 3*bad > 2*validators { // then they are the chain
				require.NoError(t, err)
				require.NoError(t, pinned)
				continue
			}
			require.ErrorIs(t, err, light.ErrNotTrusted, "%d of %d", bad, validators)
			require.ErrorIs(t, pinned, light.ErrNotTrusted, "%d of %d", bad, validators)
		}
	}
}

// TestUpToAThirdOfThePowerCannotNameOtherValidators: nor can anybody change the validators of the
// header next to the trusted one, which has named them.
func TestUpToAThirdOfThePowerCannotNameOtherValidators(t *testing.T) {
	all := newSigners(validators, "v")
	chain, trust := honest(t, theChain, 0, all, trueHash)
	for bad := 1; 3*bad <= validators; bad++ {
		own := append(newSigners(3*validators, "puppet"), all[:bad]...)
		for _, few := range []signers{own, all[:bad]} {
			forged := block(t, theChain, tip, chain.at[tip].Time, falseHash, few.set(), few)
			_, err := ask(t, trust, tip, chain.with(forged))
			require.ErrorIs(t, err, light.ErrNotTrusted, "%d of %d", bad, validators)
		}
	}
	for bad := 1; bad < validators; bad++ {
		next := block(t, theChain, trust.Height+1, chain.at[trust.Height+1].Time, falseHash, all[:bad].set(), all[:bad])
		_, err := ask(t, trust, trust.Height+1, chain.with(next))
		require.ErrorIs(t, err, light.ErrNotTrusted, "%d of %d", bad, validators)
	}
}

// TestMoreThanAThirdOfThePowerDeceivesWhoHasNoWitness: the documented limit. CometBFT's light
// client skips from the trusted header to one that more than a third of the trusted power signed,
// whatever validators that one names. One honest witness is enough to notice, and gets the
// evidence, which convicts them on the chain.
func TestMoreThanAThirdOfThePowerDeceivesWhoHasNoWitness(t *testing.T) {
	all := newSigners(validators, "v")
	chain, trust := honest(t, theChain, 0, all, trueHash)
	few := all[:validators/3+1]
	forged := block(t, theChain, tip, chain.at[tip].Time, falseHash, few.set(), few)
	liar := chain.with(forged)

	b, err := ask(t, trust, tip, liar)
	require.NoError(t, err)
	require.Equal(t, falseHash, []byte(b.AppHash), "it is taken")

	witness := chain.with()
	_, err = ask(t, trust, tip, liar, witness)
	require.ErrorIs(t, err, light.ErrNotTrusted)
	require.ErrorContains(t, err, "a witness has another, valid header")
	require.Positive(t, *witness.reported, "the witness learns who signed")

	_, err = ask(t, trust, tip, liar, liar.with(forged))
	require.NoError(t, err, "witnesses that belong to the liar are none")
	_, err = ask(t, trust, tip, chain.with(), liar)
	require.ErrorIs(t, err, light.ErrNotTrusted, "a lying witness cannot prove its header by the true chain: the "+
		"answer is refused, not replaced")
}

// TestAnotherChainIsNotTrusted: not even one of the same validators, with the same heights and
// times.
func TestAnotherChainIsNotTrusted(t *testing.T) {
	all := newSigners(validators, "v")
	chain, trust := honest(t, theChain, 0, all, trueHash)
	other, _ := honest(t, "another", 0, all, falseHash)
	_, err := ask(t, trust, tip, chain.with(other.at[tip]))
	require.ErrorIs(t, err, light.ErrNotTrusted)
	named := *other.at[tip].Header // the same header under this chain's name, with the signatures for the other
	named.ChainID = theChain
	forged := *other.at[tip]
	commit := *forged.Commit
	commit.BlockID.Hash = named.Hash()
	forged.SignedHeader = &types.SignedHeader{Header: &named, Commit: &commit}
	_, err = ask(t, trust, tip, chain.with(&forged))
	require.ErrorIs(t, err, light.ErrNotTrusted)
	_, err = light.PinnedHeader(light.Trust{ChainID: theChain, Hash: other.at[tip].Hash()}, other.at[tip]).
		Header(t.Context(), tip)
	require.ErrorIs(t, err, light.ErrNotTrusted)
	require.ErrorContains(t, err, `header of chain "another", want "c"`)
}

// TestTrustEnds: validators are believed for the trusting period after they have signed, since they
// may have left and sold their keys; and no header may come from the future.
func TestTrustEnds(t *testing.T) {
	all := newSigners(validators, "v")
	old, trust := honest(t, theChain, 8*24*time.Hour, all, trueHash)
	_, err := ask(t, trust, tip, old)
	require.ErrorIs(t, err, light.ErrNotTrusted)
	require.ErrorContains(t, err, "older than the trusting period: take a newer one")
	trust.Period = 9 * 24 * time.Hour
	_, err = ask(t, trust, tip, old)
	require.NoError(t, err)

	chain, trust := honest(t, theChain, 0, all, trueHash)
	ahead := block(t, theChain, tip, time.Now().Add(time.Minute).UTC(), trueHash, all.set(), all)
	_, err = ask(t, trust, tip, chain.with(ahead))
	require.ErrorIs(t, err, light.ErrNotTrusted)
}

// TestAStaleAnswerIsTrueAndTooOld: who hides the newest blocks proves an older state, which the
// light client cannot know; only the header's age tells.
func TestAStaleAnswerIsTrueAndTooOld(t *testing.T) {
	all := newSigners(validators, "v")
	s := apptest.State(4)
	root := s.Hash()
	chain, trust := honest(t, theChain, time.Hour, all, root[:])
	h, err := light.Light(t.Context(), trust, chain, nil)
	require.NoError(t, err)
	p, err := proof.State(s, "participants/1")
	require.NoError(t, err)
	b, err := modelfile.Answer(t.Context(), "participants/1", p, tip, h)
	require.NoError(t, err)
	require.ErrorIs(t, modelfile.Fresh(b, time.Now(), 10*time.Minute), modelfile.ErrStale)
	require.NoError(t, modelfile.Fresh(b, time.Now(), 2*time.Hour))
}

// TestAProofOfAnotherKeyIsNoAnswer: another participant's, another round's, another state's.
func TestAProofOfAnotherKeyIsNoAnswer(t *testing.T) {
	all := newSigners(validators, "v")
	s, records := trained(t, 2)
	root := s.Hash()
	chain, trust := honest(t, theChain, 0, all, root[:])
	h, err := light.Light(t.Context(), trust, chain, nil)
	require.NoError(t, err)
	proven := map[string]proof.Proven{}
	for _, key := range []string{"participants/0", "participants/1", "participants", "params", "model"} {
		proven[key], err = proof.State(s, key)
		require.NoError(t, err)
	}
	for _, r := range records {
		proven["round/"+r.Pair().Key] = ofRound(t, s, records, r)
	}
	for asked := range proven {
		for got, p := range proven {
			_, err := modelfile.Answer(t.Context(), asked, p, tip, h)
			if asked == got {
				require.NoError(t, err, asked)
				continue
			}
			require.ErrorIs(t, err, proof.ErrNotProven, "%s for %s", got, asked)
		}
	}
	before, _ := trained(t, 1)
	p, err := proof.State(before, "participants/1")
	require.NoError(t, err)
	_, err = modelfile.Answer(t.Context(), "participants/1", p, tip, h)
	require.ErrorIs(t, err, proof.ErrNotProven, "the state of another height")
}

// TestASwappedModelIsRefused: the parameters of one round with the proof of another, and a whole
// true file of another chain.
func TestASwappedModelIsRefused(t *testing.T) {
	all := newSigners(validators, "v")
	s, records := trained(t, 2)
	before, _ := trained(t, 1)
	root := s.Hash()
	chain, trust := honest(t, theChain, 0, all, root[:])
	h, err := light.Light(t.Context(), trust, chain, nil)
	require.NoError(t, err)
	var b proof.Bundle
	b.Round = ofRound(t, s, records, records[1])
	for key, into := range map[string]*proof.Proven{"progress": &b.Progress, "params": &b.Params, "epochs": &b.Epochs,
		"participants": &b.Participants} {
		*into, err = proof.State(s, key)
		require.NoError(t, err)
	}
	f, err := modelfile.New(s.Model, chain.at[tip], b)
	require.NoError(t, err)
	_, err = f.Verify(t.Context(), h)
	require.NoError(t, err)

	swapped := *f
	swapped.Parameters = before.Model
	_, err = swapped.Verify(t.Context(), h)
	require.ErrorIs(t, err, proof.ErrNotProven)
	require.ErrorContains(t, err, "the parameters have hash")

	_, err = modelfile.New(before.Model, chain.at[tip], b)
	require.ErrorIs(t, err, proof.ErrNotProven, "nor is such a file written")

	other, elsewhere := honest(t, theChain, 0, newSigners(validators, "w"), falseHash)
	h, err = light.Light(t.Context(), elsewhere, other, nil)
	require.NoError(t, err)
	_, err = f.Verify(t.Context(), h)
	require.ErrorIs(t, err, proof.ErrNotProven)
	require.ErrorContains(t, err, "the file leads to application hash")
}

// TestTheTrustLevelIsAThird: CometBFT's default trust level is what these tests attack.
func TestTheTrustLevelIsAThird(t *testing.T) {
	require.Equal(t, "1/3", cmtlight.DefaultTrustLevel.String())
}

// trained is a state after some rounds, and their records.
func trained(t *testing.T, rounds int) (*app.State, []*app.Record) {
	t.Helper()
	s := apptest.State(4)
	var records []*app.Record
	for range rounds {
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1)})
		require.NoError(t, err)
		s, records = out.State, append(records, out.Record)
	}
	return s, records
}

// ofRound proves a record in a state.
func ofRound(t *testing.T, s *app.State, all []*app.Record, r *app.Record) proof.Proven {
	t.Helper()
	var history proof.History
	require.NoError(t, history.Grow(s.Closed(), func(after *app.Record, each func(*app.Record) bool) error {
		for _, x := range all {
			if (after == nil || x.Height > after.Height) && !each(x) {
				break
			}
		}
		return nil
	}))
	p, err := history.Round(s, r)
	require.NoError(t, err)
	return p
}
