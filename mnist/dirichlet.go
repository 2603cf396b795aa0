package mnist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// These are the bounds on alpha. Beyond them every class has one owner, or all shares are equal, for every draw.
const minAlpha, maxAlpha = 1e-6, 1e6

// PartitionDirichlet deals a labelled set out unevenly: for each class the participants' shares are one draw from a
// symmetric Dirichlet(alpha). With large alpha the shares are almost equal; with alpha 0.1 most participants have one
// or two classes. The parts are disjoint, cover all examples, are ascending, and are a function of the arguments. No
// part is empty: a part that the draw left empty takes one example from the largest part.
//
// It fails with ErrPartition unless classes >= 1, 1 <= parts <= len(labels) and alpha is between 1e-6 and 1e6, and with
// ErrLabel for a label not below classes. Source: Hsu, Qi and Brown, "Measuring the effects of non-identical data
// distribution for federated visual classification", 2019, with shares drawn per class.
func PartitionDirichlet(labels []uint8, classes, parts int, alpha float64, seed uint64) ([][]int, error) {
	if !(alpha >= minAlpha && alpha <= maxAlpha) {
		return nil, fmt.Errorf("%w: alpha %v, want %v to %v", ErrPartition, alpha, minAlpha, maxAlpha)
	}
	byClass, err := indexByClass(labels, classes, parts)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, streamDirichlet))
	shards := make([][]int, parts)
	shares := make([]float64, parts)
	for _, index := range byClass {
		rng.Shuffle(len(index), func(i, j int) { index[i], index[j] = index[j], index[i] })
		dirichlet(shares, alpha, rng)
		cumulative, from := 0.0, 0
		for p, share := range shares {
			cumulative += share
			to := int(math.Round(cumulative * float64(len(index))))
			if p == parts-1 {
				to = len(index) // the shares sum to 1 up to rounding
			}
			to = min(max(to, from), len(index))
			shards[p] = append(shards[p], index[from:to]...)
			from = to
		}
	}
	fillEmpty(shards)
	for _, shard := range shards {
		slices.Sort(shard)
	}
	return shards, nil
}

// dirichlet fills shares with one draw from the symmetric Dirichlet(alpha): Gamma(alpha, 1) variates over their sum. It
// works with logarithms, as Gamma(alpha) = Gamma(alpha+1)*U^(1/alpha) underflows for small alpha.
func dirichlet(shares []float64, alpha float64, rng *rand.Rand) {
	gamma := distuv.Gamma{Alpha: alpha + 1, Beta: 1, Src: rng}
	for i := range shares {
		shares[i] = math.Log(gamma.Rand()) + math.Log1p(-rng.Float64())/alpha
	}
	top, sum := slices.Max(shares), 0.0
	for i, log := range shares {
		shares[i] = math.Exp(log - top)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
}

// fillEmpty gives each empty shard the last example of the largest shard, or of the first of several largest ones.
// There are at least as many examples as shards, so while a shard is empty the largest has two or more.
func fillEmpty(shards [][]int) {
	for p := range shards {
		if len(shards[p]) > 0 {
			continue
		}
		largest := 0
		for k := range shards {
			if len(shards[k]) > len(shards[largest]) {
				largest = k
			}
		}
		last := len(shards[largest]) - 1
		shards[p] = append(shards[p], shards[largest][last])
		shards[largest] = shards[largest][:last]
	}
}
