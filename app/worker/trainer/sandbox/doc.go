// Package sandbox confines the trainer, which is a participant's training program, on Linux. The
// trainer reads its own folder, its interpreter and its data, writes one scratch folder, and has no
// network. The trainer and every process that it started end with the worker.
//
// A program that links this package can start itself again in two roles, which init recognises by
// the name of the process. The supervisor owns the scratch folder, watches the limits, and outlives
// neither the worker nor the trainer. Its child restricts itself by Landlock, seccomp and resource
// limits, and then executes the trainer.
//
// The worker is outside, and never restricted.
package sandbox
