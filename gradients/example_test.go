package gradients_test

import (
	"fmt"

	"github.com/spdl/spdl/gradients"
)

// A worker quantises its gradient; a validator decodes it and computes with it exactly.
func Example() {
	grid := gradients.Grid{Width: gradients.Int8, Step: 0.25}
	v := gradients.NewVector(grid.Width, 3)
	saturated := grid.Quantize(v, []float64{0.5, -0.3, 1000})
	fmt.Println(v.Int8s(), saturated)

	received, err := gradients.Decode(grid.Width, 3, v.Encode())
	if err != nil {
		panic(err)
	}
	other := gradients.FromInt8([]int8{0, 1, 126})
	fmt.Println(gradients.Pairwise([]gradients.Vector{received, other}).At(0, 1))
	mean := gradients.Mean([]gradients.Vector{received, other})
	fmt.Println(mean.Num, mean.Den)
	// Output:
	// [2 -1 127] 1
	// 9
	// [2 0 253] 2
}
