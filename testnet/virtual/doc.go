// Package virtual runs a net of full nodes in one process and in virtual time: CometBFT with this project's reactors,
// the application and the workers, in a bubble of testing/synctest. Links between nodes are in memory; timeouts and
// delays cost no real time. A History says what happens to the net. See ADR 35.
//
// The net itself has the build tag virtual, because it needs a changed copy of CometBFT: make vsim
// makes the copy and runs the tests.
package virtual
