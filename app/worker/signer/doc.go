// Package signer keeps a participant's keys and journal in a process of their own: a Server holds
// them, and a Client is a worker's Signer. They speak JSON over HTTP, on a Unix socket whose users
// the kernel names, or over mutual TLS 1.3 between two pinned certificates. Every request says what
// it is for, and the server makes the message that it signs itself.
package signer
