// Package sim runs a net of applications without a network: the real ABCI application of every node
// behind the simplest possible consensus, with virtual heights, a virtual clock and a message
// delivery that a seed decides. One seed gives one history, byte for byte.
//
// A step is one height, decided by more than two thirds of the voting power or not at all. The
// Package assumes CometBFT's guarantee, agreement on the block. Check and the tests check the
// guarantees that the application owes: all nodes judge a block alike, and rounds close while no
// more than f nodes are faulty.
package sim
