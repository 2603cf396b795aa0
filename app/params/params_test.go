package params_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
)

// TestValidateRefuses: each error names the field, the value and the bound.
func TestValidateRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		mutate func(*params.Params)
	}{
		{`model.kind is "cnn"`, func(p *params.Params) { p.Model.Kind = "cnn" }},
		{`tensors, clipping, config or trainer, which are for kind "external"`,
			func(p *params.Params) { p.Model.Clipping = params.ClippingRows }},
		{"inputs 3, hidden 0, classes 0", external(func(m *params.Model) { m.Inputs = 3 })},
		{"no_bias true or a table (false), want none", external(func(m *params.Model) { m.NoBias = true })},
		{"model has 0 tensors, want 1 to 1024", external(func(m *params.Model) { m.Tensors = nil })},
		{`model.clipping is "", want "rows" or "sum"`, external(func(m *params.Model) { m.Clipping = "" })},
		{`model.trainer is "AB", want 64 hexadecimal digits`, external(func(m *params.Model) { m.Trainer = "AB" })},
		{`model.config "\n" has byte 0x0A`, external(func(m *params.Model) { m.Config = "\n" })},
		{"model.config has 16385 bytes, at most 16384",
			external(func(m *params.Model) { m.Config = strings.Repeat("x", 16385) })},
		{"bytes encoded, at most 32768", external(func(m *params.Model) {
			for len(m.Tensors) < 400 {
				m.Tensors = append(m.Tensors, params.Tensor{Name: strings.Repeat("x", 100) + strconv.Itoa(len(m.Tensors)),
					Shape: []uint32{1}, Init: params.InitZeros})
			}
		})},
		{`model.tensors[1]: name "w" stands there twice`, external(func(m *params.Model) { m.Tensors[1].Name = "w" })},
		{`name is "a/b", want 1 to 128 letters`, external(func(m *params.Model) { m.Tensors[0].Name = "a/b" })},
		{`name is "card"`, external(func(m *params.Model) { m.Tensors[0].Name = "card" })},
		{`"w" has 0 dimensions, want 1 to 8`, external(func(m *params.Model) { m.Tensors[0].Shape = nil })},
		{`"w" has shape [0 3], want 1 to 2097152 parameters`, external(func(m *params.Model) { m.Tensors[0].Shape[0] = 0 })},
		{"want 1 to 2097152 parameters", external(func(m *params.Model) {
			m.Tensors[0].Shape = []uint32{math.MaxUint32,
				math.MaxUint32, math.MaxUint32}
		})},
		{"too many parameters, at most 2097152", external(func(m *params.Model) {
			m.Tensors[0].Shape = []uint32{1 << 10,
				1 << 11}
		})},
		{`"w" begins as "ones", want "zeros", "glorot" or "normal"`,
			external(func(m *params.Model) { m.Tensors[0].Init = "ones" })},
		{`"b" begins as "normal" and has shape [2], want at least two dimensions`,
			external(func(m *params.Model) { m.Tensors[1].Init = params.InitNormal })},
		{"model.hidden is 3", func(p *params.Params) { p.Model.Hidden = 3 }},
		{"1 classes", func(p *params.Params) { p.Model.Classes = 1 }},
		{"too large", func(p *params.Params) { p.Model.Inputs = 3 << 20 }},
		{"model.pool is 0", func(p *params.Params) { p.Model.Pool = 0 }},
		{"pixel_scale is -1", func(p *params.Params) { p.Model.PixelScale = -1 }},
		{"pixel_mean is NaN", func(p *params.Params) { p.Model.PixelMean = math.NaN() }},
		{`model.features.name is "sift", want "strokes"`, strokes(func(m *params.Model) { m.Features.Name = "sift" })},
		{`model.features.hash is "ab" without a name`,
			strokes(func(m *params.Model) { m.Features = params.Features{Hash: "ab"} })},
		{`model.features.hash is "ab", want 64 hexadecimal digits`,
			strokes(func(m *params.Model) { m.Features.Hash = "ab" })},
		{"want 64 hexadecimal digits", strokes(func(m *params.Model) { m.Features.Hash = strings.Repeat("AB", 32) })},
		{`model.inputs is 161 with features "strokes", want 160`, strokes(func(m *params.Model) { m.Inputs = 161 })},
		{`pool 2, pixel_mean 0 and pixel_scale 255 with features "strokes"`, strokes(func(m *params.Model) { m.Pool = 2 })},
		{"pixel_mean 1", strokes(func(m *params.Model) { m.PixelMean = 1 })},
		{"pixel_scale 1", strokes(func(m *params.Model) { m.PixelScale = 1 })},
		{"model.table has 2 columns and 2 classes, and model.inputs is 4 and classes 2",
			table(func(m *params.Model) { m.Inputs = 4 })},
		{`model of kind "logistic" has 2 classes, no_bias false and centred columns of a table false`,
			table(func(m *params.Model) { m.Kind = params.ModelLogistic })},
		{"no_bias false and centred columns of a table true",
			table(func(m *params.Model) { m.Kind, m.Inputs = params.ModelLogistic, 3 })},
		{"model.table has 0 columns", table(func(m *params.Model) { m.Table.Columns = nil })},
		{"model.pool is 2", table(func(m *params.Model) { m.Pool = 2 })},
		{`column "age" is from 3 to 3`, table(func(m *params.Model) {
			m.Table.Columns[0].Low, m.Table.Columns[0].High = 3, 3
		})},
		{`column "age" is from NaN to 90`, table(func(m *params.Model) { m.Table.Columns[0].Low = math.NaN() })},
		{"want numbers", table(func(m *params.Model) {
			m.Table.Columns[0].Low, m.Table.Columns[0].High = -math.MaxFloat64, math.MaxFloat64
		})},
		{`"age" stands there twice`, table(func(m *params.Model) { m.Table.Columns[1].Name = "age" })},
		{`"age" stands there twice`, table(func(m *params.Model) { m.Table.Label = "age" })},
		{`"no" stands there twice`, table(func(m *params.Model) { m.Table.Classes[1] = "no" })},
		{"a name is empty", table(func(m *params.Model) { m.Table.Classes[1] = "" })},
		{"byte 0xC3", table(func(m *params.Model) { m.Table.Label = "Gr\u00f6\u00dfe" })},
		{"bytes encoded, at most 32768", table(func(m *params.Model) {
			for len(m.Table.Columns) < 400 {
				m.Table.Columns = append(m.Table.Columns, params.Column{Name: strings.Repeat("x", 100) +
					strconv.Itoa(len(m.Table.Columns)), High: 1})
			}
			m.Inputs = 400
		})},
		{"or a table (true), want none", external(func(m *params.Model) { m.Table = &params.Table{} })},
		{"grid.width is 3", func(p *params.Params) { p.Grid.Width = 3 }},
		{"grid.step is 0", func(p *params.Params) { p.Grid.Step = 0 }},
		{"training.rounds is 0", func(p *params.Params) { p.Training.Rounds = 0 }},
		{"learning_rate is +Inf", func(p *params.Params) { p.Training.LearningRate = math.Inf(1) }},
		{"training.momentum is 1", func(p *params.Params) { p.Training.Momentum = 1 }},
		{"weight_decay is NaN", func(p *params.Params) { p.Training.WeightDecay = math.NaN() }},
		{"noise_multiplier 0", func(p *params.Params) { p.Privacy.NoiseMultiplier = 0 }},
		{"prototype_epsilon is 0", func(p *params.Params) { p.Privacy.Mechanism = "prototype" }},
		{"prototype_epsilon is 1, want 0", func(p *params.Params) { p.Privacy.PrototypeEpsilon = 1 }},
		{"noise_multiplier is 1, want 0", func(p *params.Params) { p.Privacy.Mechanism = "none" }},
		{"preset has 71 bytes, at most 70", func(p *params.Params) { p.Preset = strings.Repeat("x", 71) }},
		{"preset \"a\\x1b\" has byte 0x1B at 1", func(p *params.Params) { p.Preset = "a\x1b" }},
		{"election.term is 1048577", func(p *params.Params) { p.Election.Term = 1<<20 + 1 }},
		{"view_blocks 1048577", func(p *params.Params) { p.Election.ViewBlocks = 1<<20 + 1 }},
		{"quorum_blocks 18446744073709551615, at most 1048576",
			func(p *params.Params) { p.Election.QuorumBlocks = 1<<64 - 1 }},
		{`mechanism is "laplace"`, func(p *params.Params) { p.Privacy.Mechanism = "laplace" }},
		{"privacy.batch is 0", func(p *params.Params) { p.Privacy.Batch = 0 }},
		{"sampling_rate is 1.5", func(p *params.Params) { p.Privacy.SamplingRate = 1.5 }},
		{"worker_momentum is 1.1", func(p *params.Params) { p.Privacy.WorkerMomentum = 1.1 }},
		{"privacy.sampling_rate is 0.5 with worker_momentum 1, want 0 or 1", func(p *params.Params) {
			apptest.Summed(p)
			p.Privacy.SamplingRate = 0.5
		}},
		{"training.momentum is 0.5, weight_decay 0 and grid.width 2 with privacy.worker_momentum 1, want 0, 0 and 2",
			func(p *params.Params) { apptest.Summed(p); p.Training.Momentum = 0.5 }},
		{"weight_decay 0.1 and", func(p *params.Params) { apptest.Summed(p); p.Training.WeightDecay = 0.1 }},
		{"grid.width 1 with", func(p *params.Params) { apptest.Summed(p); p.Grid.Width = 1 }},
		{"the noise is 2.53e+04 steps", func(p *params.Params) { // of the last sum
			apptest.Summed(p)
			p.Training.Rounds = 10_000_000
		}},
		{"privacy.clip is -1", func(p *params.Params) {
			p.Privacy.Mechanism, p.Privacy.NoiseMultiplier, p.Privacy.Clip = "none", 0, -1
		}},
		{`lemma1_epsilon is 0.02 with mechanism "none"`, func(p *params.Params) {
			p.Privacy.Mechanism, p.Privacy.NoiseMultiplier, p.Privacy.Lemma1Epsilon = "none", 0, 0.02
		}},
		{"lemma1_epsilon is -1", func(p *params.Params) { p.Privacy.Lemma1Epsilon = -1 }},
		{"without a ledger", func(p *params.Params) { p.Privacy.Lemma1Epsilon = 1 }},
		{"reputation.penalty is -1", func(p *params.Params) { p.Reputation.Penalty = -1 }},
		{"election.term is 0", func(p *params.Params) { p.Election.Term = 0 }},
		{"unknown", func(p *params.Params) { p.Rule.Name = "crum" }},
		{"rule.byzantine is 2 with 4 participants, at most 1", func(p *params.Params) { p.Rule.Byzantine = 2 }},
		{"rule.tolerance is -1", func(p *params.Params) { p.Rule.Tolerance = -1 }},
		{"grid.step 1e-12 is too fine", func(p *params.Params) { apptest.Noisy(p); p.Grid.Step = 1e-12 }},
		{"a leader may do with it", func(p *params.Params) {
			p.Privacy = params.Privacy{Mechanism: params.MechanismNone, Batch: 8}
			p.Rule.Tolerance = 1
		}},
		{"lets a leader shift Delta", func(p *params.Params) { p.Rule.Tolerance = 50 }},
		{"reputation.initial is 0", func(p *params.Params) { p.Reputation.Initial = 0 }},
	} {
		_, err := apptest.Params(4, c.mutate).Validate(4)
		require.ErrorContains(t, err, c.want)
	}
	one := func(p *params.Params) { p.Rule.Name, p.Rule.Byzantine = "krum", 0 }
	_, err := apptest.Params(1, one).Validate(1)
	require.ErrorContains(t, err, "cannot aggregate")
}

