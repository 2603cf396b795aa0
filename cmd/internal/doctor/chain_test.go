package doctor

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVoters: a vote counts only in the last rounds, whatever it is for.
func TestVoters(t *testing.T) {
	got, err := voters(json.RawMessage(`{"height_vote_set":[
		{"round":0,"prevotes":["nil-Vote","Vote{1:AB}","nil-Vote"],"precommits":["nil-Vote","nil-Vote","nil-Vote"]},
		{"round":1,"prevotes":["Vote{0:CD}","nil-Vote","nil-Vote"],"precommits":["nil-Vote","nil-Vote","nil-Vote"]},
		{"round":2,"prevotes":["Vote{0:CD}","nil-Vote","nil-Vote"],"precommits":["nil-Vote","nil-Vote","Vote{2:EF}"]},
		{"round":3,"prevotes":["nil-Vote","nil-Vote","nil-Vote"],"precommits":["nil-Vote","nil-Vote","nil-Vote"]}]}`))
	require.NoError(t, err)
	require.Equal(t, map[int]bool{0: true, 2: true}, got)
	_, err = voters(json.RawMessage(`{"height_vote_set":3}`))
	require.Error(t, err)
}
