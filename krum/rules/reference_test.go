package rules

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"sort"
	"strings"

	"github.com/stretchr/testify/require"
)

// The references are written from the papers' definitions and the rules' comments alone, without
// sharing code with the package: mixtures and buckets are formed, distances computed from
// coordinates, columns sorted, subsets tried one by one. Points have integer coordinates over one
// denominator, which is exact for the small inputs of these tests.

// refPoints are points whose coordinates are at[i][j]/size.
type refPoints struct {
	size int64
	at   [][]int64
}

// refInput is what the references get: parameters, points, and the floor of their distances, times
// size^2.
type refInput struct {
	n, f      int
	unsquared bool
	floor     int64
	refPoints
}

// refDelta is num[j]/den.
type refDelta struct {
	num []int64
	den int64
}

// references computes Delta of points, one entry for each rule. A rule that needs more than one
// included gradient has a case in refusal as well.
var references = map[string]func(in refInput) refDelta{
	"mean":       func(in refInput) refDelta { return in.mean(in.at) },
	"krum":       func(in refInput) refDelta { return in.mean(in.some(in.krumOrder()[:1])) },
	"multi-krum": func(in refInput) refDelta { return in.mean(in.some(in.krumOrder()[:min(in.n-in.f, len(in.at))])) },
	"median": func(in refInput) refDelta {
		k := len(in.at)
		return in.columns(in.at, func(column []int64) []int64 { return column[(k-1)/2 : k/2+1] })
	},
	"trimmed-mean": func(in refInput) refDelta {
		return in.columns(in.at, func(column []int64) []int64 { return column[in.f : len(column)-in.f] })
	},
	"mean-around-median": func(in refInput) refDelta { return in.aroundMedian(in.at, len(in.at)-in.f) },
	"cge": func(in refInput) refDelta {
		order := refOrder(len(in.at), func(i, j int) bool { return in.squaredNorm(i) < in.squaredNorm(j) })
		return in.mean(in.some(order[:len(order)-in.f]))
	},
	"mda":               func(in refInput) refDelta { return in.mean(in.some(in.leastDiameter())) },
	"bulyan":            func(in refInput) refDelta { return in.bulyan() },
	"geometric-median":  func(in refInput) refDelta { return in.geometricMedian() },
	"agnostic-mean":     func(in refInput) refDelta { return in.agnosticMean() },
	"centered-clipping": func(in refInput) refDelta { return in.centeredClipping() },
}

// requireReference tells who adds a rule what it lacks.
func requireReference(t require.TestingT, name string) {
	inner := strings.TrimPrefix(strings.TrimPrefix(name, "nnm+"), "bucketing+")
	if references[inner] == nil {
		require.FailNow(t, "rule without a reference", "add %q to references in reference_test.go, and to refusal if it "+
			"needs more than one included gradient: written from the definition, without this package's code", inner)
	}
}

// reference computes Delta by the rule of that name.
func reference(name string, in Input) refDelta {
	r := refInput{n: in.N, f: in.F, unsquared: in.Unsquared, floor: in.Floor}
	r.size = 1
	for _, v := range in.Vectors {
		var row []int64
		for j := range v.Len() {
			row = append(row, v.At(j))
		}
		r.at = append(r.at, row)
	}
	if inner, ok := strings.CutPrefix(name, "nnm+"); ok {
		return references[inner](r.mixed())
	}
	if inner, ok := strings.CutPrefix(name, "bucketing+"); ok {
		return references[inner](r.bucketed(in.Seed))
	}
	return references[name](r)
}

