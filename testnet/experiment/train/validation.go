package train

import (
	"crypto/sha256"
	"slices"

	"github.com/spdl/spdl/mnist"
)

// validationShare is the number of training examples per example that is held out for validation.
const validationShare = 6

// Validation returns a task whose test set is about a sixth of the training examples, chosen by a hash of their
// content. No participant trains on them. Other training examples occur twice in their place, so that participants have
// as many examples as with the real test set, and a training has the same noise.
func Validation(data mnist.Data) mnist.Data {
	var held, rest []int
	for i, label := range data.Train.Labels {
		hash := sha256.Sum256(append(slices.Clone(data.Train.Image(i)), label))
		if hash[0]%validationShare == 0 {
			held = append(held, i)
		} else {
			rest = append(rest, i)
		}
	}
	if len(rest) == 0 {
		return data
	}
	index := make([]int, data.Train.Len())
	var at, twice int
	for i := range index {
		index[i] = i
		if at < len(held) && held[at] == i {
			index[i] = rest[twice%len(rest)]
			at, twice = at+1, twice+1
		}
	}
	return mnist.Data{Train: data.Train.Subset(index), Test: data.Train.Subset(held)}
}
