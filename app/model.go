package app

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
)

// chunkSize is the number of parameters in one leaf of the tree over a model.
const chunkSize = 4096

// initialModel returns x^(0), the same on every machine: zero for softmax
// regression; for the MLP the weights of each layer uniform in
// +-sqrt(6/(in+out)) (Glorot and Bengio 2010), drawn from the genesis seed,
// and zero biases, if there are any; for an external model what each of its
// tensors says.
func initialModel(m params.Model, seed []byte) []float64 {
	x := make([]float64, m.Dim())
	u := uniform{seed: seed}
	switch m.Kind {
	case params.ModelMLP:
		in, hidden, classes := int(m.Inputs), int(m.Hidden), int(m.Classes)
		u.fill(x[:hidden*in], glorot(in, hidden))
		second := x[hidden*(in+m.Bias()):]
		u.fill(second[:classes*hidden], glorot(hidden, classes))
	case params.ModelExternal:
		rest := x
		for _, t := range m.Tensors {
			u.tensor(rest[:t.Len()], t)
			rest = rest[t.Len():]
		}
	}
	return x
}

func glorot(in, out int) float64 { return math.Sqrt(6 / float64(in+out)) }

// tensor sets dst to the start of a tensor.
func (u *uniform) tensor(dst []float64, t params.Tensor) {
	switch t.Init {
	case params.InitGlorot:
		u.fill(dst, glorot(t.Fans()))
	case params.InitNormal:
		in, _ := t.Fans()
		u.normal(dst, math.Sqrt(2/float64(in)))
	}
}

// normal sets dst to about normal numbers: a number is the sum of twelve of 32 bits,
// which has variance 1 (He et al. 2015 have the standard deviation of weights). The sum is of
// integers, because logarithm and cosine differ from one machine to the next.
func (u *uniform) normal(dst []float64, std float64) {
	var block [32]byte
	word := len(block)
	for i := range dst {
		sum := -int64(6) << 32
		for range 12 {
			if word == len(block) {
				u.next(&block)
				word = 0
			}
			sum += int64(binary.BigEndian.Uint32(block[word:]))
			word += 4
		}
		dst[i] = std * (float64(sum) / (1 << 32))
	}
}

// uniform expands a seed with SHA-256 in counter mode.
type uniform struct {
	seed    []byte
	counter uint64
}

// fill sets dst to numbers uniform in [-bound, bound) on a lattice of 2^53.
func (u *uniform) fill(dst []float64, bound float64) {
	var block [32]byte
	for i := range dst {
		if i%4 == 0 {
			u.next(&block)
		}
		k := int64(binary.BigEndian.Uint64(block[i%4*8:])>>11) - 1<<52
		dst[i] = bound * (float64(k) / (1 << 52))
	}
}

// next sets block to the next 32 bytes.
func (u *uniform) next(block *[32]byte) {
	h := sha256.New()
	h.Write([]byte("spdl/init/v1"))
	h.Write(u.seed)
	h.Write(binary.BigEndian.AppendUint64(nil, u.counter))
	h.Sum(block[:0])
	u.counter++
}

// update returns the parameters and velocity after Delta:
//
//	g = step*Delta + weight_decay*x;  v' = momentum*v + g;  x' = x - learning_rate*v'
//
// elementwise. Every product is converted on its own, which forbids the
// compiler to fuse it with the addition, so that all CPUs round alike.
// Velocity is nil while momentum is 0.
func update(t params.Training, x, v []float64, delta gradients.Fraction, step float64) (x1, v1 []float64) {
	x1 = make([]float64, len(x))
	if t.Momentum != 0 {
		v1 = make([]float64, len(x))
	}
	den := float64(delta.Den)
	for j := range x {
		g := float64(float64(delta.Num[j])/den*step) + float64(t.WeightDecay*x[j])
		if v1 != nil {
			g = float64(t.Momentum*v[j]) + g
			v1[j] = canonical(g)
		}
		x1[j] = canonical(x[j] - float64(t.LearningRate*g))
	}
	return x1, v1
}

// canonical gives every NaN the same bits, which CPUs do not: a model that has
// overflowed is lost, and must be lost alike everywhere.
func canonical(x float64) float64 {
	if math.IsNaN(x) {
		return math.NaN()
	}
	return x
}

// EncodeParameters returns the bytes of parameters: IEEE 754 in little endian, 8 bytes each.
func EncodeParameters(x []float64) []byte {
	out := make([]byte, 8*len(x))
	putParameters(out, x)
	return out
}

func putParameters(dst []byte, x []float64) {
	for i, v := range x {
		binary.LittleEndian.PutUint64(dst[8*i:8*i+8], math.Float64bits(v))
	}
}

// DecodeParameters is the inverse of EncodeParameters.
func DecodeParameters(data []byte) ([]float64, error) {
	if len(data)%8 != 0 {
		return nil, fmt.Errorf("parameters: %d bytes are no multiple of 8", len(data))
	}
	x := make([]float64, len(data)/8)
	for i := range x {
		x[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return x, nil
}

// ModelHash returns the root over the parameters in chunks of 4096.
func ModelHash(x []float64) [32]byte {
	var tree frontier
	chunk := make([]byte, 8*min(chunkSize, len(x)))
	for i := 0; len(x) > 0; i++ {
		n := min(chunkSize, len(x))
		putParameters(chunk, x[:n])
		tree.push(Pair{strconv.Itoa(i), chunk[:8*n]}.Leaf())
		x = x[n:]
	}
	return tree.root()
}

// Chunks cuts encoded parameters into the elements of their tree: 32768 bytes each,
// and the rest in the last.
func Chunks(data []byte) (chunks [][]byte) {
	for len(data) > 0 {
		n := min(8*chunkSize, len(data))
		chunks = append(chunks, data[:n])
		data = data[n:]
	}
	return chunks
}
