package train_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/train"
	"github.com/spdl/spdl/testnet/experiment/train/traintest"
)

// TestValidation: about a sixth is held out, none of it is trained on, the training set has as many
// examples as before, and whether one is held out depends on it alone.
func TestValidation(t *testing.T) {
	data := traintest.Task(t)
	split := train.Validation(data)
	require.Equal(t, data.Train.Len(), split.Train.Len())
	require.InDelta(t, data.Train.Len()/6, split.Test.Len(), 4*17, "four standard deviations of a binomial, 17 each")
	in := func(s mnist.Set) map[string]bool {
		found := map[string]bool{}
		for i, label := range s.Labels {
			found[string(append([]byte{label}, s.Image(i)...))] = true
		}
		return found
	}
	trained, held := in(split.Train), in(split.Test)
	for image := range held {
		require.False(t, trained[image])
	}
	require.Equal(t, in(data.Train), union(trained, held))
	fewer := data.Train.Subset([]int{5, 1, 77, 1999})
	for image := range in(train.Validation(mnist.Data{Train: fewer}).Test) {
		require.True(t, held[image])
	}
}

func union(a, b map[string]bool) map[string]bool {
	both := map[string]bool{}
	for _, m := range []map[string]bool{a, b} {
		for k := range m {
			both[k] = true
		}
	}
	return both
}
