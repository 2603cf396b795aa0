package rules

import (
	"math/big"
	"sort"
)

// agnosticMean trims the coordinates along the directions that stick out of the noise: eigenvectors
// by 64 power iterations, kept to 20 bits, of the centred Gram matrix, kept to 30.
func (in refInput) agnosticMean() refDelta {
	k := len(in.at)
	gram, shifted := in.centredGram()
	weights := make([]*big.Int, k)
	for i := range weights {
		weights[i] = big.NewInt(1 << 30 / int64(k))
	}
	root := new(big.Int).Sqrt(big.NewInt(int64(k) << 40 / int64(len(in.at[0]))))
	edge := root.Add(root, big.NewInt(1<<20)) // 2^20 (1 + sqrt(k/d))
	edge.Mul(edge, edge).Mul(edge, big.NewInt(2*int64(k*k)*7)).Mul(edge, big.NewInt(in.floor))
	var found [][]*big.Int
	for range min(in.f, 8) {
		v := refEigenvector(gram, found)
		if v == nil {
			break
		}
		square := refDot(v, v)
		rayleigh := refDot(v, refTimes(gram, v))
		if rayleigh.Lsh(rayleigh, shifted+40).Mul(rayleigh, big.NewInt(12)).Cmp(new(big.Int).Mul(square, edge)) <= 0 {
			break
		}
		found = append(found, v)
		sorted := append([]*big.Int(nil), v...)
		sort.Slice(sorted, func(a, b int) bool { return sorted[a].Cmp(sorted[b]) < 0 })
		middle, den := refTotal(sorted[in.f:k-in.f]), new(big.Int).Mul(square, big.NewInt(int64(k-2*in.f)))
		for i, x := range v {
			change := new(big.Int).Mul(middle, x)
			weights[i].Add(weights[i], change.Lsh(change, 30).Div(change, den)) // Euclid's: rounded down
		}
	}
	for _, w := range weights {
		if w.Sign() < 0 {
			w.SetInt64(0)
		}
	}
	return in.shares(in.at, weights, false)
}

// centredGram returns 2k^2 <y_i - y, y_j - y> without some last bits, and how many.
func (in refInput) centredGram() (gram [][]*big.Int, shifted uint) {
	k := int64(len(in.at))
	bits := uint(0)
	cut := uint(0)
	squares := make([][]*big.Int, k)
	for i := range in.at {
		for j := range in.at {
			sum := new(big.Int)
			for c := range in.at[i] {
				x := big.NewInt(in.at[i][c] - in.at[j][c])
				sum.Add(sum, x.Mul(x, x))
			}
			squares[i] = append(squares[i], sum)
			bits = max(bits, uint(sum.BitLen()))
		}
	}
	if need := bits + 2*uint(big.NewInt(k).BitLen()); need > 60 {
		cut = need - 60
	}
	total, rows := new(big.Int), make([]*big.Int, k)
	for i, row := range squares {
		for _, x := range row {
			x.Rsh(x, cut)
		}
		rows[i] = refTotal(row)
		total.Add(total, rows[i])
	}
	bits = 0
	for i := range squares {
		gram = append(gram, nil)
		for j, x := range squares[i] {
			entry := new(big.Int).Add(rows[i], rows[j])
			entry.Mul(entry, big.NewInt(k)).Sub(entry, total).Sub(entry, x.Mul(x, big.NewInt(k*k)))
			gram[i] = append(gram[i], entry)
			bits = max(bits, uint(entry.BitLen()))
		}
	}
	excess := max(bits, 30) - 30
	for _, row := range gram {
		for _, x := range row {
			x.Rsh(x, excess) // rounds down, below 0 too
		}
	}
	return gram, cut + excess
}

// refEigenvector is the power iteration, away from the vectors that were found; nil where nothing
// is left.
func refEigenvector(gram, found [][]*big.Int) []*big.Int {
	at := 0
	for i := range gram {
		if gram[i][i].Cmp(gram[at][at]) > 0 {
			at = i
		}
	}
	v := refCut(refClear(refCut(gram[at]), found))
	for range 64 {
		v = refCut(refClear(refTimes(gram, v), found))
	}
	if refDot(v, v).Sign() == 0 {
		return nil
	}
	return v
}

// refClear takes the components along u off, with 20 bits of the share.
func refClear(v []*big.Int, found [][]*big.Int) []*big.Int {
	for _, u := range found {
		v = refCut(v)
		square := refDot(u, u)
		share := refDot(u, v)
		share.Quo(share, square.Rsh(square, 20))
		for i, x := range u {
			part := new(big.Int).Mul(share, x)
			v[i].Sub(v[i], part.Rsh(part, 20))
		}
	}
	return v
}

// refCut scales by a power of two so that the largest entry has 20 bits.
func refCut(v []*big.Int) []*big.Int {
	bits := 0
	for _, x := range v {
		bits = max(bits, x.BitLen())
	}
	out := make([]*big.Int, len(v))
	for i, x := range v {
		if bits > 20 {
			out[i] = new(big.Int).Rsh(x, uint(bits-20))
		} else {
			out[i] = new(big.Int).Lsh(x, uint(20-bits))
		}
	}
	return out
}

func refDot(a, b []*big.Int) *big.Int {
	sum := new(big.Int)
	for i, x := range a {
		sum.Add(sum, new(big.Int).Mul(x, b[i]))
	}
	return sum
}

func refTimes(gram [][]*big.Int, v []*big.Int) []*big.Int {
	out := make([]*big.Int, len(v))
	for i, row := range gram {
		out[i] = refDot(row, v)
	}
	return out
}
