package preset_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
)

// images returns a data set of n square images.
func images(examples, side, classes int) *preset.Data {
	return &preset.Data{Examples: examples, Rows: side, Cols: side, Classes: classes}
}

// TestMakeWithoutOwn: without own settings a preset stays as it is.
func TestMakeWithoutOwn(t *testing.T) {
	for _, name := range preset.Names() {
		want, err := preset.New(name, 4)
		require.NoError(t, err)
		got, err := preset.Make(name, 4, preset.Own{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// TestModelsFollowTheData: the inputs and classes of every preset are those of the data, and the
// parameters are valid, with a budget that pays for the rounds.
func TestModelsFollowTheData(t *testing.T) {
	table := &preset.Data{Examples: 800, Classes: 3, Table: &params.Table{
		Label: "ill", Classes: []string{"a", "b", "c"}, Columns: []params.Column{{Name: "x", High: 1}, {Name: "y", High: 1}},
	}}
	for _, c := range []struct {
		preset                  string
		data                    *preset.Data
		inputs, classes, hidden uint32
		pool                    uint32
	}{
		{"default", images(60000, 28, 10), 160, 10, 0, 1},
		{"default", images(2000, 12, 5), 160, 5, 0, 1},
		{"default", &preset.Data{Examples: 2000, Rows: 12, Cols: 10, Classes: 5}, 120, 5, 0, 1},
		{"default", table, 3, 3, 0, 1}, // the constant is an input
		{"pixels", images(2000, 12, 5), 144, 5, 0, 1},
		{"pixels", images(2000, 32, 5), 256, 5, 0, 2},
		{"pixels", images(2000, 33, 5), 1089, 5, 0, 1},
		{"mlp", images(2000, 12, 5), 144, 5, 32, 1},
		{"mlp", table, 3, 3, 32, 1},
		{"paper", images(2000, 12, 5), 144, 5, 0, 1},
		{"paper", table, 3, 3, 0, 1},
		{"paper-lemma1", table, 3, 3, 0, 1},
	} {
		for _, n := range []int{1, 4, 7} {
			p, err := preset.Make(c.preset, n, preset.Own{Data: c.data})
			require.NoError(t, err, c.preset)
			require.Equal(t, []uint32{c.inputs, c.classes, c.hidden, c.pool}, []uint32{p.Model.Inputs, p.Model.Classes,
				p.Model.Hidden, p.Model.Pool}, c.preset)
			_, err = p.Validate(n)
			require.NoError(t, err, c.preset)
			require.NoError(t, preset.CheckLedger(p), c.preset)
			require.LessOrEqual(t, p.Privacy.Batch, uint32(c.data.Examples/n))
		}
	}
}

// TestEpsilonTooSmall: the noise is the least thousandth with which the ledger pays. For an epsilon
// below the ledger's resolution the search fails.
func TestEpsilonTooSmall(t *testing.T) {
	for _, epsilon := range []float64{0.02, 0.05, 0.5} {
		p, err := preset.New("pixels", 4)
		require.NoError(t, err)
		require.NoError(t, preset.SetEpsilon(&p, epsilon))
		require.Equal(t, epsilon, p.Privacy.Epsilon)
		p.Privacy.NoiseMultiplier -= 0.001
		require.NoError(t, preset.Account(&p))
		require.Greater(t, p.Privacy.Epsilon, epsilon, "less noise pays too")
	}
	for _, epsilon := range []float64{0.0001, 0.01, 0.015} {
		p := sampled(t)
		require.ErrorContains(t, preset.SetEpsilon(&p, epsilon),
			"less than the chain's ledger can count for 100 rounds: the least is 0.02")
	}
}

// TestRoundsFollow: a preset takes all examples of a participant in every round. With more noise in their
// mean the default preset takes fewer rounds, within bounds. The learning rate is less with more rounds
// and with more noise, and the noise the least with which epsilon pays for the rounds.
func TestRoundsFollow(t *testing.T) {
	for _, c := range []struct {
		name          string
		n             int
		own           preset.Own
		batch, rounds int
		epsilon, rate float64
	}{
		{"default", 4, preset.Own{}, 15000, 25, 2, 120},
		{"default", 10, preset.Own{}, 6000, 19, 4, 80},
		{"default", 20, preset.Own{}, 3000, 14, 4, 80},
		{"default", 20, preset.Own{Epsilon: 1}, 3000, 8, 1, 80},
		{"default", 20, preset.Own{Rounds: 10}, 3000, 10, 4, 112},
		{"default", 20, preset.Own{Rounds: 5}, 3000, 5, 4, 140},
		{"default", 4, preset.Own{Data: images(2000, 28, 5)}, 500, 8, 2, 12.89},
		{"default", 1, preset.Own{Epsilon: 8}, 60000, 25, 8, 120},
		{"default", 4, preset.Own{Rounds: 250}, 15000, 250, 2, 12},
		{"pixels", 4, preset.Own{Rounds: 50}, 15000, 50, 2, 20},
		{"pixels", 4, preset.Own{Rounds: 200}, 15000, 200, 2, 10},
		{"mlp", 4, preset.Own{Data: images(2000, 12, 5)}, 500, 100, 2, 1.031},
	} {
		p, err := preset.Make(c.name, c.n, c.own)
		require.NoError(t, err)
		require.Equal(t, []any{1.0, 0.0, uint32(c.batch), uint64(c.rounds), c.epsilon}, []any{p.Privacy.SamplingRate,
			p.Privacy.WorkerMomentum, p.Privacy.Batch, p.Training.Rounds, p.Privacy.Epsilon}, "%+v", c)
		require.InEpsilon(t, c.rate, p.Training.LearningRate, 2e-3, "%+v", c)
		require.Equal(t, uint64(c.rounds), p.Privacy.Participations(nil), "%+v", c)
		p.Privacy.NoiseMultiplier -= 0.001
		require.NoError(t, preset.Account(&p))
		require.Greater(t, p.Privacy.Epsilon, c.epsilon, "less noise pays too")
		require.Zero(t, p.Noise().Momentum)
		require.Equal(t, p.Privacy.Clip, p.Noise().Signal, "the norm bound is the clip norm")
	}
}

// TestExternalByName: the preset external has the named model, and the noise, rule and rate of a
// plan. Without a model, or with a model of another kind, the error says what to do.
func TestExternalByName(t *testing.T) {
	model := params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows,
		Tensors: []params.Tensor{{Name: "w", Shape: []uint32{3, 20}, Init: params.InitZeros}}}
	p, err := preset.Make(preset.NameExternal, 4, preset.Own{Model: &model, Examples: 1000, Rounds: 60, Epsilon: 2})
	require.NoError(t, err)
	require.Equal(t, preset.NameExternal, p.Preset)
	require.Equal(t, "agnostic-mean", p.Rule.Name)
	require.Equal(t, []any{uint32(1000), uint64(60), 2.0}, []any{p.Privacy.Batch, p.Training.Rounds, p.Privacy.Epsilon})
	_, err = p.Validate(4)
	require.NoError(t, err)
	require.NoError(t, preset.CheckLedger(p))

	require.Equal(t, 1.0, p.Privacy.SamplingRate)
	_, err = preset.Make(preset.NameExternal, 4, preset.Own{Model: &model})
	require.ErrorContains(t, err, "give it with --examples")
	_, err = preset.Make(preset.NameExternal, 4, preset.Own{})
	require.ErrorContains(t, err, `preset "external" needs a model`)
	require.ErrorContains(t, err, "--model")
	_, err = preset.Make(preset.NameExternal, 4, preset.Own{Model: &params.Model{Kind: params.ModelMLP}})
	require.ErrorContains(t, err, `kind is "mlp", want "external"`)
	_, err = preset.Make(preset.NameExternal, 4,
		preset.Own{Model: &params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows}})
	require.ErrorContains(t, err, "0 tensors")
	_, err = preset.Make("mlp", 4, preset.Own{Model: &model})
	require.ErrorContains(t, err, `preset "mlp" has a model of its own`)
}

// TestClipOfGradients: the clip norm follows from the typical gradient, from it where noise is large to twice it where
// there is little, and is never below 1. A step stays as long in clip norms, so the noise of all rounds does too.
func TestClipOfGradients(t *testing.T) {
	model := params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows,
		Tensors: []params.Tensor{{Name: "w", Shape: []uint32{3, 20}, Init: params.InitZeros}}}
	for _, c := range []struct {
		examples       int
		gradient, clip float64
		rate           float64 // at clip norm 1
	}{
		{100000, 2.5, 5, 2}, {600, 2.5, 4.05, 1.24}, {20, 2.5, 2.55, 0.0412}, {600, 0.2, 1, 1.24}, {600, 0, 1, 1.24},
	} {
		p, err := preset.Make(preset.NameExternal, 4, preset.Own{Model: &model, Examples: c.examples, Gradient: c.gradient})
		require.NoError(t, err)
		require.InDelta(t, c.clip, p.Privacy.Clip, 0.01, "%+v", c)
		require.InEpsilon(t, c.rate, p.Training.LearningRate*p.Privacy.Clip, 0.01, "%+v", c)
		_, err = p.Validate(4)
		require.NoError(t, err)
		require.NoError(t, preset.CheckLedger(p))
		require.Equal(t, worker.GridStep(p.Privacy), p.Grid.Step)
	}
}

// TestGroupsAreTheUnit: with a group column, and with images in groups, the unit of privacy of every
// preset is a group; without them it is an example.
func TestGroupsAreTheUnit(t *testing.T) {
	model := params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows,
		Tensors: []params.Tensor{{Name: "w", Shape: []uint32{3, 20}, Init: params.InitZeros}}}
	rows := func(group string) *preset.Data {
		return &preset.Data{Examples: 800, Classes: 2, Table: &params.Table{Label: "ill", Group: group,
			Classes: []string{"a", "b"}, Columns: []params.Column{{Name: "x", High: 1}}}}
	}
	grouped := images(800, 12, 5)
	grouped.Grouped = true
	for _, name := range preset.AllNames() {
		for want, all := range map[string][]*preset.Data{
			params.UnitGroup: {rows("pid"), grouped},
			"":               {rows(""), images(800, 12, 5)},
		} {
			for _, data := range all {
				own := preset.Own{Data: data}
				if name == preset.NameExternal {
					own.Model = &model
				}
				p, err := preset.Make(name, 4, own)
				require.NoError(t, err, name)
				require.Equal(t, want, p.Privacy.Unit, "preset %s, data %+v", name, *data)
				_, err = p.Validate(4)
				if strings.HasPrefix(name, "paper") && want == params.UnitGroup { // a mechanism or batches without groups
					require.ErrorContains(t, err, `privacy.unit is "group"`, name)
					continue
				}
				require.NoError(t, err, name)
			}
		}
	}
}