// refusal says why a rule must refuse, or nil: what the rules' comments say that they need.
func refusal(name string, n, f, included int) error {
	if inner, ok := strings.CutPrefix(name, "nnm+"); ok {
		if included <= f {
			return ErrTooFew
		}
		return refusal(inner, n, f, included)
	}
	if inner, ok := strings.CutPrefix(name, "bucketing+"); ok {
		if n = (n + 1) / 2; f >= n {
			return ErrInfeasible
		}
		return refusal(inner, n, f, (included+1)/2)
	}
	switch name {
	case "krum", "multi-krum", "bulyan":
		switch {
		case n < f+3 || name == "bulyan" && n-2*f-2*f < 1:
			return ErrInfeasible
		case included < n-f-1:
			return ErrTooFew
		}
	case "trimmed-mean", "mean-around-median", "mda", "agnostic-mean":
		if included-2*f < 1 {
			return ErrTooFew
		}
	case "cge":
		if included-f < 1 {
			return ErrTooFew
		}
	}
	return nil
}

// mixed is nearest-neighbour mixing: the sum of the included-f nearest, itself always among them.
func (in refInput) mixed() refInput {
	out := in
	out.at, out.size, out.floor = nil, int64(len(in.at)-in.f), 0
	for i := range in.at {
		sum := append([]int64(nil), in.at[i]...)
		for _, j := range in.nearest(i)[:len(in.at)-in.f-1] {
			for c := range sum {
				sum[c] += in.at[j][c]
			}
		}
		out.at = append(out.at, sum)
	}
	return out
}

// bucketed is bucketing by two: twice the mean of each bucket.
func (in refInput) bucketed(seed []byte) refInput {
	out := in
	out.at, out.size, out.floor, out.n = nil, 2, 2*in.floor, (in.n+1)/2
	hash := func(i int) string {
		h := sha256.New()
		h.Write([]byte("spdl bucketing"))
		h.Write(seed)
		_ = binary.Write(h, binary.LittleEndian, uint32(i))
		return string(h.Sum(nil))
	}
	order := refOrder(len(in.at), func(i, j int) bool { return hash(i) < hash(j) })
	for b := 0; b < len(order); b += 2 {
		var sum []int64
		for c := range in.at[0] {
			first, second := in.at[order[b]][c], in.at[order[b]][c]
			if b+1 < len(order) {
				second = in.at[order[b+1]][c]
			}
			sum = append(sum, first+second)
		}
		out.at = append(out.at, sum)
	}
	return out
}

// refOrder returns 0 to n-1, sorted stably.
func refOrder(n int, less func(i, j int) bool) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return less(order[a], order[b]) })
	return order
}

func (p refPoints) some(positions []int) [][]int64 {
	var rows [][]int64
	for _, i := range positions {
		rows = append(rows, p.at[i])
	}
	return rows
}

func (p refPoints) squaredNorm(i int) (sum int64) {
	for _, x := range p.at[i] {
		sum += x * x
	}
	return sum
}

func (in refInput) distance(i, j int) (sum int64) {
	for c := range in.at[i] {
		sum += (in.at[i][c] - in.at[j][c]) * (in.at[i][c] - in.at[j][c])
	}
	return max(sum, in.floor)
}

// nearest returns the others by distance from point i, then by position.
func (in refInput) nearest(i int) []int {
	var others []int
	for _, j := range refOrder(len(in.at), func(a, b int) bool { return in.distance(i, a) < in.distance(i, b) }) {
		if j != i {
			others = append(others, j)
		}
	}
	return others
}

// krumOrder returns the positions by score, then by position.
func (in refInput) krumOrder() []int { return in.krumOrderWith(in.n - in.f - 2) }

func (in refInput) krumOrderWith(neighbours int) []int {
	if !in.unsquared {
		score := make([]int64, len(in.at))
		for i := range score {
			for _, j := range in.nearest(i)[:neighbours] {
				score[i] += in.distance(i, j)
			}
		}
		return refOrder(len(score), func(i, j int) bool { return score[i] < score[j] })
	}
	score := make([]*big.Int, len(in.at)) // in multiples of 2^-24, each root rounded down
	for i := range score {
		score[i] = new(big.Int)
		for _, j := range in.nearest(i)[:neighbours] {
			term := new(big.Int).Lsh(big.NewInt(in.distance(i, j)), 48)
			score[i].Add(score[i], term.Sqrt(term))
		}
	}
	return refOrder(len(score), func(i, j int) bool { return score[i].Cmp(score[j]) < 0 })
}

