package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// blame returns the transactions of a block that are wrong without regard to the state: they cannot
// be decoded, are not signed by the sender that they name, or differ from the hash that the block's
// aggregate lists. Of operations it checks only the encoding.
func (r *replay) blame(raws [][]byte) (bad []BadTransaction) {
	listed := map[uint32][]byte{}
	for i, raw := range raws {
		hash := sha256.Sum256(raw)
		found := BadTransaction{Index: i, Hash: hex.EncodeToString(hash[:]), Kind: "undecodable"}
		t, err := tx.Decode(raw)
		if err == nil {
			found.Kind = t.Kind().String()
			at, ofRound := tx.PlaceOf(t)
			if !ofRound {
				continue // an operation's validity depends on the state: execution decides
			}
			found.Participant = &at.Participant
			if err = r.signed(t, at.Participant); err == nil && t.Gradient != nil && listed[at.Participant] != nil &&
				!bytes.Equal(listed[at.Participant], t.Content[:]) {
				err = fmt.Errorf("content is %X, the aggregate lists %X", t.Content[:8], listed[at.Participant][:8])
			}
			if a := t.Aggregate; a != nil && i == 0 {
				for _, in := range a.Included {
					listed[in.Participant] = in.Hash
				}
			}
		}
		if err != nil {
			found.Reason = err.Error()
			bad = append(bad, found)
		}
	}
	return bad
}

// signed verifies the signature of a transaction of a round by the participant's key in the state before the block.
func (r *replay) signed(t *tx.Tx, participant uint32) error {
	if uint64(participant) >= uint64(len(r.state.Participants)) {
		return fmt.Errorf("participant %d is not registered", participant)
	}
	return t.Verify(r.state.ChainID, r.state.Participants[participant].PubKey)
}

// appHash returns the divergence of the state after the last executed block, with the differences
// from the node's own record and state if the source is a Witness.
func (r *replay) appHash(ctx context.Context, expected []byte) *Divergence {
	hash := r.state.Hash()
	d := &Divergence{
		Height: r.state.Height, Kind: KindAppHash, Expected: hex.EncodeToString(expected), Found: hex.EncodeToString(hash[:]),
		Reason: fmt.Sprintf("the next header states application hash %X, replayed %X", expected, hash),
	}
	w, ok := r.src.(Witness)
	if !ok {
		return d
	}
	if mine := r.record; mine != nil {
		if theirs, err := w.Record(ctx, mine.Epoch, mine.Round); err == nil && theirs != nil {
			d.Parts = Differences("record", theirs, mine)
		}
	}
	if theirs, err := w.State(ctx); err == nil && theirs != nil && theirs.Height == r.state.Height {
		d.Parts = append(d.Parts, Differences("state", account(theirs), account(r.state))...)
	}
	return d
}

// account returns the parts of a state that the application hash covers, by name, without the chain
// id and the history of rounds.
func account(s *app.State) any {
	return map[string]any{
		"params": s.Params, "progress": s.Progress, "participants": s.Participants, "model": s.Model, "velocity": s.Velocity,
		"proposals": s.Proposals, "offences": s.Offences, "epochs": s.Epochs,
	}
}

// maxDifferences is the max number of values that one call of Differences returns.
const maxDifferences = 32

// Differences returns the values in which the JSON of two values of one type differs, at most 32,
// each with its path below key.
func Differences(key string, expected, found any) []Difference {
	var out []Difference
	differ(key, generic(expected), generic(found), &out)
	return out
}

// generic returns a value decoded from its own JSON: maps, lists, strings and numbers.
func generic(v any) (out any) {
	data, err := json.Marshal(v)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber() // a float64 would hide differences of large integers
		err = d.Decode(&out)
	}
	if err != nil { // a model that overflowed: JSON has no NaN
		return fmt.Sprintf("%v", v)
	}
	return out
}

// differ adds to out the values in which two decoded JSON values differ.
func differ(key string, expected, found any, out *[]Difference) {
	if len(*out) >= maxDifferences {
		return
	}
	switch e := expected.(type) {
	case map[string]any:
		if f, ok := found.(map[string]any); ok {
			all := maps.Clone(e)
			maps.Copy(all, f)
			for _, k := range slices.Sorted(maps.Keys(all)) {
				differ(key+"."+k, e[k], f[k], out)
			}
			return
		}
	case []any:
		if f, ok := found.([]any); ok {
			for i := range max(len(e), len(f)) {
				differ(fmt.Sprintf("%s[%d]", key, i), element(e, i), element(f, i), out)
			}
			return
		}
	}
	if e, f := text(expected), text(found); e != f {
		*out = append(*out, Difference{Key: key, Expected: e, Found: f})
	}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
