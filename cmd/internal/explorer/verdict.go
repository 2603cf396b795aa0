package explorer

import (
	"context"
	"encoding/hex"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// A Story is a closed round with the verdict on every participant.
type Story struct {
	Epoch    uint64              `json:"epoch"`
	Round    uint64              `json:"round"`
	Opened   uint64              `json:"opened"`
	Height   uint64              `json:"height"`
	Leader   uint32              `json:"leader"`
	View     uint32              `json:"view"`
	Ranking  []uint32            `json:"ranking"`
	Rule     string              `json:"rule"`
	Margin   *int64              `json:"margin"` // null if the rule selects no gradients
	Delta    string              `json:"delta_digest"`
	Model    string              `json:"model_hash"`
	Seed     string              `json:"seed"`
	Accuracy *float64            `json:"accuracy"`
	Examples int                 `json:"examples"` // test rows that the accuracy was measured on; 0 if it was not
	Loss     *float64            `json:"loss"`
	Verdicts []chainview.Verdict `json:"verdicts"`
}

// story returns a closed round with its verdicts.
func (s *Server) story(ctx context.Context, at params.RoundID) (*Story, error) {
	r, err := s.source.record(ctx, at)
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(ctx)
	if err != nil {
		return nil, err
	}
	since := uint64(0)
	offences, err := known[[]app.Offence](ctx, s.source, "/evidence")
	if err != nil {
		return nil, err
	}
	if at.Round > 0 {
		last, err := s.source.record(ctx, params.RoundID{Epoch: at.Epoch, Round: at.Round - 1})
		if err != nil {
			return nil, err
		}
		since = last.Height
	}
	before, err := s.before(ctx, at, people, offences)
	if err != nil {
		return nil, err
	}
	out := &Story{
		Epoch: r.Epoch, Round: r.Round, Opened: r.Opened, Height: r.Height, Leader: r.Leader, View: r.View,
		Ranking: append([]uint32{}, r.Ranking...),
		Rule:    r.Rule, Margin: chainview.MarginOf(r), Delta: hex.EncodeToString(r.DeltaDigest),
		Model:    hex.EncodeToString(r.ModelHash),
		Seed:     hex.EncodeToString(r.Seed),
		Verdicts: chainview.Verdicts(r, people, before, nil),
	}
	s.seen(ctx, r).Tell(out.Verdicts, r)
	for i := range out.Verdicts {
		out.Verdicts[i].Convict(chainview.PointOf(r), since, offences)
	}
	_, _, points, _ := s.tail.now()
	for i := range points {
		if points[i].Epoch == r.Epoch && points[i].Round == r.Round {
			out.Accuracy, out.Loss, out.Examples = points[i].Accuracy, points[i].Loss, points[i].Examples
		}
	}
	return out, nil
}
