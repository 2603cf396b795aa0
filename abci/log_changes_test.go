package abci

import (
	"bytes"
	"testing"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// TestLogChanges: the log names a participant that begins to rest and one that ends its rest, and
// the beginning of an epoch, and each convicted participant once; a block that changes none of these adds no line.
func TestLogChanges(t *testing.T) {
	var out bytes.Buffer
	a := &Application{log: log.NewTMLogger(&out), options: Options{OwnKey: []byte{7}}}
	state := func(epoch, round uint64, rests ...uint64) *app.State {
		s := &app.State{Height: 9, Params: params.Params{Training: params.Training{Rounds: 5}},
			Progress: app.Progress{Epoch: epoch, Round: round}}
		for i, until := range rests {
			s.Participants = append(s.Participants, app.Participant{Index: uint32(i), Moniker: string(rune('a' + i)),
				PubKey: []byte{byte(6 + i)}, Active: true, Rests: until})
		}
		return s
	}
	says := func(before, after *app.State, lines ...string) {
		t.Helper()
		out.Reset()
		a.logChanges(before, after)
		require.Equal(t, len(lines), bytes.Count(out.Bytes(), []byte("\n")), out.String())
		for _, line := range lines {
			require.Regexp(t, line, out.String())
		}
	}
	says(state(0, 1, 0, 0), state(0, 2, 0, 0))
	says(state(0, 2, 0, 0), state(0, 3, 0, 2),
		`a participant was late.* round=3 height=9 participant=1 moniker=b strikes=0 own=true`)
	says(state(0, 3, 2, 0), state(0, 4, 0, 0),
		`rounds wait for a participant again.* participant=0 moniker=a strikes=0 own=false`)
	convicted := state(0, 4, 0, 0)
	convicted.Offences = []app.Offence{{Participant: 1, Misbehavior: 1, Voted: 7, Height: 9},
		{Kind: 1, Round: 3, Height: 9}}
	says(state(0, 4, 0, 0), convicted,
		`E\[.*this node's participant is convicted.* participant=1 moniker=b offence="duplicate vote at height 7, proven`,
		`participant is convicted: its .* participant=0 moniker=a offence="two gradients for epoch 0, round 3, proven at`)
	says(convicted, convicted)
	says(state(0, 5, 0), state(1, 0, 0), `epoch begins.* epoch=1 round=0 height=9 rounds=5 participants=1`)
}
