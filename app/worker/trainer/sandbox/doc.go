// Package sandbox confines a participant's training program, the trainer, on Linux. The trainer can
// read its own folder, its interpreter and its data, can write one scratch folder, and has no
// network. The trainer, and every process that it started, ends when the worker ends.
//
// A program that links this package can start itself again in two roles, which init recognises by the name of the
// process. The supervisor owns the scratch folder and watches the limits; it ends when the worker or the trainer ends.
// The supervisor's child restricts itself by Landlock, seccomp and resource limits, and then executes the trainer.
//
// The worker runs outside of the sandbox, without restrictions.
package sandbox
