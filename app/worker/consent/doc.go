// Package consent keeps a home's signed decisions on the epochs that may train on its data. A
// record is about one chain, one epoch and the hash of that epoch's parameters, so consent to one
// set of parameters is no consent to another. The last record on the three is in force. Earlier
// records stay in the file and show who decided what, and when.
package consent
