// Package sim runs a net of applications without a network: the real ABCI
// application of every node behind a consensus that is as simple as can be, with
// virtual heights, a virtual clock and a message delivery that a seed decides.
// One seed gives one history, byte for byte.
//
// A step is one height, decided by more than two thirds of the voting power or
// not at all. What CometBFT guarantees (agreement on the block) is taken for
// granted; what the application must guarantee (that all nodes judge a block
// alike, and that rounds close while no more than f are faulty) is what is
// checked, in Check and by the tests.
package sim
