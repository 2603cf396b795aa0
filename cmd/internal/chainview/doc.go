// Package chainview is the course of a chain, read from a node: its rounds with the verdict on every
// participant, standings, incidents, spends, proposals and offences. The explorer, the report of a
// training, query and the dossier read it, so that they agree. It has neither HTML nor HTTP nor
// flags. Its judgements are opinions for people: consensus does not use them.
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
// Who has the records needs no node: Add counts them in tallies, Verdicts judges a round, and a
// Standing the last rounds of a participant.
//
//	why was a gradient left out?        Verdict.Why, by verdict.go and reason.go
//	why is a participant an alarm?      Standing.Reasons, from the table measures
//	who decides that it is suspect?     Standing.Judge, and nobody else
//	what became of a proposal?          Reader.Governance
//	what is asked, and how often?       reader.go and block.go; chain.go keeps what never changes
package chainview
