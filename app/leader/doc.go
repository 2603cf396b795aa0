// Package leader is the election of Algorithm 1 of the paper. Every contender computes h from the
// seed of the round by a verifiable random function (VRF). The contender with the largest h leads
// the first view; the others lead the views after it, in decreasing order of h, until one of them
// closes the round.
//
// The function is ECVRF-EDWARDS25519-SHA512-ELL2 of RFC 9381. Contenders cannot choose their
// outputs: for one key and one input there is one output that verifies. Nobody else can predict an
// output: without the private key it looks random. Anybody can check it with the public key and the
// proof of 80 bytes.
package leader
