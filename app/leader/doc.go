// Package leader implements the election of Algorithm 1 of the paper. Every contender computes a value h from the seed
// of the round by a verifiable random function (VRF). The contender with the largest h leads the first view. The other
// contenders lead the later views, in decreasing order of h, until a leader closes the round.
//
// The function is ECVRF-EDWARDS25519-SHA512-ELL2 of RFC 9381. A contender cannot choose its output, because only one
// output verifies for a key and an input. Nobody else can predict the output: without the private key it looks random.
// Anybody can verify it with the public key and a proof of 80 bytes.
package leader