// external returns a model of two tensors, after the given change.
func external(change func(*params.Model)) func(*params.Params) {
	return func(p *params.Params) {
		p.Model = params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows, Tensors: []params.Tensor{
			{Name: "w", Shape: []uint32{2, 3}, Init: params.InitGlorot}, {Name: "b", Shape: []uint32{2}, Init: params.InitZeros},
		}}
		change(&p.Model)
	}
}

// table returns a model on a table of two columns, after the given change.
func table(change func(*params.Model)) func(*params.Params) {
	return func(p *params.Params) {
		p.Model = params.Model{Kind: params.ModelSoftmax, Inputs: 2, Classes: 2, Pool: 1, PixelMean: params.TableMean,
			PixelScale: params.TableScale, Table: &params.Table{
				Label: "ill", Classes: []string{"no", "yes"}, Columns: []params.Column{{Name: "age", Low: 20, High: 90},
					{Name: "dose", Low: -1, High: 1.5}},
			}}
		change(&p.Model)
	}
}

// TestTable: a model on a table is valid and survives its encoding. It differs from a model with
// another range. A model without a table has the same encoding as before tables existed.
func TestTable(t *testing.T) {
	p := apptest.Params(4, table(func(*params.Model) {}))
	_, err := p.Validate(4)
	require.NoError(t, err)
	data, err := p.Marshal()
	require.NoError(t, err)
	again, err := params.Decode(data)
	require.NoError(t, err)
	require.True(t, p.Model.Equal(again.Model))
	again.Model.Table.Columns[1].High = 2
	require.False(t, p.Model.Equal(again.Model))
	with := p.Model.Size()
	p.Model.Table = nil
	require.Equal(t, with-2-again.Model.Table.Size(), p.Model.Size())
}