// TestReadData: a file with a label column is a table, and a folder without one holds images.
func TestReadData(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("x,y\n")
	for i := range 11 {
		text.WriteString(strconv.Itoa(i) + "," + string(rune('a'+i%3)) + "\n")
	}
	file := filepath.Join(dir, "t.csv")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	d, err := preset.Source{Path: file, Label: "y"}.Read()
	require.NoError(t, err)
	require.Equal(t, preset.Data{Examples: 9, Classes: 3, Table: &params.Table{Label: "y",
		Classes: []string{"a", "b", "c"}, Columns: []params.Column{{Name: "x", High: 10}}}}, d)
	_, err = preset.Source{Path: file}.Read()
	require.ErrorContains(t, err, "name the column of its labels, as in --label")
	_, err = preset.Source{Path: dir, Label: "y"}.Read()
	require.ErrorContains(t, err, "folder of images")
	_, err = preset.Source{Path: dir}.Read()
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestHeadOfFeatures: a softmax regression whose inputs have a known norm gets rounds, clip norm and learning rate
// from public facts. Inputs twice as long give the same model: steps of a quarter, a clip norm of twice. Few
// examples shorten the training, and the chosen epsilon and rounds hold.
func TestHeadOfFeatures(t *testing.T) {
	model := params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows,
		Tensors: []params.Tensor{{Name: "w", Shape: []uint32{10, 513}, Init: params.InitZeros}}}
	made := func(own preset.Own) params.Params {
		own.Model = &model
		p, err := preset.Make(preset.NameExternal, 4, own)
		require.NoError(t, err)
		_, err = p.Validate(4)
		require.NoError(t, err)
		require.Equal(t, uint32(own.Examples), p.Privacy.Batch)
		require.Equal(t, 1.0, p.Privacy.SamplingRate)
		require.Zero(t, p.Privacy.WorkerMomentum, "features of images send single gradients (ADR 44)")
		return p
	}
	one, two := made(preset.Own{Examples: 3000, Norm: 1}), made(preset.Own{Examples: 3000, Norm: 2})
	require.Equal(t, one.Training.Rounds, two.Training.Rounds)
	require.InEpsilon(t, one.Training.LearningRate, 4*two.Training.LearningRate, 0.01)
	require.InEpsilon(t, 2*one.Privacy.Clip, two.Privacy.Clip, 0.01)
	require.Equal(t, one.Privacy.NoiseMultiplier, two.Privacy.NoiseMultiplier)
	require.InDelta(t, 32, one.Training.LearningRate, 1)
	few := made(preset.Own{Examples: 100, Norm: 1})
	require.Less(t, few.Training.LearningRate*float64(few.Training.Rounds),
		0.5*one.Training.LearningRate*float64(one.Training.Rounds))
	chosen := made(preset.Own{Examples: 3000, Norm: 1, Rounds: 5, Epsilon: 1})
	require.Equal(t, uint64(5), chosen.Training.Rounds)
	require.Equal(t, 1.0, chosen.Privacy.Epsilon)
	require.Equal(t, 2.0, made(preset.Own{Examples: 3000}).Training.LearningRate, "nothing is known of another module")
	require.InDelta(t, 0.49, made(preset.Own{Examples: 240}).Training.LearningRate, 0.01, "its noise is as usual")
}
