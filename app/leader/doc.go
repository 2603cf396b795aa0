// Package leader is the election of Algorithm 1 of the paper: every contender
// draws h from the seed of the term, the largest h leads, and the others
// follow in decreasing order of h for the views in which nobody before them
// closed the round.
//
// Until the verifiable random function is there, a draw is
// SHA-256(seed, round, participant): everybody can compute everybody's, so it
// is fair but predictable from the seed on.
package leader
