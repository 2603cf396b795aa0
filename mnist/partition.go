package mnist

import (
	"fmt"
	"math/rand/v2"
)

// PartitionIID deals n examples out at random: parts disjoint shards of n/parts indices each, shuffled by seed. The n
// mod parts examples that are left over belong to nobody, so that every participant has the same sampling rate and
// hence the same privacy. It panics unless 1 <= parts <= n.
func PartitionIID(n, parts int, seed uint64) [][]int {
	if parts < 1 || parts > n {
		panic(fmt.Sprintf("mnist: %d parts of %d examples", parts, n))
	}
	order := rand.New(rand.NewPCG(seed, streamIID)).Perm(n)
	shards := make([][]int, parts)
	size := n / parts
	for p := range shards {
		shards[p] = order[p*size : (p+1)*size : (p+1)*size]
	}
	return shards
}

// Second words of the generators' seeds: partitions of different kinds are independent under one seed.
const (
	streamIID = iota
	streamDirichlet
)

// indexByClass lists the examples of each class in ascending order, after checking that they can be dealt out.
func indexByClass(labels []uint8, classes, parts int) ([][]int, error) {
	if classes < 1 || parts < 1 || parts > len(labels) {
		return nil, fmt.Errorf("%w: %d parts of %d examples in %d classes", ErrPartition, parts, len(labels), classes)
	}
	byClass := make([][]int, classes)
	for i, label := range labels {
		if int(label) >= classes {
			return nil, fmt.Errorf("%w: label %d is %d, want below %d", ErrLabel, i, label, classes)
		}
		byClass[label] = append(byClass[label], i)
	}
	return byClass, nil
}
