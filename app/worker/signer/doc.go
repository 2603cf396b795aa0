// Package signer keeps a participant's keys and journal in a separate process. A Server holds keys and journal, and a
// Client is the Signer of a worker. Client and Server speak JSON over HTTP, on a Unix socket where the kernel reports
// the user of each connection, or over mutual TLS 1.3 between two pinned certificates. Every request names its purpose,
// and the server itself builds the message that it signs.
package signer
