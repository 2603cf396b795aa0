package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// secondBlock is a block of a chain under testdata/second, with blocks of its height that a rule
// rejects.
type secondBlock struct {
	vector
	Refused []struct {
		Rule string   `json:"rule"`
		Why  string   `json:"why"`
		Txs  [][]byte `json:"txs"`
	} `json:"refused"`
}

// TestSecondImplementation executes chains that a second implementation wrote from the documents
// alone. The application hash agrees at every height, and each block that the second implementation
// rejects is rejected. Two of the chains, random-1 and weak, are of version 5: their upgrades are to
// version 6, so their state is that of the version in the file, and none of their blocks reaches the
// rules that later versions changed. The others are of version 7:
//
//   - observations: late and absent participants, failed leaders, late commitments;
//   - plain: observations without commit_reveal, leaders of later views;
//   - presents: Presents with and without an effect, up to round 2^64-1;
//   - members: governance, evidence and epochs.
func TestSecondImplementation(t *testing.T) {
	files, err := filepath.Glob("testdata/second/*.json")
	require.NoError(t, err)
	require.Len(t, files, 6)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var v struct {
				vectors
				Version uint64        `json:"version"` // of the state machine at the first height
				Blocks  []secondBlock `json:"blocks"`
			}
			require.NoError(t, json.Unmarshal(data, &v))
			g, err := app.DecodeGenesis(v.Genesis)
			require.NoError(t, err)
			s, err := app.NewState(v.ChainID, v.InitialHeight, v.BlockMaxBytes, g)
			require.NoError(t, err)
			require.Equal(t, v.AppHash, hash(s))
			s = s.As(v.Version)
			rejected := 0
			for _, b := range v.Blocks {
				for _, r := range b.Refused {
					_, err := executeRaw(s, b.Height, r.Txs, b.Proven)
					require.Error(t, err, "height %d: %s, %s", b.Height, r.Rule, r.Why)
					rejected++
				}
				out, err := executeRaw(s, b.Height, b.Txs, b.Proven)
				require.NoError(t, err, b.Height)
				require.Equal(t, b.AppHash, hash(out.State), b.Height)
				s = out.State
			}
			t.Logf("%d blocks executed, %d rejected", len(v.Blocks), rejected)
		})
	}
}

func executeRaw(s *app.State, height uint64, raws [][]byte, proven []piece) (*app.Outcome, error) {
	b := app.Block{Height: height}
	for _, raw := range raws {
		t, err := tx.Decode(raw)
		if err != nil {
			return nil, err
		}
		b.Txs = append(b.Txs, t)
	}
	for _, p := range proven {
		b.Misbehavior = append(b.Misbehavior, app.Misbehavior(p))
	}
	return s.Execute(b)
}
