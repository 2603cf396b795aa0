package abci_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
)

// TestLeader: the answer to /leader names exactly the participants that may close the round, in
// every view up to the last one and after it.
func TestLeader(t *testing.T) {
	for name, change := range map[string]func(*app.State){
		"all have a reputation": func(*app.State) {},
		"one of rank 0 has lost its own": func(s *app.State) {
			s.Participants[s.Progress.Ranking[0]].Reputation = 0
		},
		"one is not ranked": func(s *app.State) { s.Progress.Ranking = s.Progress.Ranking[:3] },
		"nobody has one": func(s *app.State) {
			for i := range s.Participants {
				s.Participants[i].Reputation = 0
			}
		},
	} {
		s := apptest.State(4)
		change(s)
		ranks, q := uint64(len(s.Progress.Ranking)), query.New(query.Queries{State: func() *app.State { return s }})
		for height := s.Progress.Opened; height < apptest.Opens(s, ranks+3); height++ {
			s.Height = height - 1
			var r abcitypes.ResponseQuery
			require.NoError(t, q.Answer(&abcitypes.RequestQuery{Path: "/leader"}, &r))
			var l query.Leader
			require.NoError(t, json.Unmarshal(r.Value, &l))
			require.GreaterOrEqual(t, height, apptest.Opens(s, l.View), name)
			require.True(t, l.View == ranks+1 || height < apptest.Opens(s, l.View+1), name)
			for i, p := range s.Participants {
				_, err := s.DraftAggregate(height, uint32(i), nil)
				may := !errors.Is(err, app.ErrNotLeader) && !errors.Is(err, app.ErrViewClosed)
				says := l.Anybody || l.Everybody && p.Reputation > 0 || slices.Contains(l.Leaders, uint32(i))
				require.Equal(t, may, says, "%s: participant %d at height %d: %+v", name, i, height, l)
			}
		}
	}
}
