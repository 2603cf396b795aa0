// Package train runs the trainings and nets of the figures, each a function of its Spec.
//
// Paper and Private make the Spec of a scheme. Run trains on one application State (sim.Single), with real workers on
// real data and, if the Spec has any, with attackers. OnNodes runs the same Spec on real nodes, and Time times the
// rounds of such a net. Participants makes every participant's gradient of a round, and a chain takes the gradients
// through the hook Vector. The net in the tests of package sim gives the same model with the same hook, bit for bit
// (TestSameAsTheNet), and so do real nodes (TestOnNodes).
package train