// TestExternal: an external model is valid, has the parameters of its tensors, and survives its
// encoding. It differs from a model with another tensor.
func TestExternal(t *testing.T) {
	p := apptest.Params(4, external(func(*params.Model) {}))
	_, err := p.Validate(4)
	require.NoError(t, err)
	require.Equal(t, 8, p.Model.Dim())
	data, err := p.Marshal()
	require.NoError(t, err)
	again, err := params.Decode(data)
	require.NoError(t, err)
	require.True(t, p.Model.Equal(again.Model))
	again.Model.Tensors[1].Init = params.InitGlorot
	require.False(t, p.Model.Equal(again.Model))
}

// strokes returns a model on the feature map, after the given change.
func strokes(change func(*params.Model)) func(*params.Params) {
	return func(p *params.Params) {
		p.Model = params.Model{
			Kind: params.ModelSoftmax, Inputs: params.StrokesInputs, Classes: 10, Pool: 1, PixelScale: 255, NoBias: true,
			Features: params.Features{Name: params.FeaturesStrokes, Hash: strings.Repeat("ab", 32)},
		}
		change(&p.Model)
	}
}

// TestDim: the parameters of a model are its weights and, unless it has none, its biases.
func TestDim(t *testing.T) {
	for want, m := range map[int]params.Model{
		1970: {Kind: params.ModelSoftmax, Inputs: 196, Classes: 10},
		1600: {Kind: params.ModelSoftmax, Inputs: 160, Classes: 10, NoBias: true},
		6634: {Kind: params.ModelMLP, Inputs: 196, Hidden: 32, Classes: 10},
		6592: {Kind: params.ModelMLP, Inputs: 196, Hidden: 32, Classes: 10, NoBias: true},
	} {
		require.Equal(t, want, m.Dim())
	}
}

