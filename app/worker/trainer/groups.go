package trainer

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// maxGrouped is the max number of examples that a trainer may have if they are in groups.
const maxGrouped = 1 << 24

// GroupsIgnored is the warning about examples in groups on a chain whose unit of privacy is an example.
const GroupsIgnored = "the examples have groups, and this chain protects each example by itself: privacy.unit is " +
	`not "group"`

// IgnoresGroups reports whether the trainer has groups and the unit of privacy is an example.
func (t *Trainer) IgnoresGroups() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answer.Groups && t.unit == ""
}

// askGroups asks the running child for the group of each example, because the worker draws batches
// of groups. It fails if the groups after a restart differ from the groups before it.
func (t *Trainer) askGroups(ctx context.Context) error {
	return t.child.ask(ctx, frameGroups, nil, func(r *reply) error {
		body, err := r.frame(frameGroups, 4*t.answer.Examples)
		if err != nil {
			return err
		}
		grouped, err := decodeGroups(body, t.answer.Examples)
		if err != nil {
			return err
		}
		if t.groupOf != nil && !slices.Equal(grouped, t.groupOf) {
			return fmt.Errorf("its examples are in other groups after its restart")
		}
		t.groupOf, t.groups = grouped, mnist.ByGroup(grouped)
		return nil
	})
}

// examplesOf returns the examples of each of the given groups.
func (t *Trainer) examplesOf(picked []int) [][]int {
	groups := make([][]int, len(picked))
	for i, g := range picked {
		groups[i] = t.groups[g]
	}
	return groups
}

// inGroups returns the part of a message that describes the groups, "" if the unit of privacy is one example.
func (t *Trainer) inGroups() string {
	if t.unit != params.UnitGroup {
		return ""
	}
	most := 0
	for _, g := range t.groups {
		most = max(most, len(g))
	}
	if most == 1 {
		return ", each a group of its own: if somebody has two of them, the trainer's groups are wrong"
	}
	return fmt.Sprintf(" in %d groups of 1 to %d", len(t.groups), most)
}

// decodeGroups decodes the group of each of n examples. Groups must be numbered from 0 in the order
// of their first examples, so that worker and trainer use the same numbers.
func decodeGroups(body []byte, n int) ([]uint32, error) {
	if len(body) != 4*n {
		return nil, fmt.Errorf("the groups of %d examples have %d bytes, want %d (a u32 for each example)", n, len(body), 4*n)
	}
	grouped, next := make([]uint32, n), uint32(0)
	for i := range grouped {
		grouped[i] = binary.LittleEndian.Uint32(body[4*i:])
		if grouped[i] > next {
			return nil, fmt.Errorf("example %d is in group %d, and the groups before it are %d: want at most that number, "+
				"groups are numbered from 0 in the order of their first examples", i, grouped[i], next)
		}
		next = max(next, grouped[i]+1)
	}
	return grouped, nil
}

// groupSum sets dst to the sum of the clipped gradients of groups. The gradient of a group is the mean of the gradients
// of its examples. With clipping "rows" the trainer answers with the gradient of each example, and groupSum takes the
// mean of each group and clips it. With clipping "sum" the trainer does so.
func (t *Trainer) groupSum(ctx context.Context, k *child, dst, x []float64, groups [][]int) error {
	if t.model.Clipping == params.ClippingSum {
		return k.ask(ctx, frameGradient, groupRequest(x, groups), func(r *reply) error {
			clear(dst)
			return t.readSum(r, dst, len(groups))
		})
	}
	all, one := slices.Concat(groups...), make([]float64, len(dst))
	return k.ask(ctx, frameGradient, gradientBody(x, all), func(r *reply) error {
		clear(dst)
		at, left := -1, 0 // the current group, and the number of its rows that have not been read yet
		err := t.eachRow(r, len(dst), len(all), func(row []float64, _ float64) {
			if left == 0 {
				at++
				left = len(groups[at])
				clear(one)
			}
			for j, v := range row {
				one[j] += v / float64(len(groups[at]))
			}
			if left--; left == 0 {
				privacy.AddClipped(dst, one, t.clip)
			}
		})
		return err
	})
}
