package chainview

import (
	"bytes"
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// A Shape describes where the gradients of a closed round lie: their norms, their angles to Delta,
// and their places on a plane that keeps their distances as well as a plane can. Each list has an
// entry for each included participant, in the order of the record.
type Shape struct {
	Participants []uint32
	Norm         []float64    // in grid steps
	Place        [][2]float64 // in grid steps
	Kept         float64      // share of the squared distances that the plane keeps
	// Known reports that the explorer computed Delta and found the digest of the record. Otherwise
	// the fields that follow are empty.
	Known  bool
	Delta  [2]float64
	Cosine []float64 // of the angle to Delta
}

// The max number of gradients, and of their bytes, for which the explorer computes a shape.
const maxShape, maxShapeBytes = 100, 16 << 20

// Shape returns the shape of a closed round of the running epoch, or nil for a round that is too large, or of an
// earlier epoch, whose parameters are not known.
func (r *Reader) Shape(record *app.Record) *Shape {
	at := params.RoundID{Epoch: record.Epoch, Round: record.Round}
	if known, ok := r.shapes.Cached(at); ok {
		return known
	}
	now, err := r.Now()
	if n := len(record.Contributions); n == 0 || n > maxShape || err != nil || at.Epoch != now.Status.Epoch {
		return nil
	}
	vectors := r.vectors(record, now.Params)
	if vectors == nil || r.err != nil {
		return nil
	}
	in := inputOf(record, now.Params, r.Participants(), now.Points)
	out := shapeOf(record, vectors, deltaOf(record, vectors, in))
	if out.Known { // otherwise a later look may know enough
		r.shapes.Put(at, out)
	}
	return out
}

// vectors returns the gradients of a closed round from its block, in the order of the record, or nil if they are too
// many bytes or the node does not have them.
func (r *Reader) vectors(record *app.Record, p params.Params) (out []gradients.Vector) {
	width, n := gradients.Width(p.Grid.Width), len(record.Contributions)
	if n*p.Model.Dim()*int(width) > maxShapeBytes {
		return nil
	}
	b := r.tryBlock(int64(record.Height))
	for i := 1; b != nil && i < len(b.Txs) && len(out) < n; i++ {
		t, err := tx.Decode(b.Txs[i])
		if err != nil || t.Gradient == nil || t.Gradient.Participant != record.Contributions[len(out)].Participant {
			return nil
		}
		v, err := t.Vector(width, p.Model.Dim())
		if err != nil {
			return nil
		}
		out = append(out, v)
	}
	if len(out) != n {
		return nil
	}
	return out
}

// inputOf returns the rule's input in a closed round without the vectors. It takes the input from
// the last rounds and the participants, and the digest shows whether it is right.
func inputOf(r *app.Record, p params.Params, people []app.Participant, points []Point) rules.Input {
	releases := map[uint32]int{}
	n := 0
	for _, who := range people {
		releases[who.Index] = int(who.Releases)
		if who.Active && who.Joined <= r.Round {
			n++
		}
	}
	for i := range points {
		if points[i].Epoch == r.Epoch && points[i].Round >= r.Round {
			for _, who := range points[i].Members {
				releases[who]--
			}
		}
	}
	in := rules.Input{N: n, F: p.Rule.F(n), Unsquared: p.Rule.Unsquared, Seed: r.Seed}
	fewest := math.MaxInt
	for _, c := range r.Contributions {
		fewest = min(fewest, releases[c.Participant]+1)
	}
	in.Floor = p.DistanceFloor(r.Round, fewest)
	return in
}

// deltaOf runs the rule of a closed round again. It returns nil if the digest differs from the record's.
func deltaOf(r *app.Record, vectors []gradients.Vector, in rules.Input) *rules.Output {
	rule, err := rules.Lookup(r.Rule)
	if err != nil {
		return nil
	}
	in.Vectors = vectors
	out, err := rule.Aggregate(in)
	if err != nil {
		return nil
	}
	if digest := out.Delta.Digest(); !bytes.Equal(digest[:], r.DeltaDigest) {
		return nil
	}
	return &out
}

// shapeOf computes the shape of vectors, with Delta if it is known.
func shapeOf(r *app.Record, vectors []gradients.Vector, out *rules.Output) *Shape {
	n := len(vectors)
	s := &Shape{}
	between := gradients.Pairwise(vectors)
	squared := mat.NewSymDense(n+1, nil) // the last row is Delta's
	for i, v := range vectors {
		s.Participants = append(s.Participants, r.Contributions[i].Participant)
		s.Norm = append(s.Norm, math.Sqrt(float64(v.SquaredNorm())))
		for j := range i {
			squared.SetSym(i, j, float64(between.At(i, j)))
		}
	}
	size := n
	if out != nil {
		size++
		s.beside(vectors, out, squared)
	}
	places, kept := onPlane(squared.SliceSym(0, size).(*mat.SymDense))
	s.Place, s.Kept = places[:n], kept
	if out != nil {
		s.Delta = places[n]
	}
	return s
}

// beside sets the fields that depend on Delta; the last row of squared holds the distances to it.
func (s *Shape) beside(vectors []gradients.Vector, out *rules.Output, squared *mat.SymDense) {
	s.Known = true
	var length float64 // squared
	for _, x := range out.Delta.Num {
		y := float64(x) / float64(out.Delta.Den)
		length += y * y
	}
	for i, v := range vectors {
		dot, _ := new(big.Rat).SetFrac(out.Delta.Dot(v), big.NewInt(out.Delta.Den)).Float64()
		s.Cosine = append(s.Cosine, cosine(dot, s.Norm[i]*s.Norm[i], length))
		squared.SetSym(i, len(vectors), max(0, s.Norm[i]*s.Norm[i]+length-2*dot))
	}
}

// Angle returns the angle between a participant's gradient and Delta in degrees, or nil if it is unknown.
func (s *Shape) Angle(participant uint32) *float64 {
	i := slices.Index(s.Participants, participant)
	if i < 0 || !s.Known {
		return nil
	}
	x := math.Acos(max(-1, min(1, s.Cosine[i]))) * 180 / math.Pi
	return &x
}

// cosine returns the cosine of two vectors from their product and their squared lengths. It returns
// 0 if a vector has length 0.
func cosine(dot, a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return dot / math.Sqrt(a*b)
}

// centred returns the scalar products of vectors minus their mean, computed from the squared
// distances of the vectors: -J D J / 2, where J is the projection that removes the mean.
func centred(squared *mat.SymDense) *mat.SymDense {
	n := squared.SymmetricDim()
	row, all := make([]float64, n), 0.0
	for i := range n {
		for j := range n {
			row[i] += squared.At(i, j) / float64(n)
		}
		all += row[i] / float64(n)
	}
	out := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			out.SetSym(i, j, -(squared.At(i, j)-row[i]-row[j]+all)/2)
		}
	}
	return out
}

// onPlane places points on a plane from their squared distances, by classical multidimensional
// scaling (Torgerson, Psychometrika 17, 1952). It also returns the share of the squared distances
// that the plane keeps. The sign of an axis is fixed: its largest coordinate is positive.
func onPlane(squared *mat.SymDense) (places [][2]float64, kept float64) {
	n := squared.SymmetricDim()
	places = make([][2]float64, n)
	var eigen mat.EigenSym
	if !eigen.Factorize(centred(squared), true) {
		return places, 0
	}
	values := eigen.Values(nil) // ascending
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	var all, drawn float64
	for k := range min(2, n) {
		column := n - 1 - k
		length := math.Sqrt(max(0, values[column]))
		drawn += length * length
		largest := 0.0
		for i := range n {
			if x := vectors.At(i, column); math.Abs(x) > math.Abs(largest)*(1+1e-9) {
				largest = x
			}
		}
		for i := range n {
			places[i][k] = vectors.At(i, column) * math.Copysign(length, length*largest)
		}
	}
	for _, x := range values {
		all += max(0, x)
	}
	if all > 0 {
		kept = drawn / all
	}
	return places, kept
}
