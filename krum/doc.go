// Package krum selects the gradients that lie closest to their neighbours: Krum and multi-Krum.
//
// Source: P. Blanchard, E. M. El Mhamdi, R. Guerraoui, J. Stainer, "Machine Learning with Adversaries: Byzantine
// Tolerant Gradient Descent", NIPS 2017, section 4. With n participants of which f may be Byzantine, the score of a
// vector is the sum of its squared distances to the n-f-2 vectors closest to it, itself not counted. Krum returns the
// vector with the least score, so one of its inputs; multi-Krum averages the m best. The theorem needs n >= 2f+3
// (Condition).
//
// Three things that implementations get wrong are fixed here:
//
//   - n is the number of registered participants. A participant who is silent is at distance infinity; he neither
//     becomes a zero vector nor lowers n. If fewer than n-f-2 others arrived, no score is finite, and that is an error
//     (ErrTooFew).
//   - A vector is not its own neighbour, and there are n-f-2 neighbours, not n-f-1.
//   - Ties are settled by position, everywhere and every time.
//
// All arithmetic is in integers and exact (package gradients says why squared distances and their sums fit int64), so
// that every validator selects the same vectors. Distances too large for that, which arise from sums of vectors, go
// through the same definition in math/big (SelectWide).
//
// # The unsquared variant
//
// The SPDL paper writes norms without squares. Then scores are sums of square roots of integers, whose order must still
// come out the same everywhere, also if two different sums agree in their first hundred digits, or are equal although
// their terms differ, as sqrt(2)+sqrt(8) = sqrt(18). Two sums are compared in three steps, all in integers:
//
//  1. Every root is computed once, rounded down to a multiple of 2^-24, by Newton's method. A sum of q such roots is
//     at most q units below the true one; if two sums are q units or more apart, that decides.
//  2. Otherwise the terms that both sums have are struck out, and the rest is computed to 64 fractional bits, with the
//     same argument.
//  3. If that does not decide either, equality is decided by algebra: terms whose product is a perfect square belong to
//     one class and are integer multiples of one root, and since square roots of different squarefree integers are
//     linearly independent over the rationals, the sums are equal exactly if each class cancels. If they are not equal,
//     precision is doubled until the intervals part, as they must.
//
// The package is pure and does no floating-point arithmetic.
package krum
