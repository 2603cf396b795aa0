// Package sim runs chains without a network. Single is a chain on one State, for experiments. The tests have a net:
// each node has the real ABCI application, and in place of CometBFT there is a minimal consensus with virtual heights,
// a virtual clock and a message delivery that a seed decides. One seed gives one history, byte for byte.
//
// A step of a net decides one height with more than two thirds of the voting power, or no height. It assumes CometBFT's
// guarantee: all nodes agree on the block. The tests check the guarantees of the application: all nodes judge a block
// alike, and rounds close while no more than f nodes are faulty.
package sim
