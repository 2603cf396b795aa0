// Package chainview judges participants by what a chain's records say of them. The explorer, the
// report of a training, query status and the dossier read their judgements here, so that they
// agree. A judgement is an opinion for people: consensus does not use it, and no node rests on it.
//
// # Usage
//
// A Tally counts what each participant did in all rounds:
//
//	all := make([]chainview.Tally, len(participants))
//	for i := range records {
//		chainview.Add(all, &records[i], participants)
//	}
//
// A Standing summarises a participant's last rounds. Judge sets its alarm with the reasons, and
// Against says in one line what stands against it:
//
//	s := chainview.Standing{Active: true, Reputation: params.One, Included: 10, Opposed: 6}
//	s.Judge(nil)
//	// s.Alarm is Suspect, because it was opposed to Delta in 6 of 10
//
// # Alarms
//
//	               watch                    suspect
//	opposed        0.3 of its gradients     0.6
//	left out       0.5 of its gradients     0.8
//	rejected       0.1 of the rounds        0.5
//	absent         0.25 of the rounds       never
//	led badly      2 turns more than it     4
//	               led since
//	offence        -                        the first
//	reputation     -                        0
//
// A share counts over at least four rounds. It is a share because an honest gradient is mostly
// noise: a few that the rule left out mean nothing. Who was suspect over 20 rounds (Suspicious) is
// watched after that. Before four rounds, pages say "too early" in place of "none".
//
// # Where a question is answered
//
//	why is a participant an alarm?      Standing.Reasons, from the table measures
//	who decides that it is suspect?     Standing.Judge, and nobody else
//	what did it do in all rounds?       Tally, by Add
//	what does a leader's record say?    Leads
package chainview
