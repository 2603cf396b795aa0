// Package founding is the protocol by which the members of a consortium make one genesis without a
// server. They exchange files in a folder, over any channel. The founder writes a proposal, and
// each member writes an entry, a share and a proof. ADR 24 has the reasons.
//
// An entry fixes a member's keys. A share is the VRF output of the fixed key over all entries. The
// VRF has only one output for a key and an input, so the entry commits to the share, and no other
// member can know it. The genesis seed is a hash of all shares, so no member has chosen it. A proof
// is the VRF proof over the seed that genesis holds for each participant.
package founding
