package internal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// seal sets the digest of a card.
func seal(c *modelfile.Card) {
	c.Digest = ""
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	c.Digest = hex.EncodeToString(sum[:])
}

// unproven returns a file without a proof: the formats do not look at that.
func unproven(m params.Model) *modelfile.File {
	f := &modelfile.File{Card: modelfile.Card{Version: modelfile.Version, ChainID: "a <b> \"c\"", Round: 7,
		Rule: "mean", Model: m},
		Parameters: make([]float64, m.Dim())}
	for i := range f.Parameters {
		f.Parameters[i] = math.Sqrt(float64(i)) / 3 * float64(1-i%3)
	}
	f.Parameters[1] = math.Copysign(0, -1)
	f.Parameters[2] = math.SmallestNonzeroFloat64
	f.Parameters[3] = math.MaxFloat64
	seal(&f.Card)
	return f
}

var (
	softmax = params.Model{Kind: params.ModelSoftmax, Inputs: 5, Classes: 3, Pool: 1, PixelScale: 255}
	bare    = params.Model{
		Kind: params.ModelMLP, Inputs: 5, Hidden: 4, Classes: 3, Pool: 1, PixelScale: 255, NoBias: true,
		Features: params.Features{Name: params.FeaturesStrokes, Hash: "ab"},
	}
	mlp = params.Model{Kind: params.ModelMLP, Inputs: 5, Hidden: 4, Classes: 3, Pool: 1, PixelScale: 255}
	own = params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows, Config: `{"a": "<b>"}`,
		Tensors: []params.Tensor{
			{Name: "conv1.weight", Shape: []uint32{2, 1, 3, 3}, Init: params.InitNormal},
			{Name: "conv1.bias", Shape: []uint32{2},
				Init: params.InitZeros},
		}}
)

func TestRoundTrips(t *testing.T) {
	for _, m := range []params.Model{softmax, mlp, bare, own} {
		for _, format := range modelfile.Formats() {
			f := unproven(m)
			f.Measured(0.9, "MNIST")
			f.Declared()
			data, err := f.Encode(format)
			require.NoError(t, err)
			g, which, err := modelfile.Decode(data)
			require.NoError(t, err, format)
			require.Equal(t, format, which)
			require.Equal(t, f, g)
			for i := range f.Parameters {
				require.Equal(t, math.Float64bits(f.Parameters[i]), math.Float64bits(g.Parameters[i]))
			}
			for i := range data {
				bad := append([]byte(nil), data...)
				bad[i] ^= 1 << (i % 8)
				g, _, err := modelfile.Decode(bad)
				if err != nil {
					continue
				}
				digest := g.Card.Digest
				seal(&g.Card)
				same := g.Card.Digest == digest && app.ModelHash(f.Parameters) == app.ModelHash(g.Parameters)
				require.False(t, same, "%s byte %d", format, i)
			}
			_, _, err = modelfile.Decode(append(data, 0))
			require.ErrorIs(t, err, modelfile.ErrFile)
			_, _, err = modelfile.Decode(data[:len(data)-1])
			require.ErrorIs(t, err, modelfile.ErrFile)
		}
	}
}

// TestAmbiguousNames: a file that other readers could read otherwise is refused.
func TestAmbiguousNames(t *testing.T) {
	f := unproven(softmax)
	data, err := f.Encode("safetensors")
	require.NoError(t, err)
	size := binary.LittleEndian.Uint64(data)
	header := bytes.Replace(data[8:8+size], []byte("{"), []byte(`{"__metadata__": {},`), 1)
	bad := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	_, _, err = modelfile.Decode(append(bad, data[8+size:]...))
	require.ErrorContains(t, err, "__metadata__ is given twice")
}

func TestTensors(t *testing.T) {
	tensors, err := modelfile.Tensors(mlp, make([]float64, mlp.Dim()))
	require.NoError(t, err)
	shapes := map[string][]int{}
	for _, x := range tensors {
		shapes[x.Name] = x.Shape
	}
	require.Equal(t, map[string][]int{"hidden.weight": {4, 5}, "hidden.bias": {4}, "output.weight": {3, 4},
		"output.bias": {3}}, shapes)
	tensors, err = modelfile.Tensors(bare, make([]float64, bare.Dim()))
	require.NoError(t, err)
	require.Len(t, tensors, 2)
	require.Equal(t, "hidden.weight", tensors[0].Name)
	require.Equal(t, []int{4, 5}, tensors[0].Shape)
	require.Equal(t, "output.weight", tensors[1].Name)
	require.Equal(t, []int{3, 4}, tensors[1].Shape)
	_, err = modelfile.Tensors(softmax, make([]float64, 3))
	require.ErrorIs(t, err, modelfile.ErrFile)
}

func TestUnknownFormats(t *testing.T) {
	f := unproven(softmax)
	_, err := f.Encode("gguf")
	require.ErrorContains(t, err, `format "gguf", want one of safetensors, npz`)
	_, _, err = modelfile.Decode([]byte("{\n\"card\": {}}\n")) // as release 0.1 wrote with --format json
	require.ErrorIs(t, err, modelfile.ErrFile)
	require.ErrorContains(t, err, "neither safetensors nor npz")
}

func FuzzDecode(f *testing.F) {
	for _, format := range modelfile.Formats() {
		data, err := unproven(mlp).Encode(format)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if g, format, err := modelfile.Decode(data); err == nil {
			again, err := g.Encode(format)
			require.NoError(t, err)
			require.Equal(t, data, again)
			require.Error(t, g.Check())
		}
	})
}
