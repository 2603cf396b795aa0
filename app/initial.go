package app

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/spdl/spdl/app/params"
)

// initialModel returns the initial parameters x^(0) of a model, with the same bits on every machine:
//
//   - for softmax regression, zeros;
//   - for logistic regression, zeros, and an intercept with which a typical row has the table's rate;
//   - for the MLP, the weights of each layer uniform in +-sqrt(6/(in+out)) (Glorot and Bengio
//     2010), drawn from the genesis seed, and zero biases, if it has biases;
//   - for an external model, the values that the Init of each tensor names.
func initialModel(m params.Model, seed []byte) []float64 {
	x := make([]float64, m.Dim())
	u := uniform{seed: seed}
	switch m.Kind {
	case params.ModelLogistic:
		x[len(x)-1] = logit(m.Table.WeightedRate()) / params.TableConstant
	case params.ModelMLP:
		in, hidden, classes := int(m.Inputs), int(m.Hidden), int(m.Classes)
		u.fill(x[:hidden*in], glorot(in, hidden))
		second := x[hidden*(in+m.Bias()):]
		u.fill(second[:classes*hidden], glorot(hidden, classes))
	case params.ModelExternal:
		rest := x
		for _, t := range m.Tensors {
			u.fillTensor(rest[:t.Len()], t)
			rest = rest[t.Len():]
		}
	}
	return x
}

// logit returns log(p/(1-p)), for p within (0, 1): twice the series of the inverse hyperbolic tangent
// at 2p-1, until a term no longer counts. [math.Log] differs between machines.
func logit(p float64) float64 {
	x := 2*p - 1
	sum, power := 0.0, x
	for k := 1.0; sum+power/k != sum; k += 2 {
		sum, power = sum+power/k, float64(power*float64(x*x))
	}
	return 2 * sum
}

func glorot(in, out int) float64 { return math.Sqrt(6 / float64(in+out)) }

// fillTensor sets dst to the initial values of a tensor. Before the call dst must hold zeros.
func (u *uniform) fillTensor(dst []float64, t params.Tensor) {
	switch t.Init {
	case params.InitGlorot:
		u.fill(dst, glorot(t.Fans()))
	case params.InitNormal:
		in, _ := t.Fans()
		u.fillNormal(dst, math.Sqrt(2/float64(in)))
	}
}

// fillNormal sets dst to approximately normal numbers with mean 0 and standard deviation std. Each
// number is std times a sum of variance 1: twelve uniform 32-bit fractions in [0, 1), minus 6. The
// usual methods need a logarithm or a cosine, which differ between machines.
func (u *uniform) fillNormal(dst []float64, std float64) {
	var block [32]byte
	word := len(block)
	for i := range dst {
		sum := -int64(6) << 32
		for range 12 {
			if word == len(block) {
				u.hashBlock(&block)
				word = 0
			}
			sum += int64(binary.BigEndian.Uint32(block[word:]))
			word += 4
		}
		dst[i] = std * (float64(sum) / (1 << 32))
	}
}

// uniform is a pseudorandom generator: it expands a seed with SHA-256 in counter mode.
type uniform struct {
	seed    []byte
	counter uint64
}

// fill sets dst to numbers that are uniform on a lattice of 2^53 points in [-bound, bound).
func (u *uniform) fill(dst []float64, bound float64) {
	var block [32]byte
	for i := range dst {
		if i%4 == 0 {
			u.hashBlock(&block)
		}
		k := int64(binary.BigEndian.Uint64(block[i%4*8:])>>11) - 1<<52
		dst[i] = bound * (float64(k) / (1 << 52))
	}
}

// hashBlock sets block to the next 32 pseudorandom bytes.
func (u *uniform) hashBlock(block *[32]byte) {
	h := sha256.New()
	h.Write([]byte("spdl/init/v1"))
	h.Write(u.seed)
	h.Write(binary.BigEndian.AppendUint64(nil, u.counter))
	h.Sum(block[:0])
	u.counter++
}
