package worker

import (
	"context"
	"fmt"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// newGrouped returns a trainer for an epoch whose unit of privacy is a group of examples. A step picks groups, takes
// the mean of the gradients of each group's examples, and clips each mean once. So adding or removing one group changes
// the sum of a step by at most the clip norm, however many examples the group has. The weights of classes multiply
// after the clip: a group whose examples weigh less than 1 is clipped to as much less.
func newGrouped(p params.Params, m *model.Model, data mnist.Features, source *privacy.Source) (*Trainer, error) {
	if len(data.Groups) != data.Len() {
		return nil, fmt.Errorf("%d examples with %d groups, want one group for each example", data.Len(), len(data.Groups))
	}
	groups := mnist.ByGroup(data.Groups)
	t, err := newTrainer(p, len(groups), source)
	if err != nil {
		return nil, err
	}
	var x []float32 // the examples of one group
	var labels []uint8
	one := make([]float64, m.Dim())
	t.clipped = func(_ context.Context, dst, at []float64, picked []int) (all model.Stats, err error) {
		clear(dst)
		for _, g := range picked {
			x, labels = data.Batch(x[:0], labels[:0], groups[g])
			s, n := m.ClippedSum(one, at, x, labels, 0), float64(len(labels))
			for j := range one {
				one[j] /= n
			}
			privacy.AddClipped(dst, one, p.Privacy.Clip*(s.Weight/n))
			all.Loss += s.Loss / float64(len(picked))
			all.NonFinite += s.NonFinite
		}
		return all, nil
	}
	return t, nil
}