// bulyan selects N-2f by Krum, or all if there are fewer, and averages all but 2f of them around
// the median.
func (in refInput) bulyan() refDelta {
	left := in
	left.at = append([][]int64(nil), in.at...)
	var selected [][]int64
	for range min(in.n-2*in.f, len(in.at)) {
		best := left.krumOrderWith(min(max(1, left.n-left.f-2), len(left.at)-1))[0]
		selected = append(selected, left.at[best])
		left.at = append(left.at[:best], left.at[best+1:]...)
		left.n--
	}
	return in.aroundMedian(selected, len(selected)-2*in.f)
}

// leastDiameter goes through the subsets of all but f points in lexicographic order.
func (in refInput) leastDiameter() []int {
	var best []int
	least := int64(-1)
	var extend func(set []int, from int)
	extend = func(set []int, from int) {
		if len(set) == len(in.at)-in.f {
			diameter := int64(0)
			for _, i := range set {
				for _, j := range set {
					if i != j {
						diameter = max(diameter, in.distance(i, j))
					}
				}
			}
			if best == nil || diameter < least {
				best, least = append([]int(nil), set...), diameter
			}
			return
		}
		for i := from; i < len(in.at); i++ {
			extend(append(set[:len(set):len(set)], i), i+1)
		}
	}
	extend(nil, 0)
	return best
}

func (p refPoints) mean(rows [][]int64) refDelta {
	return p.columns(rows, func(column []int64) []int64 { return column })
}

// columns averages what choose returns of each sorted column.
func (p refPoints) columns(rows [][]int64, choose func(column []int64) []int64) refDelta {
	var out refDelta
	for c := range rows[0] {
		var column []int64
		for _, row := range rows {
			column = append(column, row[c])
		}
		sort.Slice(column, func(a, b int) bool { return column[a] < column[b] })
		var sum int64
		chosen := choose(column)
		for _, x := range chosen {
			sum += x
		}
		out.num, out.den = append(out.num, sum), int64(len(chosen))*p.size
	}
	return out
}

// aroundMedian averages the values nearest to the median, the lower one first at equal distance.
func (p refPoints) aroundMedian(rows [][]int64, take int) refDelta {
	return p.columns(rows, func(column []int64) []int64 {
		twice := column[(len(column)-1)/2] + column[len(column)/2]
		far := func(x int64) int64 { return max(2*x-twice, twice-2*x) }
		byDistance := append([]int64(nil), column...)
		sort.SliceStable(byDistance, func(a, b int) bool { return far(byDistance[a]) < far(byDistance[b]) })
		return byDistance[:take]
	})
}

// geometricMedian is 32 smoothed Weiszfeld steps from the mean, nu = 1 grid step, weights cut to 30
// bits below the largest; in the end shares of 2^20.
func (p refPoints) geometricMedian() refDelta {
	a := make([]*big.Int, len(p.at))
	for i := range a {
		a[i] = big.NewInt(1)
	}
	for range 32 {
		squares, unit := p.from(p.at, p.at, a)
		least := squares[0]
		for i, sq := range squares {
			if sq.Cmp(unit) < 0 {
				squares[i] = unit
			}
		}
		for _, sq := range squares {
			if sq.Cmp(least) < 0 || least.Cmp(unit) < 0 {
				least = sq
			}
		}
		for i, sq := range squares {
			a[i] = refRoot(least, sq, 30)
		}
	}
	return p.shares(p.at, a, false)
}

