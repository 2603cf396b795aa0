// Package recipe makes the public constants of mnist/features from synthetic strokes and from no
// data: glyphs, their block features, and the eigenproblem that the comment of mnist/features
// states. The strokes are the same to the bit on every machine. What is computed of them may differ
// in the rounding of float64 arithmetic; the tests say by how much.
package recipe

// Glyphs is how many the constants are made of.
const Glyphs = 4000
