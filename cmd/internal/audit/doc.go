// Package audit re-executes a chain from genesis and its blocks only: it trusts no state that a
// node stored. It checks every block against its own header, the signatures of the validator set
// that the replay derives, and the application hash in the next header.
package audit