// centeredClipping is ten steps of clipped means of differences from the coordinate-wise median,
// whose radius is the lower median of the distances from there. Weights are cut to 40 bits, factors
// to 30, in the end shares of 2^20, the rest the median's.
func (p refPoints) centeredClipping() refDelta {
	k := len(p.at)
	doubled := refPoints{size: 2 * p.size}
	for _, row := range p.at {
		var twice []int64
		for _, x := range row {
			twice = append(twice, 2*x)
		}
		doubled.at = append(doubled.at, twice)
	}
	median := p.columns(p.at, func(column []int64) []int64 { return []int64{column[(k-1)/2], column[k/2]} })
	all := append([][]int64{median.num}, doubled.at...)
	a := make([]*big.Int, 1+k)
	for i := range a {
		a[i] = new(big.Int)
	}
	a[0].Lsh(big.NewInt(1), 40)
	var radius, radiusUnit *big.Int
	for range 10 {
		squares, unit := doubled.from(all, doubled.at, a)
		if radius == nil {
			sorted := append([]*big.Int(nil), squares...)
			sort.Slice(sorted, func(i, j int) bool { return sorted[i].Cmp(sorted[j]) < 0 })
			radius, radiusUnit = sorted[(k-1)/2], unit
		}
		one := new(big.Int).Lsh(big.NewInt(1), 30)
		whole := new(big.Int).Mul(one, big.NewInt(int64(k)))
		rest := new(big.Int).Set(whole)
		factor := []*big.Int{new(big.Int)}
		for _, sq := range squares {
			l := refRoot(new(big.Int).Mul(radius, unit), new(big.Int).Mul(sq, radiusUnit), 30)
			factor = append(factor, l)
			rest.Sub(rest, l)
		}
		sum := refTotal(a)
		for i := range a {
			x := new(big.Int).Mul(a[i], rest)
			x.Add(x, new(big.Int).Mul(sum, factor[i]))
			a[i] = x.Quo(x, whole)
		}
	}
	return doubled.shares(all, a, true)
}

// refRoot is floor(2^bits * min(1, sqrt(num/den))).
func refRoot(num, den *big.Int, bits uint) *big.Int {
	if num.Cmp(den) >= 0 {
		return new(big.Int).Lsh(big.NewInt(1), bits)
	}
	x := new(big.Int).Lsh(num, 2*bits)
	return x.Sqrt(x.Quo(x, den))
}

func refTotal(a []*big.Int) *big.Int {
	sum := new(big.Int)
	for _, x := range a {
		sum.Add(sum, x)
	}
	return sum
}

// from returns the squared distances of the points from the mean of rows with weights a, times
// unit; rows are over size.
func (p refPoints) from(rows, points [][]int64, a []*big.Int) (squares []*big.Int, unit *big.Int) {
	sum := refTotal(a)
	place := make([]*big.Int, len(rows[0]))
	for c := range place {
		place[c] = new(big.Int)
		for i, row := range rows {
			place[c].Add(place[c], new(big.Int).Mul(a[i], big.NewInt(row[c])))
		}
	}
	for _, point := range points {
		sq := new(big.Int)
		for c, x := range point {
			gap := new(big.Int).Mul(sum, big.NewInt(x))
			gap.Sub(gap, place[c])
			sq.Add(sq, gap.Mul(gap, gap))
		}
		squares = append(squares, sq)
	}
	unit = new(big.Int).Mul(sum, big.NewInt(p.size))
	return squares, unit.Mul(unit, unit)
}

// shares returns the mean of rows whose weights are brought to sum 2^20: rounded down, then the
// rest given to the first row, or the largest losses made good.
func (p refPoints) shares(rows [][]int64, a []*big.Int, restToFirst bool) refDelta {
	sum, left := refTotal(a), int64(1)<<20
	share, lost := make([]int64, len(a)), make([]*big.Int, len(a))
	for i, x := range a {
		q, r := new(big.Int).QuoRem(new(big.Int).Lsh(x, 20), sum, new(big.Int))
		share[i], lost[i] = q.Int64(), r
		left -= share[i]
	}
	if restToFirst {
		share[0], left = share[0]+left, 0
	}
	for _, i := range refOrder(len(a), func(i, j int) bool { return lost[i].Cmp(lost[j]) > 0 })[:left] {
		share[i]++
	}
	out := refDelta{num: make([]int64, len(rows[0])), den: p.size << 20}
	for i, row := range rows {
		for c, x := range row {
			out.num[c] += share[i] * x
		}
	}
	return out
}
