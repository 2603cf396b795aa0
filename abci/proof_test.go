package abci_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/cometbft/cometbft/crypto/merkle"
	cmtcrypto "github.com/cometbft/cometbft/proto/tendermint/crypto"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// closed closes a round of a state in a block with other transactions after it.
func closed(t require.TestingT, s *app.State, others ...*tx.Tx) *app.Outcome {
	out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: append(apptest.Close(s, s.Height+1), others...)})
	require.NoError(t, err)
	return out
}

// chain is a state with an entry in every list, the records of its rounds, the models after them
// and their proofs.
type chain struct {
	*app.State
	records []*app.Record
	models  [][]byte
	history proof.History
}

func grown(t require.TestingT) *chain {
	s := apptest.State(5, func(p *params.Params) { p.Model.Inputs, p.Model.Classes, p.Training.Momentum = 500, 17, 0.5 })
	c := &chain{}
	run := func(others ...*tx.Tx) {
		out := closed(t, s, others...)
		s = out.State
		c.records, c.models = append(c.records, out.Record), append(c.models, app.EncodeParameters(s.Model))
	}
	run()
	epoch := apptest.Sign(0, app.NewStartEpoch(0, 1, 1, s.Params, true, true))
	run(epoch, apptest.Approve(1, epoch), apptest.Approve(2, epoch), apptest.Approve(3, epoch))
	for range 4 {
		run()
	}
	run(apptest.Join(9), apptest.Join(8))
	var d app.Document
	require.NoError(t, d.Unmarshal(s.Encode()))
	for i := range 3 {
		hash := sha256.Sum256([]byte{byte(i)})
		d.Offences = append(d.Offences, app.Offence{Participant: uint32(i), Kind: 1, Evidence: hash[:]})
	}
	data, err := d.Marshal()
	require.NoError(t, err)
	c.State, err = app.DecodeState(s.Height, data)
	require.NoError(t, err)
	require.Len(t, c.Epochs, 1)
	require.Len(t, c.Proposals, 2)
	require.NoError(t, c.history.Grow(c.Closed(), c.each))
	return c
}

// each visits the records after a given one, as a store does.
func (c *chain) each(after *app.Record, yield func(*app.Record) bool) error {
	for _, r := range c.records {
		if (after == nil || r.Height > after.Height) && !yield(r) {
			break
		}
	}
	return nil
}

// all proves every value that can be proven, by key.
func (c *chain) all(t *testing.T) map[string]proof.Proven {
	t.Helper()
	keys := []string{"chain_id", "closed", "history", "params", "progress", "epochs", "model", "offences", "participants",
		"proposals", "velocity", "epochs/0",
		"offences/0", "offences/1", "offences/2", "proposals/0", "proposals/1", "chunk/0", "chunk/1", "chunk/2"}
	for i := range c.Participants {
		keys = append(keys, fmt.Sprintf("participants/%d", i))
	}
	out := map[string]proof.Proven{}
	for _, key := range keys {
		p, err := proof.State(c.State, key)
		require.NoError(t, err, key)
		out[key] = p
	}
	for i, r := range c.records {
		p, err := c.history.Round(c.State, r)
		require.NoError(t, err)
		out["round/"+r.Pair().Key], out["model/"+r.Pair().Key] = p, proof.Model(c.models[i], p)
		for _, at := range []uint64{0, 2} {
			chunk, err := proof.Chunk(c.models[i], at, p)
			require.NoError(t, err)
			require.Equal(t, app.Chunks(c.models[i])[at], chunk.Value)
			out[fmt.Sprintf("chunk/%s/%d", r.Pair().Key, at)] = chunk
		}
	}
	return out
}

