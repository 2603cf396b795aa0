package trainer

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// byGroup is the privacy of a chain whose unit is a group.
var byGroup = params.Privacy{Clip: 1, Unit: params.UnitGroup}

// groupedSum returns the correct sum over the picked groups of testdata/study.py, which have the
// examples 4g to 4g+3.
func groupedSum(clipping string, picked []int) []float64 {
	sum := make([]float64, 6)
	for _, g := range picked {
		one := make([]float64, 6)
		n := float64(min(4*g+4, 50) - 4*g)
		for i := 4 * g; i < min(4*g+4, 50); i++ {
			row, failed := make([]float64, 6), -float64(i%3-1)
			for j := range row {
				row[j] = float64((7*i+3*j)%11)/5 - 1
				failed += at[j] * row[j]
			}
			for j := range row {
				one[j] += 3 * failed * row[j] / n
			}
		}
		factor := min(1, clippedTo[clipping]/norm(one))
		for j := range sum {
			sum[j] += factor * one[j]
		}
	}
	return sum
}

// TestClippedGroups: both modes give the sum of the groups' gradients, each the mean of its examples'
// and of at most norm 1.
func TestClippedGroups(t *testing.T) {
	for _, clipping := range []string{params.ClippingRows, params.ClippingSum} {
		c, h := study(t, "right")
		p, err := Start(t.Context(), c, linear(clipping), byGroup)
		require.NoError(t, err, h)
		t.Cleanup(p.Close)
		require.Equal(t, 13, p.Len())
		for _, picked := range [][]int{{}, {3}, {12}, {0, 12, 7}, {1, 2, 3, 4, 5, 6}} {
			sum := []float64{1, 2, 3, 4, 5, 6} // leftover values
			require.NoError(t, p.ClippedSum(t.Context(), sum, at, picked))
			require.InDeltaSlice(t, groupedSum(clipping, picked), sum, 1e-5, "%s %v", clipping, picked)
		}
	}
}

// TestNoGroups: if a group is the unit of privacy, a trainer that knows no groups is rejected at
// HELLO, with the reason. If an example is the unit, a trainer of version 1 works as before.
func TestNoGroups(t *testing.T) {
	c, _ := study(t, "one")
	c.Argv[1] = "testdata/hostile.py"
	_, err := Start(t.Context(), c, linear(params.ClippingRows), byGroup)
	require.ErrorContains(t, err, `it speaks protocol 1, which knows no groups, and privacy.unit is "group": want a `+
		"trainer of protocol 2")
	p, err := Start(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1})
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{0}))
	require.Equal(t, protocolFirst, p.child.protocol)

	c, _ = study(t, "no-groups")
	_, err = Start(t.Context(), c, linear(params.ClippingRows), byGroup)
	require.ErrorContains(t, err, "the study has no groups: groups is the group of each of its 50 examples")
}

// TestOtherQuestion: an answer to an earlier question, or an answer without a number, is detected
// when it is read as the answer to the next question. The trainer is then started again.
func TestOtherQuestion(t *testing.T) {
	for mode, want := range map[string]string{
		"second-late":   "the answer is to another question: a frame of type 'R' names question",
		"second-counts": "the answer is to another question: a frame of type 'R' names question 1, and question",
		"second-silent": "the answer is to another question",
	} {
		p, _ := hostile(t, mode)
		require.Equal(t, protocolSecond, p.child.protocol)
		sum := make([]float64, 6)
		err := p.ClippedSum(t.Context(), sum, at, []int{1})
		if mode == "second-late" { // the first answer is right
			require.NoError(t, err)
			require.InDelta(t, clippedTo[params.ClippingRows], sum[0], 1e-9)
			err = p.ClippedSum(t.Context(), sum, at, []int{0})
		}
		require.ErrorIs(t, err, ErrTrainer, mode)
		require.ErrorContains(t, err, want, mode)
		require.Nil(t, p.child, mode)
	}
}

