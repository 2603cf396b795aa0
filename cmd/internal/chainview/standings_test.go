package chainview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
)

// TestADifferenceIsNotForgotten: who differed beyond the window of a standing is watched.
func TestADifferenceIsNotForgotten(t *testing.T) {
	people := []app.Participant{{Index: 0, Active: true, Reputation: 1}, {Index: 1, Active: true, Reputation: 1}}
	points := make([]Point, 200)
	for t := range points {
		points[t] = Point{Round: uint64(t), Members: []uint32{0, 1}}
		if t >= 40 && t < 80 {
			points[t].Opposed = []uint32{1}
		}
	}
	all := Standings(people, nil, points, 0)
	require.Equal(t, OK, all[0].Alarm)
	require.Equal(t, Watch, all[1].Alarm)
	require.Equal(t, []string{"differed until round 99"}, all[1].Reasons, "30 of the rounds 50 to 99 are opposed")
	require.Equal(t, Recent, all[1].Rounds)
	require.Equal(t, Differs, Standings(people, nil, points[:90], 0)[1].Alarm)
}

// TestAFailedLeaderIsWatched: the chain bars it from elections for longer than a standing's
// window, in which it then fails in no round. It led wrongly 6 times of 167 and stood as "nothing
// against it".
func TestAFailedLeaderIsWatched(t *testing.T) {
	people := []app.Participant{{Index: 0, Active: true, Reputation: 1}, {Index: 1, Active: true, Reputation: 1}}
	points := make([]Point, 100)
	for t := range points {
		points[t] = Point{Round: uint64(t), Members: []uint32{0, 1}}
	}
	for count, alarm := range map[uint32]string{0: OK, 1: OK, 2: Watch, 3: Watch, 4: Watch, 10: Watch} {
		people[1].PassedOver = count
		all := Standings(people, nil, points, 0)
		require.Equal(t, OK, all[0].Alarm)
		require.Equal(t, alarm, all[1].Alarm, count)
		require.Equal(t, alarm == OK, len(all[1].Reasons) == 0)
	}
}

// TestARestoreSettles: an offence makes a suspect, until the members restore the participant; a later one makes it one
// again.
func TestARestoreSettles(t *testing.T) {
	people := []app.Participant{{Index: 0, Active: true, Reputation: 1}, {Index: 1, Active: true, Reputation: 1}}
	offences := []app.Offence{{Participant: 1, Height: 5}}
	require.Equal(t, Suspect, Standings(people, offences, nil, 0)[1].Alarm)
	people[1].SettledHeight = 5
	require.Equal(t, OK, Standings(people, offences, nil, 0)[1].Alarm)
	require.Zero(t, Standings(people, offences, nil, 0)[1].Offences)
	require.Equal(t, Suspect, Standings(people, append(offences, app.Offence{Participant: 1, Height: 6}), nil, 0)[1].Alarm)
}
