package attack

import (
	"context"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// Shift moves an aggregate over gradients of n participants against its own signs, by the whole
// tolerance that the chain allows a leader: delta grid steps in every coordinate. To the first
// coordinate it adds beyond more, in numerators; 1 is the smallest possible difference between two
// aggregates. With tolerance 0 an aggregate holds no vector, and Shift leaves it as it is.
func Shift(a *tx.Aggregate, p params.Params, n int, beyond int64) error {
	if p.Rule.Tolerance == 0 {
		return nil
	}
	rule, err := rules.Lookup(p.Rule.Name)
	if err != nil {
		return err
	}
	included := len(a.Included)
	if p.Rule.Zeros {
		included = n
	}
	den := rule.Denominator(n, p.Rule.F(n), included)
	width := p.Grid.Lattice().Width
	f, err := gradients.DecodeFraction(width, p.Model.Dim(), den, a.Delta)
	if err != nil {
		return err
	}
	end := width.Max() * den
	for j, num := range f.Num {
		shift := p.Rule.Tolerance * den
		if j == 0 {
			shift += beyond
		}
		if num > 0 {
			shift = -shift
		}
		f.Num[j] = max(-end, min(end, num+shift))
	}
	a.Delta = f.Encode()
	return nil
}

// shifted is a leader whose aggregate is off by the whole tolerance, and in its first coordinate by beyond more.
type shifted struct {
	worker.Chain
	keys   worker.Keys
	beyond int64
}

// Lead shifts the draft.
func (s shifted) Lead(ctx context.Context, p uint32) (*tx.Aggregate, error) {
	draft, err := s.Chain.Lead(ctx, p)
	if err != nil {
		return nil, err
	}
	task, err := s.Await(ctx, s.keys.Public(), nil)
	if err != nil {
		return nil, err
	}
	wrong := *draft
	return &wrong, Shift(&wrong, task.Params, task.Active, s.beyond)
}
