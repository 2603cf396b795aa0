// Package consent keeps a home's signed records of the epochs that may train on its data. A record
// is about one chain, one epoch and the hash of that epoch's parameters, so consent to one set of
// parameters is none to another. The last record about the three decides; earlier ones stay in the
// file, and show who decided what, and when.
package consent
