// Package audit re-executes a chain from its blocks alone: genesis, then every
// transaction, with no trust in what a node says that it stored. Every block is
// checked against its own header, the signatures of its validators, who are
// themselves derived by the replay, and the application hash of the header that
// follows.
package audit