// TestWrongGroups: a list of groups is rejected if it is too short, if its groups are not numbered
// in their order, or if it differs after a restart.
func TestWrongGroups(t *testing.T) {
	for mode, want := range map[string]string{
		"second-bytes": "the groups of 50 examples have 196 bytes, want 200",
		"second-gap":   "example 25 is in group 2, and the groups before it are 1",
		"second-other": "its examples are in other groups after its restart",
	} {
		c, _ := study(t, mode, filepath.Join(t.TempDir(), "marker"))
		c.Argv[1] = "testdata/hostile.py"
		p, err := Start(t.Context(), c, linear(params.ClippingRows), byGroup)
		if mode == "second-other" {
			require.NoError(t, err)
			require.Equal(t, 25, p.Len())
			defer p.Close()
			p.child.stop(false)
			require.Error(t, p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1}))
			time.Sleep(5 * time.Millisecond)
			err = p.ClippedSum(t.Context(), make([]float64, 6), at, []int{1})
		}
		require.ErrorContains(t, err, want, mode)
	}
}

// TestInspectGroups: a trainer that treats groups as the unit is not refuted. Every other trainer
// is refuted, by the demand that it breaks.
func TestInspectGroups(t *testing.T) {
	const whole, like = "a group is the mean of its examples, clipped once",
		"equal rows of a group count as one of them"
	for _, c := range []struct{ mode, clipping, demand, note string }{
		{"right", "rows", "", ""},
		{"right", "sum", "", ""},
		{"alone", "rows", "", ""},
		{"batch-norm", "rows", whole, "the mean of its examples, clipped once"},
		{"clip-rows", "sum", whole, "or clips them first"},
		{"clip-both", "sum", whole, "or clips them first"},
		{"add", "sum", like, "adds the rows"},
		{"first", "sum", whole, "takes some of them"},
		{"no-groups", "sum", "it starts and answers HELLO", "the study has no groups"},
	} {
		t.Run(c.mode+"/"+c.clipping, func(t *testing.T) {
			t.Parallel()
			conf, _ := study(t, c.mode)
			report, err := Inspect(t.Context(), conf, linear(c.clipping), byGroup, 5, 1)
			require.NoError(t, err)
			require.Equal(t, c.demand != "", report.Refuted, "%+v", report)
			if c.mode == "alone" {
				require.Contains(t, report.Findings[0].Note, "each a group of its own")
			}
			i := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Demand == c.demand })
			if c.demand != "" {
				require.GreaterOrEqual(t, i, 0, "%+v", report)
				require.False(t, report.Findings[i].Met, "%+v", report)
				require.Contains(t, report.Findings[i].Note, c.note)
			}
		})
	}
}

// TestGroupsIgnored: GroupsIgnored is true if the trainer has groups and the unit is an example. It
// is false if the unit is a group, or if the trainer has no groups.
func TestGroupsIgnored(t *testing.T) {
	for _, c := range []struct {
		mode    string
		privacy params.Privacy
		want    bool
	}{
		{"right", params.Privacy{Clip: 1}, true},
		{"right", byGroup, false},
		{"no-groups", params.Privacy{Clip: 1}, false},
	} {
		conf, _ := study(t, c.mode)
		report, err := Inspect(t.Context(), conf, linear(params.ClippingRows), c.privacy, 5, 1)
		require.NoError(t, err)
		require.NoError(t, report.Failure)
		require.Equal(t, c.want, report.GroupsIgnored, "%s %+v", c.mode, c.privacy)
	}
}

// TestInspectAnswers: a trainer that does not repeat the question's number is refuted, and so is one
// that answers twice, or late.
func TestInspectAnswers(t *testing.T) {
	for mode, demand := range map[string]string{
		"second-counts": "a batch is answered in time",
		"second-late":   "an empty batch gives 0", // the second question
		"second-exam":   "it answers each question once",
	} {
		c, _ := study(t, mode)
		c.Argv[1] = "testdata/hostile.py"
		report, err := Inspect(t.Context(), c, linear(params.ClippingRows), params.Privacy{Clip: 1}, 5, 1)
		require.NoError(t, err)
		i := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Demand == demand })
		require.GreaterOrEqual(t, i, 0)
		require.False(t, report.Findings[i].Met, "%s: %+v", mode, report)
	}
}

// FuzzGroups: accepted groups have numbers without gaps, and each example is in one of them.
func FuzzGroups(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0})
	f.Add(binary.LittleEndian.AppendUint32(nil, 7))
	f.Fuzz(func(t *testing.T, data []byte) {
		grouped, err := decodeGroups(data, len(data)/4)
		if err == nil && len(grouped) > 0 {
			groups := int(slices.Max(grouped)) + 1
			slices.Sort(grouped)
			require.Len(t, slices.Compact(grouped), groups)
		}
	})
}
