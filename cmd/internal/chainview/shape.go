package chainview

import (
	"bytes"
	"math"
	"math/big"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/mds"

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
	distance := mat.NewSymDense(n+1, nil) // the last row is Delta's
	for i, v := range vectors {
		s.Participants = append(s.Participants, r.Contributions[i].Participant)
		s.Norm = append(s.Norm, math.Sqrt(float64(v.SquaredNorm())))
		for j := range i {
			distance.SetSym(i, j, math.Sqrt(float64(between.At(i, j))))
		}
	}
	size := n
	if out != nil {
		size++
		s.beside(vectors, out, distance)
	}
	places, kept := onPlane(distance.SliceSym(0, size))
	s.Place, s.Kept = places[:n], kept
	if out != nil {
		s.Delta = places[n]
	}
	return s
}

// beside sets the fields that depend on Delta; the last row of distance holds the distances to it.
func (s *Shape) beside(vectors []gradients.Vector, out *rules.Output, distance *mat.SymDense) {
	s.Known = true
	var length float64 // squared
	for _, x := range out.Delta.Num {
		y := float64(x) / float64(out.Delta.Den)
		length += y * y
	}
	for i, v := range vectors {
		dot, _ := new(big.Rat).SetFrac(out.Delta.Dot(v), big.NewInt(out.Delta.Den)).Float64()
		cosine := 0.0 // of a vector of length 0
		if lengths := s.Norm[i] * math.Sqrt(length); lengths > 0 {
			cosine = dot / lengths
		}
		s.Cosine = append(s.Cosine, cosine)
		distance.SetSym(i, len(vectors), math.Sqrt(max(0, s.Norm[i]*s.Norm[i]+length-2*dot)))
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

// onPlane places points on a plane from their distances, by classical multidimensional scaling (Torgerson,
// Psychometrika 17, 1952). It also returns the share of the squared distances that the plane keeps. The sign of an
// axis is fixed: its largest coordinate is positive.
func onPlane(distance mat.Symmetric) (places [][2]float64, kept float64) {
	var at mat.Dense
	axes, values := mds.TorgersonScaling(&at, make([]float64, distance.SymmetricDim()), distance)
	places = make([][2]float64, len(values))
	var all, drawn float64
	for _, x := range values {
		all += max(0, x)
	}
	for k := range min(2, axes) {
		drawn += max(0, values[k])
		column, largest := mat.Col(nil, k, &at), 0.0
		for _, x := range column {
			if math.Abs(x) > math.Abs(largest)*(1+1e-9) {
				largest = x
			}
		}
		for i, x := range column {
			places[i][k] = x * math.Copysign(1, largest)
		}
	}
	if all > 0 {
		kept = drawn / all
	}
	return places, kept
}
