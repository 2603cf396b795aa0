package explorer

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// A shape describes where the gradients of a closed round lie: their norms, their angles to Delta,
// and their places on a plane that keeps their distances as well as a plane can. Each list has an
// entry for each included participant, in the order of the record.
type shape struct {
	Participants []uint32
	Norm         []float64    // in grid steps
	Place        [][2]float64 // in grid steps
	Kept         float64      // share of the squared distances that the plane keeps
	// Known reports that the explorer computed Delta and found the digest of the record. Otherwise
	// the fields that follow are empty.
	Known  bool
	Delta  [2]float64
	Cosine []float64 // of the angle to Delta
	// Near is the number of gradients that the rule counts as near to this one. A rule that mixes
	// the nearest gradients counts the gradient itself. Near is nil if the rule counts no
	// neighbours.
	Near []int
}

// The max number of gradients, and of their bytes, for which the explorer computes a shape.
const maxShape, maxShapeBytes = 100, 16 << 20

// shape returns the shape of a closed round of the running epoch. It returns errNotFound for a round
// that is too large, or of an earlier epoch, whose parameters the explorer does not know.
func (s *Server) shape(ctx context.Context, r *app.Record) (*shape, error) {
	at := params.RoundID{Epoch: r.Epoch, Round: r.Round}
	if known, ok := s.source.shapes.Cached(at); ok {
		return known, nil
	}
	status, running, points, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	if n := len(r.Contributions); r.Epoch != status.Epoch || n == 0 || n > maxShape {
		return nil, fmt.Errorf("%w: shape of round %v", errNotFound, at)
	}
	vectors, err := s.source.vectors(ctx, r, running)
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(ctx)
	if err != nil {
		return nil, err
	}
	out := shapeOf(r, vectors, deltaOf(r, vectors, inputOf(r, running, people, points)))
	if out.Known { // otherwise a later look may know enough
		s.source.shapes.Put(at, out)
	}
	return out, nil
}

// vectors returns the gradients of a closed round from its block, in the order of the record.
func (s *source) vectors(ctx context.Context, r *app.Record, p params.Params) ([]gradients.Vector, error) {
	width := gradients.Width(p.Grid.Width)
	if size := len(r.Contributions) * p.Model.Dim() * int(width); size > maxShapeBytes {
		return nil, fmt.Errorf("%w: round with %d bytes of gradients", errNotFound, size)
	}
	height := int64(r.Height)
	got, err := s.blocks.Block(ctx, &height)
	if err != nil {
		return nil, err
	}
	var out []gradients.Vector
	for i := 1; got.Block != nil && i < len(got.Block.Txs) && len(out) < len(r.Contributions); i++ {
		t, err := tx.Decode(got.Block.Txs[i])
		if err != nil || t.Gradient == nil {
			break
		}
		v, err := t.Vector(width, p.Model.Dim())
		if err != nil || t.Gradient.Participant != r.Contributions[len(out)].Participant {
			break
		}
		out = append(out, v)
	}
	if len(out) != len(r.Contributions) {
		return nil, fmt.Errorf("%w: gradients of block %d", errNotFound, height)
	}
	return out, nil
}

// inputOf returns the rule's input in a closed round without the vectors. It takes the input from
// the last rounds and the participants, and the digest shows whether it is right.
func inputOf(r *app.Record, p params.Params, people []app.Participant, points []chainview.Point) rules.Input {
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

// deltaOf runs the rule of a closed round again. It returns nil if the digest differs from the
// record's.
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
	if strings.HasPrefix(r.Rule, "bucketing+") {
		out.Neighbours = nil // a bucket's gradients are drawn at random, so they say nothing about nearness
	}
	return &out
}

// shapeOf computes the shape of vectors, with Delta if it is known.
func shapeOf(r *app.Record, vectors []gradients.Vector, out *rules.Output) *shape {
	n := len(vectors)
	s := &shape{}
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
func (s *shape) beside(vectors []gradients.Vector, out *rules.Output, squared *mat.SymDense) {
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
	if out.Neighbours == nil {
		return
	}
	s.Near = make([]int, len(vectors))
	for _, list := range out.Neighbours {
		for _, j := range list {
			s.Near[j]++
		}
	}
}

// angle returns the angle between a participant's gradient and Delta in degrees, or nil if it is
// unknown.
func (s *shape) angle(participant uint32) *float64 {
	i := slices.Index(s.Participants, participant)
	if i < 0 || !s.Known {
		return nil
	}
	x := math.Acos(max(-1, min(1, s.Cosine[i]))) * 180 / math.Pi
	return &x
}