// TestEveryValueIsProven: each value is proven under its own key, and under no other.
func TestEveryValueIsProven(t *testing.T) {
	c := grown(t)
	hash := c.Hash()
	proven := c.all(t)
	for key, p := range proven {
		require.NoError(t, p.Verify(key, hash[:]), key)
		root, err := p.Root()
		require.NoError(t, err)
		require.Equal(t, hash, root, key)
		for other, q := range proven {
			if other == key {
				continue
			}
			require.ErrorIs(t, p.Verify(other, hash[:]), proof.ErrNotProven, "%s as %s", key, other)
			if !bytes.Equal(p.Value, q.Value) {
				stolen := proof.Proven{Value: p.Value, Ops: q.Ops}
				require.ErrorIs(t, stolen.Verify(other, hash[:]), proof.ErrNotProven, "%s with the proof of %s", key, other)
			}
		}
		before := hash
		before[7] ^= 1
		require.ErrorIs(t, p.Verify(key, before[:]), proof.ErrNotProven, key)
		require.ErrorIs(t, p.Verify(key, nil), proof.ErrNotProven, key)
	}
	require.Equal(t, []byte(apptest.ChainID), proven["chain_id"].Value)
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 7}, proven["closed"].Value)
	participants, err := app.DecodeParticipants(proven["participants"].Value)
	require.NoError(t, err)
	require.Equal(t, c.Participants, participants)
	epochs, err := app.DecodeEpochs(proven["epochs"].Value)
	require.NoError(t, err)
	require.Equal(t, c.Epochs, epochs)
}

// TestTamperedProofs: no proof with a changed value, hash, key or operator type verifies. Index and
// total of a merkle.Proof may change if they give the same sides, because the key in the leaf tells
// values apart.
func TestTamperedProofs(t *testing.T) {
	c := grown(t)
	hash := c.Hash()
	for key, p := range c.all(t) {
		refused := func(what string, q proof.Proven) {
			require.ErrorIs(t, q.Verify(key, hash[:]), proof.ErrNotProven, "%s: %s", key, what)
		}
		step := 1 + len(p.Value)/200
		for i := 0; i < len(p.Value); i += step {
			bad := bytes.Clone(p.Value)
			bad[i] ^= 1 << (i % 8)
			refused(fmt.Sprint("value byte ", i), proof.Proven{Value: bad, Ops: p.Ops})
		}
		refused("a byte more", proof.Proven{Value: append(bytes.Clone(p.Value), 0), Ops: p.Ops})
		refused("no proof", proof.Proven{Value: p.Value})
		ops := p.Ops.Ops
		with := func(change func(ops []cmtcrypto.ProofOp) []cmtcrypto.ProofOp) proof.Proven {
			return proof.Proven{Value: p.Value, Ops: &cmtcrypto.ProofOps{Ops: change(append([]cmtcrypto.ProofOp(nil), ops...))}}
		}
		for i, op := range ops {
			for _, other := range []string{"", merkle.ProofOpValue, proof.OpList, proof.OpChunks, proof.OpRecord} {
				if other != op.Type {
					refused("type "+other, with(func(ops []cmtcrypto.ProofOp) []cmtcrypto.ProofOp { ops[i].Type = other; return ops }))
				}
			}
			refused("key", with(func(ops []cmtcrypto.ProofOp) []cmtcrypto.ProofOp {
				ops[i].Key = append(bytes.Clone(op.Key), '0')
				return ops
			}))
			refused("no key", with(func(ops []cmtcrypto.ProofOp) []cmtcrypto.ProofOp { ops[i].Key = nil; return ops }))
			refused("left out", with(func(ops []cmtcrypto.ProofOp) []cmtcrypto.ProofOp { return append(ops[:i], ops[i+1:]...) }))
			refused("twice", with(func(ops []cmtcrypto.ProofOp) []cmtcrypto.ProofOp { return append(ops[:i+1], ops[i:]...) }))
			if op.Type != merkle.ProofOpValue {
				refused("data", with(func(ops []cmtcrypto.ProofOp) []cmtcrypto.ProofOp {
					ops[i].Data = append(bytes.Clone(op.Data), 1)
					return ops
				}))
				continue
			}
			eachHash(t, op, func(bad cmtcrypto.ProofOp) {
				refused("hash", with(func(ops []cmtcrypto.ProofOp) []cmtcrypto.ProofOp { ops[i] = bad; return ops }))
			})
		}
	}
}

