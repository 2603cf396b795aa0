// Package privacy owns the way from clipped per-example gradients to the integer vector that a
// worker submits, and thereby the guarantee: nothing that leaves a worker has missed the noise.
//
// A round of a worker with the gaussian mechanism, on B = q*n examples in expectation:
//
//  1. [PoissonSample] draws a secret batch: each of the n examples with probability q,
//     independently.
//  2. The model sums the examples' gradients, each scaled by [ClipScale] to norm C at most. Adding
//     or removing one example changes that sum by at most C.
//  3. [Mechanism.Release] adds Gaussian noise of standard deviation z*C to every coordinate, z
//     being the noise multiplier; divides by B, the expected and not the drawn size, which is
//     secret; applies the worker's momentum m = beta*m + (1-beta)*g, or at beta 1 adds up m = m + g; and
//     rounds m to the integer grid.
//
// All that follows the noise is post-processing and costs no privacy. Momentum lowers the noise of
// the submitted vector to standard deviation (z*C/B)*sqrt(v_t), see [VarianceFactor], which
// validators know and check. Rounding to a grid of an eighth of that also puts the low-order bits
// of floating-point noise, which can betray the noiseless value (Mironov, "On significance of the
// least significant bits for differential privacy", 2012), out of an observer's sight.
//
// With Discrete set, step 3 instead rounds the sum to a lattice whose step h is a power of two, z*C/2^27 < h <=
// z*C/2^26, and adds discrete Gaussian noise in whole steps, drawn exactly ([DiscreteGaussian]). Rounding moves each
// coordinate by h/2 at most, one example's influence grows from C to C + h*sqrt(d) at most, and the noise grows by the
// same factor and up to a whole step: its multiplier is never below z. At integer orders, the moments from which the
// accountant computes the divergence of the Poisson-subsampled Gaussian hold unchanged, the sums being over integers
// and the shifts integer vectors; at orders between they differ by less than float64 shows. So the accountant's epsilon
// for z is that of the discrete mechanism. All that follows, the division by B included, is post-processing.
//
// Where every round takes all records, the mu of the continuous mechanism holds as well. Draw x from N(m,
// sigma²(1-1e-9)) around an integer m, and then an integer y from the discrete Gaussian around x of the remaining
// variance s² = 1e-9 sigma². That is post-processing of x, and y has the discrete Gaussian of sigma around m up to a
// factor of 1 ± 5 exp(-2π²s²) (Peikert, "An efficient and parallel Gaussian sampler for lattices", 2010): sigma
// being 2^26 steps or more, a factor of 1 ± exp(-10^7) in every coordinate of every round. The accountant rounds mu²
// up by 1e-8 of it, which is more than the 1e-9 and these factors together.
//
// Neither kind of noise mends a sum that one example moves by more than C in float64: the margin of
// [ClipScale] rules that out.
//
// The guarantee holds per release. Each call of Release spends budget, and a vector once broadcast is sent again
// unchanged, never released again. Only a release that nobody saw may be taken back, by Restore of the [Snapshot]
// before it, which also carries the momentum across restarts.
//
// Noise and batches come from a [Source]: [NewSecureSource] in production. They never come from a
// seed that anybody else knows; [NewTestSource] is for test chains, see [Source.Permit].
//
// The kinds "prototype" and "none" exist to reproduce published figures. They give no differential privacy.
package privacy
