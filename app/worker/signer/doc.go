// Package signer keeps a participant's keys and journal in a separate process: a Server holds them,
// and a Client is the Signer of a worker. They speak JSON over HTTP, on a Unix socket where the
// kernel tells the user of each connection, or over mutual TLS 1.3 between two pinned certificates.
// Every request names its purpose, and the server itself builds the message that it signs.
package signer
