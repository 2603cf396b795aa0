package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// grown is a state with some of everything, and the records of its rounds.
func grown(t *testing.T) (*app.State, []app.Record) {
	t.Helper()
	s := apptest.State(4, mean)
	var records []app.Record
	run := func(others ...*tx.Tx) {
		out := round(t, s, others...)
		s = out.State
		records = append(records, *out.Record)
	}
	run()
	run(agreed(another(s, true, true, same))...)
	run()
	run()
	run(apptest.Join(9), equivocation(3, 1, 2))
	require.Len(t, s.Epochs, 1)
	require.Len(t, s.Proposals, 1)
	require.Len(t, s.Offences, 1)
	return s, records
}

func TestProofsOfEveryLeaf(t *testing.T) {
	s, records := grown(t)
	keys := []string{"params", "progress", "participants", "participants/0", "participants/3", "model", "velocity", "proposals", "offences", "epochs", "epochs/0"}
	for i := range s.Chunks() {
		keys = append(keys, fmt.Sprintf("chunk/%d/%d", i, s.Chunks()))
	}
	proven := map[string]app.Proven{}
	for _, key := range keys {
		p, err := s.Prove(key)
		require.NoError(t, err, key)
		proven[key] = p
	}
	var history [][32]byte
	for i := range records {
		history = append(history, records[i].Leaf())
	}
	for i := range records {
		p, err := s.ProveRound(&records[i], uint64(i), history)
		require.NoError(t, err)
		proven[fmt.Sprintf("round/%d/%d", records[i].Epoch, records[i].Round)] = p
	}
	for key, p := range proven {
		require.NoError(t, p.Proof.Verify(key, p.Value, s.Hash()), key)
		refuseFlips(t, key, p, s.Hash())
		for other := range proven {
			if other != key {
				require.ErrorIs(t, p.Proof.Verify(other, p.Value, s.Hash()), app.ErrNotProven, "%s as %s", key, other)
				stolen := p.Proof
				stolen.Key = other
				if len(p.Value) > 0 || other == "params" {
					require.ErrorIs(t, stolen.Verify(other, p.Value, s.Hash()), app.ErrNotProven, "%s as %s", key, other)
				}
			}
		}
	}
}

// refuseFlips flips every bit of the proof, and a bit of every byte of the value
// (of a long one, of every 97th).
func refuseFlips(t *testing.T, key string, p app.Proven, hash [32]byte) {
	t.Helper()
	text := p.Proof.Encode()
	for i := range text {
		for bit := range 8 {
			bad := append([]byte(nil), text...)
			bad[i] ^= 1 << bit
			if q, err := app.DecodeProof(bad); err == nil {
				require.ErrorIs(t, q.Verify(key, p.Value, hash), app.ErrNotProven, "%s: proof byte %d bit %d", key, i, bit)
			}
		}
	}
	step := 1
	if len(p.Value) > 4096 {
		step = 97
	}
	for i := 0; i < len(p.Value); i += step {
		bad := append([]byte(nil), p.Value...)
		bad[i] ^= 1 << (i % 8)
		require.ErrorIs(t, p.Proof.Verify(key, bad, hash), app.ErrNotProven, "%s: value byte %d", key, i)
	}
	require.ErrorIs(t, p.Proof.Verify(key, append(append([]byte(nil), p.Value...), 0), hash), app.ErrNotProven, key)
	hash[7] ^= 1
	require.ErrorIs(t, p.Proof.Verify(key, p.Value, hash), app.ErrNotProven, key)
}

func TestProofsRefuse(t *testing.T) {
	s, records := grown(t)
	for _, key := range []string{"", "nothing", "params/0", "participants/4", "participants/00", "participants/-1", "participants/x", "offences/0", "chunk/1", "chunk/0/9", "epochs/1", "round/0/0", "model/0"} {
		_, err := s.Prove(key)
		require.ErrorIs(t, err, app.ErrNoLeaf, key)
	}
	_, err := s.ProveRound(&records[0], 0, [][32]byte{records[0].Leaf()})
	require.ErrorIs(t, err, app.ErrNoLeaf)
	wrong := [][32]byte{records[0].Leaf(), records[2].Leaf(), records[1].Leaf()}
	_, err = s.ProveRound(&records[0], 0, wrong)
	require.ErrorIs(t, err, app.ErrNoLeaf)
}

// TestProofSizes: trees of every size up to 40 prove each of their leaves, by
// the participants of a state that has so many.
func TestProofSizes(t *testing.T) {
	for _, n := range []int{4, 5, 7, 8, 9, 16, 17, 33} {
		s := apptest.State(n)
		for i := range n {
			key := fmt.Sprintf("participants/%d", i)
			p, err := s.Prove(key)
			require.NoError(t, err)
			require.NoError(t, p.Proof.Verify(key, p.Value, s.Hash()), "%d of %d", i, n)
		}
	}
}

func FuzzDecodeProof(f *testing.F) {
	s := apptest.State(4)
	p, err := s.Prove("participants/2")
	require.NoError(f, err)
	f.Add(p.Proof.Encode(), p.Value)
	f.Add([]byte(`{"key":"chunk/0/18446744073709551615","paths":[[],[]]}`), make([]byte, 8*4096))
	f.Fuzz(func(t *testing.T, data, value []byte) {
		q, err := app.DecodeProof(data)
		if err != nil {
			return
		}
		if root, err := q.Root(value); err == nil && root == s.Hash() {
			own, err := s.Prove(q.Key)
			require.NoError(t, err)
			require.Equal(t, own.Value, value)
		}
	})
}
