// Package recipe makes the public constants of mnist/features from synthetic strokes and from no
// data: glyphs, their block features, and the eigenproblem that the comment of mnist/features
// states. The strokes are the same to the bit on every machine. Numbers computed from them may
// differ in the rounding of float64 arithmetic; the tests say by how much.
package recipe

// Glyphs is the number of glyphs from which the constants are made.
const Glyphs = 4000
