// Package consent keeps a home's signed decisions, which allow or forbid an epoch to train on its data. A record is
// about one chain, one epoch and the hash of that epoch's parameters, so consent to one set of parameters is not
// consent to another set. The last record about the same chain, epoch and hash is in force. Earlier records stay in the
// file: they show the key, the time and the decision of every record.
package consent
