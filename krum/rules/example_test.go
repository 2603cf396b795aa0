package rules_test

import (
	"fmt"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// The recommended rule on seven gradients of which two are Byzantine.
func Example() {
	rule, err := rules.Lookup("nnm+trimmed-mean")
	if err != nil {
		panic(err)
	}
	out, err := rule.Aggregate(rules.Input{N: 7, F: 2, Vectors: []gradients.Vector{
		gradients.FromInt8([]int8{10, 1}),
		gradients.FromInt8([]int8{12, 0}),
		gradients.FromInt8([]int8{11, -1}),
		gradients.FromInt8([]int8{9, 2}),
		gradients.FromInt8([]int8{13, 1}),
		gradients.FromInt8([]int8{-127, 127}),
		gradients.FromInt8([]int8{-127, 127}),
	}})
	if err != nil {
		panic(err)
	}
	fmt.Println(out.Delta.Num, "/", out.Delta.Den)
	fmt.Println(rule.Condition(7, 2), rule.Condition(4, 2))
	// Output:
	// [165 9] / 15
	// <nil> rules: outside the resilience theorem: nnm+trimmed-mean with N = 4, f = 2, want N >= 2f+1 = 5
}
