package attack

import (
	"context"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
)

// forge is what a participant sends instead of its gradient; most is the largest
// coordinate of the grid.
type forge func(v gradients.Vector, most int64)

// gradientAttacks need nothing but the participant's own gradient.
var gradientAttacks = map[string]forge{
	// The negative of the honest gradient: of the right norm, against the slope.
	"sign-flip": func(v gradients.Vector, _ int64) {
		each(v, func(x int64) int64 { return -x })
	},
	// One step against the slope in every coordinate: far shorter than the noise
	// alone, and by distance nearer to everybody than anybody else.
	"noise-free": func(v gradients.Vector, _ int64) {
		each(v, func(x int64) int64 {
			if x > 0 {
				return -1
			}
			return 1
		})
	},
	// The prototype's attack: 1e7 in every coordinate, which the grid holds as its
	// largest number.
	"constant": func(v gradients.Vector, most int64) {
		each(v, func(int64) int64 { return most })
	},
}

func each(v gradients.Vector, f func(int64) int64) {
	for i := range v.Len() {
		v.Set(i, f(v.At(i)))
	}
}

func init() {
	for name, f := range gradientAttacks {
		behaviours[name] = func(c worker.Chain, k worker.Keys) worker.Chain { return forger{c, k, f} }
	}
}

// forger sends a forged gradient for each honest one. Leading, it is honest.
type forger struct {
	worker.Chain
	keys  worker.Keys
	forge forge
}

// Submit forges gradients and passes the rest.
func (a forger) Submit(ctx context.Context, t *tx.Tx) error {
	if t.Gradient == nil {
		return a.Chain.Submit(ctx, t)
	}
	task, err := a.Await(ctx, a.keys.Public(), nil)
	if err != nil {
		return err
	}
	width := gradients.Width(task.Params.Grid.Width)
	v, err := gradients.Decode(width, len(task.Model), t.Gradient.Payload)
	if err != nil {
		return err
	}
	a.forge(v, width.Max())
	forged := *t.Gradient
	forged.Payload = v.Encode()
	x, err := tx.Sign(task.ChainID, &forged, a.keys.Signing)
	if err != nil {
		return err
	}
	return a.Chain.Submit(ctx, x)
}
