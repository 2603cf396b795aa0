// Package sim runs a net of applications without a network. Each node has the real ABCI
// application. In place of CometBFT there is a minimal consensus with virtual heights, a virtual
// clock and a message delivery that a seed decides. One seed gives one history, byte for byte.
//
// A step decides one height with more than two thirds of the voting power, or no height. The
// package assumes CometBFT's guarantee: all nodes agree on the block. Check and the tests check the
// guarantees of the application: all nodes judge a block alike, and rounds close while no more than
// f nodes are faulty.
package sim
