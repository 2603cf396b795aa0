// Package trainer runs a participant's own training program and speaks the protocol of
// docs/TRAINER.md with it: it asks for the gradients of examples and clips them, or takes
// a sum that the program has clipped. The program never sees keys, noise or the ledger, and
// it never picks the batch. Package sandbox contains it.
//
// A program that ends, is late, or answers with a wrong length or with NaN or infinity is stopped
// and restarted, after a longer pause with each failure. The call in progress fails, and nothing of
// its answer is used.
package trainer
