package trainer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/privacy"
)

// compareLargestGroups compares the trainer's sums over its largest groups with the sums over the
// examples of these groups.
func (i *inspection) compareLargestGroups(ctx context.Context) (string, error) {
	groups := slices.Clone(i.t.groups)
	slices.SortStableFunc(groups, func(a, b []int) int { return len(b) - len(a) })
	groups = groups[:min(maxChecked, len(groups))]
	return fmt.Sprintf("%d groups of %d to %d examples", len(groups), len(groups[len(groups)-1]), len(groups[0])),
		i.compareGroups(ctx, groups)
}

// equalRows checks groups that hold the same example several times. A trainer that adds the rows of a
// group answers with more than one row, or with one beyond the clip norm.
func (i *inspection) equalRows(ctx context.Context) (string, error) {
	var groups [][]int
	for _, g := range i.batch[:min(maxChecked, len(i.batch))] {
		groups = append(groups, slices.Repeat(i.t.groups[g][:1], numCopies))
	}
	return fmt.Sprintf("%d groups of one example %d times", len(groups), numCopies), i.compareGroups(ctx, groups)
}

// compareGroups compares the trainer's sum over each group with the mean of the gradients of the group's examples,
// clipped once. A second process of the trainer, started with clip norm 0 (no clipping), computes these gradients.
func (i *inspection) compareGroups(ctx context.Context, groups [][]int) error {
	open, err := Start(ctx, i.config, i.t.model, params.Privacy{Unit: i.t.unit})
	if err != nil {
		return err
	}
	defer open.Close()
	for _, g := range groups {
		whole, err := i.groupOf(ctx, i.t, g)
		if err != nil {
			if i.t.model.Clipping == params.ClippingSum && !errors.Is(err, errQuestion) {
				err = fmt.Errorf("a group of %d examples: %w: it clips the examples of a group one by one, or not at all, "+
					"so a person with %[1]d rows is not protected", len(g), err)
			}
			return err
		}
		mean, want := make([]float64, len(i.x)), make([]float64, len(i.x))
		for _, at := range g {
			one, err := i.groupOf(ctx, open, []int{at})
			if err != nil {
				return err
			}
			for j, v := range one {
				mean[j] += v / float64(len(g))
			}
		}
		privacy.AddClipped(want, mean, i.t.clip)
		if !isNear(whole, want, norm(want)) {
			return fmt.Errorf("a group of %d examples has norm %.4g, and the mean of its examples, clipped once, %.4g, %.4g "+
				"apart: the trainer adds the rows, as until version 7, takes some of them, or clips them first", len(g),
				norm(whole), norm(want), distance(whole, want))
		}
	}
	return nil
}

// groupOf returns a trainer's sum over one group that consists of the given examples.
func (i *inspection) groupOf(ctx context.Context, t *Trainer, examples []int) ([]float64, error) {
	out := make([]float64, len(i.x))
	err := t.withChild(ctx, func(ctx context.Context, k *child) error {
		return t.groupSum(ctx, k, out, i.x, [][]int{examples})
	})
	return out, err
}
