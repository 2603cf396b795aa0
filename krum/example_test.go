package krum_test

import (
	"fmt"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// Five participants of whom one may be Byzantine: Krum returns the position of one input.
func ExampleSelect() {
	vs := []gradients.Vector{
		gradients.FromInt8([]int8{10, 10}),
		gradients.FromInt8([]int8{11, 9}),
		gradients.FromInt8([]int8{12, 10}),
		gradients.FromInt8([]int8{-90, 90}), // the Byzantine one
		gradients.FromInt8([]int8{10, 12}),
	}
	r, err := krum.Select(gradients.Pairwise(vs), 1, krum.Options{N: 5, F: 1})
	if err != nil {
		panic(err)
	}
	fmt.Println("selected", r.Selected, "scores", r.Score, "margin", r.Margin)
	// Output: selected [1] scores [6 4 6 32484 12] margin 2
}
