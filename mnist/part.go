package mnist

import (
	"cmp"
	"fmt"
	"slices"
)

// Part chooses examples of a training set by its labels: a participant's share, in its order.
type Part func(labels []uint8) ([]int, error)

// Part copies the examples that a part chooses. If the set has groups, the part chooses among them,
// each with the label of its first example, and all examples of a chosen group are copied.
func (s Set) Part(part Part) (Set, error) {
	if s.Groups == nil {
		index, err := part(s.Labels)
		if err != nil {
			return Set{}, err
		}
		return s.Subset(index), nil
	}
	groups := ByGroup(s.Groups)
	labels := make([]uint8, len(groups))
	for g, members := range groups {
		labels[g] = s.Labels[members[0]]
	}
	chosen, err := part(labels)
	if err != nil {
		return Set{}, err
	}
	var index []int
	for _, g := range chosen {
		index = append(index, groups[g]...)
	}
	return s.Subset(index), nil
}

// ByGroup returns the examples of each group in ascending order, the groups in the order of their
// first examples.
func ByGroup(groups []uint32) (members [][]int) {
	at := map[uint32]int{}
	for i, g := range groups {
		if _, known := at[g]; !known {
			at[g] = len(members)
			members = append(members, nil)
		}
		members[at[g]] = append(members[at[g]], i)
	}
	return members
}

// DecodePart returns the result of [Set.Part] on a set that [Decode] reads. Besides the images of
// the part it holds one image in memory. It panics if the part names an example that the set does
// not have.
//
// Errors: those of Decode, and the part's.
func DecodePart(images, labels []byte, part Part) (Set, error) {
	marks, err := DecodeLabels(labels)
	if err != nil {
		return Set{}, err
	}
	src, dims, total, err := open(images, magicImages)
	if err == nil {
		err = src.holds(total)
	}
	if err != nil {
		return Set{}, fmt.Errorf("images: %w", err)
	}
	if dims[0] != len(marks) {
		return Set{}, fmt.Errorf("%w: %d images, %d labels", ErrMismatch, dims[0], len(marks))
	}
	index, err := part(marks)
	if err != nil {
		return Set{}, err
	}
	own := Set{
		Images: make([]uint8, len(index)*dims[1]*dims[2]), Labels: make([]uint8, len(index)), Rows: dims[1], Cols: dims[2],
	}
	for at, i := range index {
		own.Labels[at] = marks[i]
	}
	if err := own.fill(src, index, dims[0]); err != nil {
		return Set{}, fmt.Errorf("images: %d elements: %w", total, err)
	}
	if err := src.end(total); err != nil {
		return Set{}, fmt.Errorf("images: %d elements: %w", total, err)
	}
	return own, nil
}

// fill reads n images and keeps those that index names, in its order.
func (s Set) fill(src *content, index []int, n int) error {
	order := make([]int, len(index)) // positions of index, by the image that they name
	for at := range order {
		order[at] = at
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(index[a], index[b]) })
	image := make([]uint8, s.Rows*s.Cols)
	for i := range n {
		if err := src.fill(image); err != nil {
			return err
		}
		for ; len(order) > 0 && index[order[0]] == i; order = order[1:] {
			copy(s.Image(order[0]), image)
		}
	}
	return nil
}

// EmbeddedPart returns a part of the training set of the real MNIST, and keeps nothing of the set.
func EmbeddedPart(part Part) (Set, error) { return DecodePart(trainImages, trainLabels, part) }

// EmbeddedTest returns the test set of the real MNIST: 10,000 images.
func EmbeddedTest() (Set, error) { return Decode(testImages, testLabels) }

// LoadPart returns a part of the training set that [Load] reads. It fails as Load does if the
// training set is missing or damaged.
func LoadPart(dir string, part Part) (Set, error) {
	images, labels, err := readSet(dir, "train")
	if err != nil {
		return Set{}, err
	}
	return DecodePart(images, labels, part)
}

// LoadTest returns the test set that [Load] reads.
func LoadTest(dir string) (Set, error) { return loadSet(dir, "t10k") }
