// Package founding is the protocol by which the members of a consortium make one genesis without a
// server. They exchange files in a folder, by whatever channel they have: the founder's proposal,
// and of each member an entry, a share and a proof. ADR 24 has the reasons.
//
// An entry fixes a member's keys. A share is the VRF output of the fixed key over all entries: the
// VRF has one output for a key and an input, so the entry commits to it, and nobody else can know
// it. The genesis seed is a hash of all shares, and so no member chose it. A proof is the VRF proof
// over the seed that genesis holds for each participant.
package founding
