package chainview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// TestWhyALeaderFailed: with the digests, with the error, with the heights, and as before where the
// node does not know.
func TestWhyALeaderFailed(t *testing.T) {
	r := &app.Record{Opened: 12, Height: 16, Ranking: []uint32{3, 1}, Leader: 1, View: 1}
	for want, x := range map[string]Witness{
		"the digest of its aggregate, 5c1a0000, is not the rule's, 9e400000": {Attended: true, Attempts: []query.Attempt{
			{Leader: 3, Digest: "5c1a0000ff", Recomputed: "9e400000ff"}}},
		"its aggregate was not valid: Delta is outside the tolerance": {Attended: true, Attempts: []query.Attempt{
			{Leader: 3, Log: "B3: Delta is outside the tolerance"}}},
		"its aggregate was in no block before its turn ended": {Attended: true, Attempts: []query.Attempt{
			{Leader: 3, Digest: "5c1a0000ff", Recomputed: "5c1a0000ff"}}},
		"this node saw no aggregate of it in 4 heights from 12 on": {Attended: true, Attempts: []query.Attempt{{Leader: 2}}},
		"no aggregate of it was accepted":                          {},
	} {
		require.Equal(t, want, x.Turn(3, r))
	}
}

// TestRejectedEarlier: who is absent because rounds do not wait for it is told from one that was
// never there.
func TestRejectedEarlier(t *testing.T) {
	points := []Point{{Round: 0, Refused: []uint32{6}}, {Round: 1, Refused: []uint32{6}}, {Round: 2}, {Round: 5,
		Refused: []uint32{6}}}
	x := Witness{Points: points}
	require.Contains(t, x.earlier(6, &app.Record{Round: 4}), "rejected its gradients of rounds 0 to 1; after such rounds")
	require.Contains(t, x.earlier(6, &app.Record{Round: 9}), "of rounds 0 to 1, 5; after such rounds")
	require.Empty(t, x.earlier(5, &app.Record{Round: 4}))
	verdicts := []Verdict{{Participant: 6, Fate: Absent}}
	x.Tell(verdicts, &app.Record{Round: 4})
	require.Contains(t, verdicts[0].Why, "rounds 0 to 1")
}

// TestRejectionsInNumbers: without the number of a rule.
func TestRejectionsInNumbers(t *testing.T) {
	for want, x := range map[string]query.Rejection{
		"norm 412; the noise alone makes at least 3950":           {Norm: 412, MinNorm: 3950, MaxNorm: 6000},
		"norm 7000; noise and clipped examples make at most 6000": {Norm: 7000, MinNorm: 3950, MaxNorm: 6000},
		"privacy budget is spent":                                 {Log: "G7: privacy budget is spent"},
		"no rule: this text stays":                                {Log: "no rule: this text stays"},
	} {
		require.Equal(t, want, RejectionText(x))
	}
}

// TestWeightsAndScoresInWords: a weight is a share, a score a multiple of the last selected one.
func TestWeightsAndScoresInWords(t *testing.T) {
	r := &app.Record{Rule: "agnostic-mean"}
	for i, c := range []app.Contribution{{Selected: true}, {Selected: true, Score: 1 << 17},
		{Score: 1 << 18},
		{Selected: true}} {
		c.Participant = uint32(i)
		r.Contributions = append(r.Contributions, c)
	}
	all := Verdicts(r, nil, nil, nil)
	require.Equal(t, []float64{1, 0.5, 0, 1}, []float64{*all[0].Weight, *all[1].Weight, *all[2].Weight, *all[3].Weight})
	require.Equal(t, "It has a full share of Delta.", all[0].Why)
	require.Contains(t, all[1].Why, "It has 0.50 of an equal share of Delta")
	require.Contains(t, all[2].Why, "Weight 0: ")
	require.Zero(t, all[2].Place)

	r.Rule = "multi-krum"
	for i, score := range []int64{50, 100, 11400, 90} {
		r.Contributions[i].Score = score
	}
	all = Verdicts(r, nil, nil, nil)
	require.Equal(t, 114.0, *all[2].Times)
	require.Contains(t, all[2].Why, "Its score is 114 times that of the last selected, place 4 of 4")
	require.Contains(t, all[0].Why, "Its score is 0.5 of that of the last selected, place 1 of 4")
	require.Nil(t, all[0].Weight)
}

// TestMixturesHaveNoWeights: the scores of a rule on mixtures are those of the mixtures.
func TestMixturesHaveNoWeights(t *testing.T) {
	r := weighed(0)
	r.Rule = "nnm+agnostic-mean"
	for _, v := range Verdicts(r, nil, nil, nil) {
		require.Nil(t, v.Weight)
		require.Zero(t, v.Place)
	}
	require.Nil(t, PointOf(r).Weights)
}

// weighed is a round of the rule agnostic-mean with gradients of the weights 1, 1/4, 1/64 and 0, the
// last two of which are opposed.
func weighed(round uint64) *app.Record {
	const equal = int64(1 << 20 / 4)
	r := &app.Record{Round: round, Height: round + 2, Rule: "agnostic-mean"}
	for i, score := range []int64{0, equal * 3 / 4, equal * 63 / 64, equal} {
		r.Contributions = append(r.Contributions, app.Contribution{Participant: uint32(i), Selected: score < equal,
			Score: score, Opposed: i > 1, Reputation: params.One})
	}
	return r
}