// eachHash changes each hash of a ValueOp in turn, and then drops each in turn.
func eachHash(t *testing.T, op cmtcrypto.ProofOp, try func(cmtcrypto.ProofOp)) {
	t.Helper()
	decode := func() *cmtcrypto.ValueOp {
		v := new(cmtcrypto.ValueOp)
		require.NoError(t, v.Unmarshal(op.Data))
		return v
	}
	encode := func(v *cmtcrypto.ValueOp) {
		data, err := v.Marshal()
		require.NoError(t, err)
		try(cmtcrypto.ProofOp{Type: op.Type, Key: op.Key, Data: data})
	}
	for i := -1; i < len(decode().Proof.Aunts); i++ {
		v := decode()
		if i < 0 {
			v.Proof.LeafHash[31] ^= 1
			encode(v)
			continue
		}
		v.Proof.Aunts[i][0] ^= 128
		encode(v)
		v = decode()
		v.Proof.Aunts = append(v.Proof.Aunts[:i], v.Proof.Aunts[i+1:]...)
		encode(v)
	}
}

// TestOneValueOpIsEnough: CometBFT's own operators verify each value of the state's tree, and each
// element of a list.
func TestOneValueOpIsEnough(t *testing.T) {
	c := grown(t)
	hash := c.Hash()
	plain := merkle.DefaultProofRuntime()
	n := 0
	for key, p := range c.all(t) {
		if slices.ContainsFunc(p.Ops.Ops, func(op cmtcrypto.ProofOp) bool { return op.Type != merkle.ProofOpValue }) {
			continue // whole lists, and the models of rounds and their chunks, need this package's operators
		}
		n++
		require.NoError(t, plain.VerifyValue(p.Ops, hash[:], proof.KeyPath(key), p.Value), key)
	}
	require.Equal(t, 5+1+3+2+3+5+7, n)
}

func TestNothingToProve(t *testing.T) {
	c := grown(t)
	for _, key := range []string{"", "nothing", "*", "params/0", "params/*", "participants/5", "participants/00",
		"participants/-1", "participants/x", "participants/0/0",
		"offences/3", "chunk/3", "chunk/0/1", "chunk/0/0/0", "epochs/1", "round/0/0", "round/0", "model/0/0", "history/0/0",
		"participants/", "/params"} {
		_, err := proof.State(c.State, key)
		require.ErrorIs(t, err, proof.ErrNoValue, key)
	}
	var synced proof.History
	_, err := synced.Round(c.State, c.records[0])
	require.ErrorIs(t, err, proof.ErrNoValue)
	require.NoError(t, synced.Grow(2, c.each))
	_, err = synced.Round(c.State, c.records[0])
	require.ErrorContains(t, err, "has 2 of 7 records")

	wrong := &chain{State: c.State, records: append([]*app.Record(nil), c.records...)}
	other := *wrong.records[3]
	other.Leader++
	wrong.records[3] = &other
	require.NoError(t, wrong.history.Grow(7, wrong.each))
	for _, r := range wrong.records {
		_, err := wrong.history.Round(c.State, r)
		require.ErrorIs(t, err, proof.ErrNotProven, "records that are not those of the state")
	}
}

// TestHistoryGrows: every record is proven in its own state and in every later one.
func TestHistoryGrows(t *testing.T) {
	c := &chain{State: apptest.State(4, func(p *params.Params) { p.Training.Rounds = 40 })}
	states := []*app.State{c.State}
	for range 33 {
		out := closed(t, c.State)
		c.State, c.records, states = out.State, append(c.records, out.Record), append(states, out.State)
	}
	for size, s := range states {
		require.NoError(t, c.history.Grow(uint64(size), c.each))
		hash := s.Hash()
		for i, r := range c.records {
			p, err := c.history.Round(s, r)
			if i >= size {
				require.ErrorIs(t, err, proof.ErrNoValue)
				continue
			}
			require.NoError(t, err, "%d of %d", i, size)
			require.NoError(t, p.Verify("round/"+r.Pair().Key, hash[:]))
		}
	}
	for size, s := range states[1:] {
		_, err := c.history.Round(s, c.records[size/2])
		require.NoError(t, err, "an older state beside later records")
	}
}

