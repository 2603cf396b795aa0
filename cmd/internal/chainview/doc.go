// Package chainview is the course of a chain, read from a node: its rounds with the verdict on every participant,
// standings, incidents, spends, proposals and offences. The explorer, query, the report of a training and the
// dossier read it, so that they agree. It has neither HTML nor HTTP nor flags.
//
// # Usage
//
//	chain := chainview.New(client, client.RPC(), chainview.Options{})
//	go chain.Follow(ctx, time.Second)     // or chain.Look(ctx) once
//
//	r := chain.Reader(ctx)                // for one answer
//	story := r.Story(params.RoundID{Round: 7})
//	suspects := r.Standings()
//	return story, suspects, r.Err()       // the first error of all of them
//
// # What follows from what
//
//	file          holds
//	point.go      a closed round in short, as its record says it
//	verdict.go    the fate of each participant in a round, and reason.go why, in words
//	standings.go  the last rounds of each participant, counted; judgement.go the alarm that follows, and all thresholds
//	incident.go   the trouble of one participant, each told once
//	tally.go      counts over all rounds of a chain
//	proposal.go   proposals with their votes, effects and outcomes
//	evidence.go   the statements that prove an offence
//	shape.go      where the gradients of a round lie
//	chain.go      the view of a node with its caches; reader.go and block.go ask it; follow.go keeps up with it
//	measure.go    the accuracy of models, measured by an Evaluator
//
// Records of closed rounds never change, so a Chain keeps them, up to a bound. What follows from the state, as the
// list of participants, it asks once per look. One goroutine, Follow, looks for all readers.
package chainview