// TestStrokes: a model on the feature map is valid, and its JSON has the map's name and hash. The
// JSON of a model on pixels has neither.
func TestStrokes(t *testing.T) {
	p := apptest.Params(4, strokes(func(*params.Model) {}))
	_, err := p.Validate(4)
	require.NoError(t, err)
	text, err := json.Marshal(p.Model)
	require.NoError(t, err)
	require.Contains(t, string(text), `"features":{"name":"strokes","hash":"abab`)
	require.Contains(t, string(text), `"no_bias":true`)
	text, err = json.Marshal(apptest.Params(4).Model)
	require.NoError(t, err)
	require.NotContains(t, string(text), "features")
	require.NotContains(t, string(text), "no_bias")
}

func TestWarnings(t *testing.T) {
	warn := func(n int, mutate func(*params.Params)) string {
		warnings, err := apptest.Params(n, mutate).Validate(n)
		require.NoError(t, err)
		return strings.Join(warnings, "\n")
	}
	require.Contains(t, warn(4, func(p *params.Params) { p.Rule.Name = "krum" }), "outside the resilience theorem")
	require.NotContains(t, warn(5, func(p *params.Params) { p.Rule.Name = "krum" }), "outside the resilience theorem")
	require.Contains(t, warn(4, func(p *params.Params) { p.Election.QuorumBlocks = 1 << 20 }), "quorum_blocks is 1048576")
	require.Contains(t, warn(4, func(p *params.Params) { p.Election.ViewBlocks = 101 }), "heights are the only timeout")
	require.NotContains(t, warn(4, func(p *params.Params) { p.Election.ViewBlocks, p.Election.QuorumBlocks = 100, 100 }),
		"timeout")
	require.Contains(t, warn(4, func(p *params.Params) { p.Election.ViewBlocks, p.Election.QuorumBlocks = 2, 1 }),
		"quorum_blocks is 1 and view_blocks 2, want at least f+1 = 2")
	require.Contains(t, warn(4, func(p *params.Params) { p.Rule.Zeros = true }), "rule.zeros")
	require.Contains(t, warn(4, func(p *params.Params) { p.Rule.Unsquared = true }), "rule.unsquared")
	budget := apptest.Budgeted(3)
	require.Contains(t, warn(4, func(p *params.Params) { budget(p); p.Privacy.Epsilon = 8.5 }), "above 8 means little")
	require.NotContains(t, warn(4, func(p *params.Params) { budget(p); p.Privacy.Epsilon = 8 }), "means little")
	require.Contains(t, warn(4, func(p *params.Params) {
		p.Privacy.Mechanism, p.Privacy.NoiseMultiplier, p.Privacy.PrototypeEpsilon = "prototype", 0, 0.02
	}), "NO DP GUARANTEE")
}

