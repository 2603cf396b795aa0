package mnist

import (
	"fmt"
	"math"
)

// Features is a table of labelled model inputs, made from a [Set]: the rows that a worker trains on.
type Features struct {
	X      []float32 // Len()*Inputs values, row after row
	Labels []uint8   // one per row; shared with the Set
	Inputs int       // length of one row
	Groups []uint32  // the group of each row, nil if each row is by itself; shared with the Set
}

// Inputs returns the length of one row of [Set.Features]: rows*cols/pool².
// It fails with ErrFeatures unless pool is at least 1 and divides both sides.
func Inputs(rows, cols, pool int) (int, error) {
	if pool < 1 || rows < 1 || cols < 1 || rows%pool != 0 || cols%pool != 0 {
		return 0, fmt.Errorf("%w: pool %d, want a divisor of both sides of %dx%d", ErrFeatures, pool, rows, cols)
	}
	return (rows / pool) * (cols / pool), nil
}

// Features maps every image to (m-mean)/scale for the means m of its disjoint pool x pool squares,
// row-major. Pool 1 keeps the pixels; pool 2 makes 14x14 of 28x28 and thereby a gradient a quarter
// as long. Mean 0 and scale 255 give values in [0, 1] (the default preset); mean 50 and scale 50
// are the paper prototype's, which divides by 100, subtracts 0.5 and divides by 0.5.
//
// It fails with ErrFeatures if pool does not divide the sides, mean is not finite or scale is not a
// positive finite number.
func (s Set) Features(pool int, mean, scale float64) (Features, error) {
	inputs, err := Inputs(s.Rows, s.Cols, pool)
	if err != nil {
		return Features{}, err
	}
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return Features{}, fmt.Errorf("%w: mean %v, want a finite number", ErrFeatures, mean)
	}
	if !(scale > 0) || math.IsInf(scale, 1) {
		return Features{}, fmt.Errorf("%w: scale %v, want a positive finite number", ErrFeatures, scale)
	}
	// The sum of a square takes one of few values, so division and rounding are done once for each value.
	value := make([]float32, pool*pool*math.MaxUint8+1)
	for sum := range value {
		value[sum] = float32((float64(sum)/float64(pool*pool) - mean) / scale)
	}
	f := Features{X: make([]float32, 0, s.Len()*inputs), Labels: s.Labels, Inputs: inputs, Groups: s.Groups}
	for i := range s.Len() {
		f.X = appendPooled(f.X, s.Image(i), s.Cols, pool, value)
	}
	return f, nil
}

// appendPooled appends value[sum] for every pool x pool square of an image.
func appendPooled(dst []float32, image []uint8, cols, pool int, value []float32) []float32 {
	for top := 0; top < len(image); top += pool * cols {
		for left := 0; left < cols; left += pool {
			sum := 0
			for r := range pool {
				at := top + r*cols + left
				for _, pixel := range image[at : at+pool] {
					sum += int(pixel)
				}
			}
			dst = append(dst, value[sum])
		}
	}
	return dst
}

// Len returns the number of rows.
func (f Features) Len() int { return len(f.Labels) }

// Row returns the inputs of example i. It shares memory with f.
func (f Features) Row(i int) []float32 {
	return f.X[i*f.Inputs : (i+1)*f.Inputs : (i+1)*f.Inputs]
}

// Batch appends the rows and labels at the indices in index to x and labels, in that order, and returns the extended
// slices. To reuse memory, pass the slices of the last batch with length 0. Batch panics on an index outside [0, Len).
func (f Features) Batch(x []float32, labels []uint8, index []int) ([]float32, []uint8) {
	for _, i := range index {
		if i < 0 || i >= f.Len() {
			panic(fmt.Sprintf("mnist: index %d outside [0, %d)", i, f.Len()))
		}
		x = append(x, f.Row(i)...)
		labels = append(labels, f.Labels[i])
	}
	return x, labels
}

// Subset copies the examples at the indices in index, in that order, with their groups. It panics as Batch does.
func (f Features) Subset(index []int) Features {
	sub := Features{Inputs: f.Inputs}
	sub.X, sub.Labels = f.Batch(nil, nil, index)
	for _, i := range index {
		if f.Groups != nil {
			sub.Groups = append(sub.Groups, f.Groups[i])
		}
	}
	return sub
}
