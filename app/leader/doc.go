// Package leader is the election of Algorithm 1 of the paper: every contender
// draws h from the seed of the round by a verifiable random function, the
// largest h leads, and the others follow in decreasing order of h for the views
// in which nobody before them closed the round.
//
// The function is ECVRF-EDWARDS25519-SHA512-ELL2 of RFC 9381. A draw cannot be
// chosen: for one key and one input there is one output that verifies. It
// cannot be foreseen: without the private key it looks random. And anybody can
// check it with the public key and the proof of 80 bytes.
package leader
