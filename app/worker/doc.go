// Package worker is a participant's side of the protocol (Algorithms 2 and 3 of the paper). A
// worker follows the chain, takes one training step a round, and signs the aggregate whenever it
// may lead. Data never leave it; clipped and noised gradients do.
//
// # Usage
//
// Run follows a Chain until the epoch is over, or with Follow for good. The chain is that of the node in the same
// process, or of a node elsewhere, whose every header the client verifies (abci/light):
//
//	err := worker.Run(ctx, chain, worker.Config{
//		Keys:    keys,
//		Journal: "data/worker_journal.json",
//		Policy:  policy,  // what the home demands of an epoch's privacy
//		Consent: consent, // whether it agrees to this epoch
//		Data:    load,    // the examples; or External, a trainer program
//		Follow:  true,
//	})
//
// A Chain has three methods: Await returns the Task of the open round, Lead the draft of an
// aggregate that the participant may sign, and Submit sends a transaction.
//
// # Two loops
//
//	follow   Await -> Policy and Consent, once an epoch -> the step: sample, clip, sum, noise,
//	         momentum, round to the grid -> Signer.Gradient -> Submit, again until the round closes
//	lead     Lead -> check the draft -> Signer.Aggregate -> Submit
//
// # What a round takes from a participant
//
//	Commit   only the hash of its gradient, which stays secret
//	Reveal   the gradient
//	Missed   nothing: the commitments ended without this participant's
//
// A round that does not wait for the participant (Task.Unawaited) gets its gradient late, if at
// all; a Present ends that rest.
//
// # What is signed once
//
// The Signer signs one gradient a round, with its commitment, and one aggregate a view. An entry is
// in the Journal, on the disk, before the signature leaves, so that no restart signs a second one:
// two would be evidence against the participant, and spend epsilon twice.
//
//	no entry for the round that is open at the start   it is sat out; if overdue, taken part in
//	an entry for it                                    the same bytes are sent again
//	no journal, or an old or torn one                  it is sat out to its end
//	a journal of another chain or participant          ErrJournal: the worker does not start
//
// Local signs in this process. Package signer has one in another process, which keeps keys and
// journal away from the node.
//
// # Errors that end a worker
//
//	ErrJournal, ErrDamaged   the journal is not to be used
//	ErrBusy                  another process uses it
//	ErrForeign               journal or signer are another participant's
//	ErrData                  the training data cannot be read; after these a validator goes on without it
//	ErrBudget                the participant's budget pays for no gradient
//	ErrUnfit, ErrPolicy      the epoch is none for this home; with Follow the next one may be
package worker
