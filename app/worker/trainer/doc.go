// Package trainer runs a participant's own training program and speaks the protocol of
// PROTOCOL.md with that program. It asks the program for the gradients of examples and clips
// them, or for a sum of gradients that the program has clipped. The program never sees keys, noise
// or the ledger, and never picks the batch. Package sandbox contains the program.
//
// A program is stopped and restarted if it ends, is late, or answers with a wrong length, NaN or infinity. The pause
// before a restart grows with each failure. The call in progress fails, and no part of its answer is used.
package trainer
