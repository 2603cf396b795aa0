// Package krum selects the gradients that lie closest to their neighbours: Krum and multi-Krum.
//
// Source: P. Blanchard, E. M. El Mhamdi, R. Guerraoui, J. Stainer, "Machine Learning with
// Adversaries: Byzantine Tolerant Gradient Descent", NIPS 2017, section 4. With n participants of
// which f may be Byzantine, the score of a vector is the sum of its squared distances to the n-f-2
// vectors closest to it, itself not counted. Krum returns the vector with the least score, so one
// of its inputs; multi-Krum averages the m best vectors. The theorem needs n >= 2f+3 (Condition).
//
// Three things that implementations get wrong are fixed here:
//
//   - n is the number of registered participants. A participant who is silent is at distance
//     infinity; he neither becomes a zero vector nor lowers n. If fewer than n-f-2 others arrived,
//     no score is finite, and that is an error (ErrTooFew).
//   - A vector is not its own neighbour, and there are n-f-2 neighbours, not n-f-1.
//   - Ties are settled by position, everywhere and every time.
//
// All arithmetic is in integers and exact (package gradients says why squared distances and their
// sums fit int64), so that every validator selects the same vectors. Distances too large for that,
// which arise from sums of vectors, go through the same definition in math/big (SelectWide).
//
// # The unsquared variant
//
// The SPDL paper writes norms without squares. A score is then a sum of square roots of integers.
// So that it comes out the same everywhere it is defined in fixed point: each root is rounded down
// to a multiple of 2^-24 grid steps, and the sum of these is the score. Two true sums that differ
// by less than (N-f-2) 2^-24 grid steps may change their order.
//
// The package is pure and does no floating-point arithmetic.
package krum