// TestTreesAreCometBFTs: the trees of package app equal those of crypto/merkle at any size.
func TestTreesAreCometBFTs(t *testing.T) {
	var tree []app.Pair
	var leaves [][]byte
	for n := range 41 {
		root := app.Root(tree)
		require.Equal(t, merkle.HashFromByteSlices(leaves), root[:], n)
		pair := app.Pair{Key: fmt.Sprintf("%0*d", 1+n*7, n), Value: bytes.Repeat([]byte{byte(n)}, n*n)}
		tree, leaves = append(tree, pair), append(leaves, pair.Leaf())
		_, proofs := merkle.ProofsFromByteSlices(leaves)
		roots, err := merkle.NewValueOp([]byte(pair.Key), proofs[n]).Run([][]byte{pair.Value})
		require.NoError(t, err)
		root = app.Root(tree)
		require.Equal(t, [][]byte{root[:]}, roots)
	}
}

// TestStateTreeIsSorted: the keys of the state's tree increase, and the hash covers everything in
// the state but its height.
func TestStateTreeIsSorted(t *testing.T) {
	c := grown(t)
	tree := c.Tree()
	for i := range tree[1:] {
		require.Less(t, tree[i].Key, tree[i+1].Key)
	}
	require.Equal(t, c.Hash(), app.Root(tree))
	for what, change := range map[string]func(d *app.Document){
		"chain_id":     func(d *app.Document) { d.ChainId += "x" },
		"params":       func(d *app.Document) { d.Params.Preset = "other" },
		"progress":     func(d *app.Document) { d.Progress.Opened++ },
		"participants": func(d *app.Document) { d.Participants[1].Reputation-- },
		"model":        func(d *app.Document) { d.Model[5000]++ },
		"velocity":     func(d *app.Document) { d.Velocity[5000]++ },
		"closed":       func(d *app.Document) { d.Closed = 11 }, // 7 and 11 have three peaks
		"history":      func(d *app.Document) { d.History[1][0] ^= 1 },
		"proposals":    func(d *app.Document) { d.Proposals = d.Proposals[1:] },
		"offences":     func(d *app.Document) { d.Offences[0], d.Offences[1] = d.Offences[1], d.Offences[0] },
		"epochs":       func(d *app.Document) { d.Epochs[0].Closed++ },
	} {
		var d app.Document
		require.NoError(t, d.Unmarshal(c.Encode()))
		change(&d)
		data, err := d.Marshal()
		require.NoError(t, err)
		other, err := app.DecodeState(c.Height, data)
		require.NoError(t, err)
		var differ []string
		for i, p := range other.Tree() {
			if !bytes.Equal(p.Value, tree[i].Value) {
				differ = append(differ, p.Key)
			}
		}
		require.Equal(t, []string{what}, differ)
		require.NotEqual(t, c.Hash(), other.Hash(), what)
	}
}

// FuzzProof: no bytes of a proof panic its reader, and a proof verifies only for the value in the
// state.
func FuzzProof(f *testing.F) {
	c := grown(f)
	hash := c.Hash()
	for _, key := range []string{"params", "participants/2", "participants", "chunk/1", "model", "epochs/0"} {
		p, err := proof.State(c.State, key)
		require.NoError(f, err)
		ops, err := p.Ops.Marshal()
		require.NoError(f, err)
		f.Add(key, p.Value, ops)
	}
	f.Fuzz(func(t *testing.T, key string, value, ops []byte) {
		p := proof.Proven{Value: value, Ops: new(cmtcrypto.ProofOps)}
		if p.Ops.Unmarshal(ops) != nil {
			return
		}
		_, _ = p.Root()
		if p.Verify(key, hash[:]) == nil {
			own, err := proof.State(c.State, key)
			require.NoError(t, err)
			require.True(t, bytes.Equal(own.Value, value))
		}
	})
}
