package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestVoters: a vote counts only in the last rounds, whatever it is for.
func TestVoters(t *testing.T) {
	var v Votes
	got, err := v.voters(json.RawMessage(`{"height/round/step":"78/3/1","start_time":"2026-01-02T03:04:05Z",
		"height_vote_set":[
		{"round":0,"prevotes":["nil-Vote","Vote{1:AB}","nil-Vote"],"precommits":["nil-Vote","nil-Vote","nil-Vote"]},
		{"round":1,"prevotes":["Vote{0:CD}","nil-Vote","nil-Vote"],"precommits":["nil-Vote","nil-Vote","nil-Vote"]},
		{"round":2,"prevotes":["Vote{0:CD}","nil-Vote","nil-Vote"],"precommits":["nil-Vote","nil-Vote","Vote{2:EF}"]},
		{"round":3,"prevotes":["nil-Vote","nil-Vote","nil-Vote"],"precommits":["nil-Vote","nil-Vote","nil-Vote"]}]}`))
	require.NoError(t, err)
	require.Equal(t, map[int]bool{0: true, 2: true}, got)
	require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), v.Since)
	require.Equal(t, int64(78), v.Height)
	for at, proposing := range map[string]bool{"78/0/3": true, "78/0/4": false, "78/1/3": false} {
		_, err = v.voters(json.RawMessage(`{"height/round/step":"` + at + `","height_vote_set":[{"prevotes":["nil-Vote"]}]}`))
		require.NoError(t, err)
		require.Equal(t, proposing, v.Proposing, at)
	}
	_, err = v.voters(json.RawMessage(`{"height/round/step":"78/0/3","height_vote_set":[{"prevotes":["Vote{0:AB}"]}]}`))
	require.NoError(t, err)
	require.False(t, v.Proposing, "another has voted")
	_, err = v.voters(json.RawMessage(`{"height_vote_set":3}`))
	require.Error(t, err)
}

// TestStandstill: with a third or more of the validators silent there is no quorum, and the silent are named.
func TestStandstill(t *testing.T) {
	for silent, lost := range map[int]bool{0: false, 1: false, 2: true, 4: true} {
		v := Votes{Silent: []string{`0 "a"`, `1 "b"`, `2 "c"`, `3 "d"`}[:silent], All: 4}
		require.Equal(t, lost, v.Lost(), silent)
		prefix := map[bool]string{false: "No quorum: ", true: "No vote reaches this node"}[silent == v.All]
		require.Equal(t, lost, strings.HasPrefix(v.Standstill(), prefix), silent)
		require.Contains(t, v.Standstill(), fmt.Sprintf("%d of 4 validators vote", 4-silent))
	}
	require.True(t, Votes{Silent: []string{"x"}, All: 3}.Lost(), "two of three are no more than two thirds")
	v := Votes{Silent: []string{"x", "y"}, All: 3, Height: 78, Peers: 77}
	require.True(t, strings.HasPrefix(v.Standstill(), "No quorum: "), "the peers wait for the same block")
	v.Peers = 78
	require.Equal(t, "The node fetches blocks: it lacks block 78, and its peers have block 78", v.Standstill())
	v = Votes{Silent: []string{"x", "y", "z"}, All: 3, Height: 78, Proposing: true}
	require.False(t, v.Lost(), "within the proposer's time nothing is lost")
	require.Equal(t, "The chain waits for the proposal of block 78", v.Standstill())
	many := Votes{Silent: strings.Split(strings.Repeat("x", 20), ""), All: 30}
	require.Contains(t, many.String(), fmt.Sprintf(" and %d more", 20-maxNames))
}
