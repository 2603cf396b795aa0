package mnist

import (
	"cmp"
	"fmt"
	"slices"
)

// Part chooses examples of a training set by its labels: the share of a participant, in its order.
type Part func(labels []uint8) ([]int, error)

// Part copies the examples that part chooses. If the set has groups, part chooses among the groups,
// each with the label of its first example, and Part copies all examples of a chosen group.
func (s Set) Part(part Part) (Set, error) {
	index, err := part.among(s.Labels, s.Groups)
	if err != nil {
		return Set{}, err
	}
	return s.Subset(index), nil
}

// among returns the examples that a part chooses, by whole groups if there are any.
func (part Part) among(labels []uint8, grouped []uint32) (index []int, err error) {
	groups := Units(grouped, len(labels))
	first := make([]uint8, len(groups))
	for g, members := range groups {
		first[g] = labels[members[0]]
	}
	chosen, err := part(first)
	for _, g := range chosen {
		index = append(index, groups[g]...)
	}
	return index, err
}

// ByGroup returns the examples of each group in ascending order, the groups in the order of their first examples.
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

// Units returns the examples of each group or, of n examples without groups, each by itself.
func Units(groups []uint32, n int) [][]int {
	if groups != nil {
		return ByGroup(groups)
	}
	units := make([][]int, n)
	for i := range units {
		units[i] = []int{i}
	}
	return units
}

// DecodePart returns the result of [Set.Part] on a set that [Decode] reads. Besides the images of the part it holds one
// image in memory. It panics if the part names an example that the set does not have.
//
// Errors: those of Decode, and the part's.
func DecodePart(images, labels []byte, part Part) (Set, error) {
	return decodePart(images, labels, nil, part)
}

// decodePart is DecodePart for images with the groups that a function, nil for none, returns for their number.
func decodePart(images, labels []byte, groups func(n int) ([]uint32, error), part Part) (Set, error) {
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
	var grouped []uint32
	if groups != nil {
		if grouped, err = groups(len(marks)); err != nil {
			return Set{}, err
		}
	}
	index, err := part.among(marks, grouped)
	if err != nil {
		return Set{}, err
	}
	own := Set{
		Images: make([]uint8, len(index)*dims[1]*dims[2]), Labels: make([]uint8, len(index)), Rows: dims[1], Cols: dims[2],
	}
	for at, i := range index {
		own.Labels[at] = marks[i]
		if grouped != nil {
			own.Groups = append(own.Groups, grouped[i])
		}
	}
	if err := own.fill(src, index, dims[0]); err != nil {
		return Set{}, fmt.Errorf("images: %d elements: %w", total, err)
	}
	if err := src.end(total); err != nil {
		return Set{}, fmt.Errorf("images: %d elements: %w", total, err)
	}
	return own, nil
}

// fill reads n images and stores those at the indices in index, in that order.
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

// LoadPart returns a part of the training set that [Load] reads, as [Set.Part] does. It fails as Load does if the
// training set is missing or damaged.
func LoadPart(dir string, part Part) (Set, error) {
	images, labels, err := readSet(dir, "train")
	if err != nil {
		return Set{}, err
	}
	return decodePart(images, labels, func(n int) ([]uint32, error) { return loadGroups(dir, n) }, part)
}

// LoadTest returns the test set that [Load] reads.
func LoadTest(dir string) (Set, error) { return loadSet(dir, "t10k") }
