package mnist

import "fmt"

// Classes is the number of labels of MNIST: 0 to 9.
const Classes = 10

// Set is a table of labelled grey-level images.
type Set struct {
	Images     []uint8 // Len()*Rows*Cols grey levels, image after image, each row-major; 0 is background
	Labels     []uint8 // one per image
	Rows, Cols int     // pixels of one image
	// Groups numbers the group of each example, for example a patient. It is nil if each example is by itself.
	Groups []uint32
}

// Data is a learning task: a training set, and a test set on which accuracy is measured. Both sets
// have images of one shape.
type Data struct {
	Train, Test Set
}

// Classes returns the number of classes that the labels need: one more than the largest.
func (s Set) Classes() int {
	most := -1
	for _, label := range s.Labels {
		most = max(most, int(label))
	}
	return most + 1
}

// Len returns the number of examples.
func (s Set) Len() int { return len(s.Labels) }

// Image returns the Rows*Cols pixels of example i. It shares memory with s.
func (s Set) Image(i int) []uint8 {
	size := s.Rows * s.Cols
	return s.Images[i*size : (i+1)*size : (i+1)*size]
}

// Subset copies the examples at the indices in index, in that order: one participant's shard. It
// panics on an index outside [0, Len).
func (s Set) Subset(index []int) Set {
	size := s.Rows * s.Cols
	sub := Set{
		Images: make([]uint8, 0, len(index)*size),
		Labels: make([]uint8, 0, len(index)),
		Rows:   s.Rows,
		Cols:   s.Cols,
	}
	for _, i := range index {
		if i < 0 || i >= s.Len() {
			panic(fmt.Sprintf("mnist: index %d outside [0, %d)", i, s.Len()))
		}
		sub.Images = append(sub.Images, s.Image(i)...)
		sub.Labels = append(sub.Labels, s.Labels[i])
		if s.Groups != nil {
			sub.Groups = append(sub.Groups, s.Groups[i])
		}
	}
	return sub
}
