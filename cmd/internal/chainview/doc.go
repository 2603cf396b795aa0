// Package chainview is the course of a chain, read from a node: its rounds with the verdict on every participant,
// standings, incidents, spends, proposals and offences. The explorer, the report of a training, query and the dossier
// read it, so that they agree. It has neither HTML nor HTTP nor flags. Its judgements are opinions for people:
// consensus does not use them, and no node rests on them.
//
// # Usage
//
// A Chain keeps up with a node, and a Reader of it makes one answer:
//
//	chain := chainview.New(client, client.RPC(), chainview.Options{})
//	go chain.Follow(ctx, time.Second) // or chain.Look(ctx) once
//
//	r := chain.Reader(ctx)
//	story := r.Story(params.RoundID{Round: 7})
//	all := r.Standings()
//	err := r.Err() // the first error of all of them
//
// A caller that has the records needs no node: Add counts them in tallies, Verdicts judges a round, and a Standing the
// last rounds of a participant, as in the Example.
//
// # Alarms
//
//	               watch                    differs
//	opposed        0.3 of its gradients     0.6
//	rejected       0.1 of the rounds        0.5
//	absent         0.25 of the rounds       never
//	left out of    never                    0.95 of its gradients,
//	most                                    over 16 rounds at least
//	led badly      2 turns, more than led,  never
//	               or 2 more than led since
//	weight         -                        a mean below 0.5, or reputation 0
//
// Another share, and a weight, counts over at least four rounds, a reputation of 0 at once. To be left out of a round
// counts if the rule selects more than half of it and gives no weights. A participant that differed over 20 rounds
// (Differed) is watched after that. What differs is an attacker or has different patients. A suspect has a proven
// offence that no Restore has settled, and nothing else makes one. Before four rounds, pages say "too early".
//
// # Where a question is answered
//
//   - Why was a gradient left out? Verdict.why in verdict.go says why the rule did, by the [app.Record]; one that was
//     late or omitted is absent. [Witness] adds the node's rejections for payload, norm, budget, proof or signature.
//   - Who decides that a participant is suspect? [Standing.Judge] in judgement.go, and nobody else, by the offences
//     that the chain proved (State.punish in app). The table measures has the shares of the milder alarms. [Standings]
//     and reports count, and Glance.troubles (spdl query status), the explorer and reports show the Reasons.
//   - What did it do in all rounds? [Tally], by [Add]. As a leader? [Leads].
//   - What became of a proposal? [Reader.Governance], from approvals and withdrawals.
//   - Who voted for a block? [Reader.VotesOn]. Votes are those of validators, in CometBFT.
//   - What is asked, and how often? reader.go, block.go and proposal.go; chain.go keeps what never changes.
package chainview