// TestBlockBytes: a block holds the gradients of all participants and the aggregate, with its
// vector at a tolerance, with a margin of 30 % and a commit.
func TestBlockBytes(t *testing.T) {
	wide := func(p *params.Params) { p.Model.Inputs = 200_000 } // d = 400,002
	p := apptest.Params(4, wide)
	require.Greater(t, p.TxBytes(4), int64(400_002))
	require.Greater(t, p.BlockBytes(4), p.RoundBytes(4)*13/10)
	require.Greater(t, p.BlockBytes(5), p.BlockBytes(4))
	p.Rule.Tolerance = 1
	require.Greater(t, p.TxBytes(4), int64(8*400_002))
	require.Less(t, p.RoundBytes(4), int64(5*8*400_002), "the gradients are no larger by it")
	require.NoError(t, p.CheckBlock(4))
	require.ErrorContains(t, p.CheckBlock(200), "CometBFT's bound is 104857600")
}

// TestSizesFollowKind: an aggregate grows with the number of participants, and a gradient does not.
// The maximum number of participants fits into a block.
func TestSizesFollowKind(t *testing.T) {
	p := apptest.Params(4, func(p *params.Params) { p.Model.Inputs = 196 }) // d = 394
	require.Equal(t, int64(394+512), p.GradientBytes())
	require.Equal(t, int64(4096*48+512), p.AggregateBytes(4096))
	require.Equal(t, 4096*p.GradientBytes()+p.AggregateBytes(4096), p.RoundBytes(4096))
	require.NoError(t, p.CheckBlock(gradients.MaxParticipants))
	p.Model.Inputs = 4096 // d = 8,194, as the widest of the presets
	require.NoError(t, p.CheckBlock(gradients.MaxParticipants))
}

// TestDecode: the parameters of an epoch have one encoding.
func TestDecode(t *testing.T) {
	p := apptest.Params(4, apptest.Budgeted(3))
	data, err := p.Marshal()
	require.NoError(t, err)
	again, err := params.Decode(data)
	require.NoError(t, err)
	require.Equal(t, p, again)
	_, err = params.Decode(append(data, 0x48, 0)) // test_chain a second time, false
	require.ErrorContains(t, err, "canonical")
	_, err = params.Decode([]byte{0xff})
	require.ErrorContains(t, err, "params: ")
}

// FuzzDecode: bytes of any origin either decode to parameters that encode to the same bytes, or do
// not decode. Decoded parameters can be validated.
func FuzzDecode(f *testing.F) {
	for _, mutate := range []func(*params.Params){apptest.Noisy, apptest.Budgeted(3)} {
		p := apptest.Params(4, mutate)
		data, err := p.Marshal()
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := params.Decode(data)
		if err != nil {
			return
		}
		again, err := p.Marshal()
		require.NoError(t, err)
		require.Equal(t, data, again)
		_, _ = p.Validate(4)
	})
}
