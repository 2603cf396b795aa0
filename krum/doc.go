// Package krum selects the gradients that lie closest to their neighbours: Krum and multi-Krum.
//
// Source: P. Blanchard, E. M. El Mhamdi, R. Guerraoui, J. Stainer, "Machine Learning with Adversaries: Byzantine
// Tolerant Gradient Descent", NIPS 2017, section 4. With n participants of which f may be Byzantine, the score of a
// vector is the sum of its squared distances to the n-f-2 vectors closest to it, not counting itself. Krum returns the
// vector with the lowest score, so its result is one of its inputs; multi-Krum averages the m best vectors. The theorem
// needs n >= 2f+3 (Condition).
//
// This package gets three points right that many implementations get wrong:
//
//   - n is the number of registered participants. An absent participant is at distance infinity: it
//     does not become a zero vector, and it does not lower n. If fewer than n-f-2 other vectors
//     arrived, no score is finite, and that is an error (ErrTooFew).
//   - A vector is not its own neighbour, and there are n-f-2 neighbours, not n-f-1.
//   - Ties are decided by position, in every comparison.
//
// All arithmetic is exact and in integers (package gradients says why squared distances and their
// sums fit int64), so that every validator selects the same vectors. Sums of vectors may have
// larger distances; SelectWide applies the same definition to them in math/big.
//
// # The unsquared variant
//
// The SPDL paper writes norms without squares. A score is then a sum of square roots of integers.
// So that every machine gets the same score, it is defined in fixed point: each root is rounded
// down to a multiple of 2^-24 grid steps, and the score is the sum of these. Two true sums that
// differ by less than (N-f-2) 2^-24 grid steps may change their order.
//
// The package is pure and does no floating-point arithmetic.
package krum
