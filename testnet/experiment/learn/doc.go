// Package learn trains one model as a chain does, with real workers on real
// data and, where asked, with attackers: the learning half of an experiment.
//
// Participants makes every participant's gradient of a round; a chain takes them
// through the hook Vector. Run drives sim.Solo, one application State with
// Lead, Assemble and Execute; any sim.Net with the same hook gives the same
// model, bit for bit, and N times as slowly (TestSameAsTheNet).
package learn
