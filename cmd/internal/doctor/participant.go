package doctor

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/founding"
)

// After silentRounds rounds without a gradient of a participant doctor looks for the reason. maxRounds is the
// max number of rounds that are searched for its last gradient.
const (
	silentRounds = 3
	maxRounds    = 64
	weighed      = 20 // the number of rounds over which weights are averaged
)

// participant finds out whether the home's participant takes part in the chain's training.
func participant(ctx context.Context, h *Home) Finding {
	if home.IsWorkerGroup(h.Config, h.App) {
		return skip("a worker group: spdl query membership shows its participants")
	}
	all, err := h.participants(ctx)
	if err != nil {
		return skip("the chain's participants cannot be read: %v", err)
	}
	p, key := h.ownParticipant(ctx, all)
	switch {
	case p == nil && !h.App.Worker.Enabled:
		return skip("worker.enabled is false, and no participant has the home's key")
	case p == nil && h.encrypted() != "":
		return skip("%s", h.encrypted())
	case p == nil:
		return warn("spdl tx join asks for membership; a rotated or restored home needs its own key files",
			"no participant has the home's key")
	case !p.Active:
		return fail("to take part again, join with a new home (spdl init, spdl tx join)",
			"%s: this home takes no part", h.gone(ctx))
	case key != nil && !bytes.Equal(key, p.PubKey):
		remedy := "restore a backup from after the rotation (spdl restore); if there is none, ask the members for " +
			"spdl tx remove, and join with a new home (spdl init, spdl tx join)"
		if _, err := os.Stat(home.NextKeyFile(home.InHome(h.Config, h.App.Worker.KeyFile))); err == nil {
			remedy = "run spdl tx rotate again, with the same flags: it puts the new keys in place"
		}
		return fail(remedy, "a rotation of participant %d's keys is in force, and the home has the former key", p.Index)
	case h.App.Worker.Signer == "":
		info, err := home.ReadJournal(h.Config, h.App)
		if err == nil && len(info.ID) > 0 && !bytes.Equal(info.ID, p.Id) {
			return fail("put the key file and the journal of one participant in place: with another's key, the journal does "+
				"not prevent a second signature", "the home's key is of participant %d, and its journal of participant id %X",
				p.Index, info.ID)
		}
	}
	return h.convicted(ctx, p)
}

// convicted fails if an offence is on record against an active participant.
func (h *Home) convicted(ctx context.Context, p *app.Participant) Finding {
	offences, err := h.offences(ctx)
	if err != nil {
		return skip("the chain's offences cannot be read: %v", err)
	}
	if offence := app.Conviction(offences, p); offence != "" {
		return fail("a key runs twice: find the other process and stop it, rotate (spdl tx rotate, with --consensus after a "+
			"duplicate vote), then ask the members for spdl tx restore", "participant %d is convicted: %s; its reputation is 0 "+
			"until a restore", p.Index, offence)
	}
	return h.takesPart(ctx, p)
}

// ownParticipant returns the participant that has, or had, the home's signing key, or nil. If the key
// cannot be read, because it is encrypted, ownParticipant finds the participant by the journal, or by the entry of the
// home's founding, and key is nil.
func (h *Home) ownParticipant(ctx context.Context, all []app.Participant) (p *app.Participant, key []byte) {
	s := &app.State{Participants: all}
	if own, err := home.OpenParticipant(ctx, h.Config, h.App, home.NewKeystore(h.Config.RootDir, nil)); err == nil {
		return s.HolderOf(own.Signing), own.Signing
	}
	info, _ := home.ReadJournal(h.Config, h.App) // without an id if it cannot be read
	i := slices.IndexFunc(all, func(p app.Participant) bool { return len(info.ID) > 0 && bytes.Equal(p.Id, info.ID) })
	if i >= 0 {
		return &all[i], nil
	}
	entry, err := founding.EntryOf(h.Config.RootDir)
	if err != nil {
		return nil, nil
	}
	return s.HolderOf(entry.PubKey), nil
}

// gone returns a text that says which participant of the home has left or was removed, "" if the home's participant is
// active or not known.
func (h *Home) gone(ctx context.Context) string {
	all, err := h.participants(ctx)
	if err != nil {
		return ""
	}
	p, _ := h.ownParticipant(ctx, all)
	if p == nil || p.Active {
		return ""
	}
	gone, first := fmt.Sprintf("participant %d has left or was removed", p.Index), 1
	if h.runs() {
		query := fmt.Sprintf("enactment.kind = 'remove' AND enactment.participant = '%d'", p.Index)
		found, err := h.Client.RPC().BlockSearch(ctx, query, &first, &first, "desc")
		if err == nil && len(found.Blocks) > 0 {
			gone += fmt.Sprintf(" at height %d", found.Blocks[0].Block.Height)
		}
	}
	return gone
}

// takesPart searches the last rounds of the epoch for a gradient of an active participant.
func (h *Home) takesPart(ctx context.Context, p *app.Participant) Finding {
	if !h.runs() {
		return ok("participant %d is active; the node is stopped", p.Index)
	} else if at := h.Node.SyncInfo; at.CatchingUp {
		return skip("participant %d is active; the node fetches blocks, up to height %d: it trains when it has them", p.Index,
			at.LatestBlockHeight)
	}
	s, err := h.Client.Status(ctx)
	if err != nil {
		return skip("participant %d is active; the node does not say which round is open: %v", p.Index, err)
	}
	ago, weights, err := h.gradients(ctx, p.Index, s)
	if err != nil {
		return skip("participant %d is active; round %d cannot be read: %v", p.Index, s.Round-ago, err)
	}
	own := cmp.Or(s.Home, new(query.Home)) // empty if the node says nothing of its home
	found := fmt.Sprintf("participant %d is active; epoch %d, round %d is open: ", p.Index, s.Epoch, s.Round)
	if s.Done {
		found = fmt.Sprintf("participant %d is active; epoch %d has all its %d rounds: ", p.Index, s.Epoch, s.Rounds)
	}
	switch {
	case s.Round == 0:
		found += "no round is closed yet"
	case ago <= min(s.Round, maxRounds):
		found += fmt.Sprintf("its last gradient is in round %d, %d round(s) ago", s.Round-ago, ago)
	default:
		found += fmt.Sprintf("no gradient of it in the last %d rounds", ago-1)
	}
	if own.Consent != "" {
		found += ", consent " + own.Consent
	}
	if own.Signer != "" {
		found += ", signer " + own.Signer
	}
	if own.Worker == query.WorkerStopped {
		return fail("mend what the node's log says after `worker stopped`, and start the node again", "%s; the worker "+
			"stopped: this home trains nothing", found)
	}
	if own.Step != "" {
		found += "; " + own.Step
	}
	switch {
	case own.Worker == query.WorkerSlow:
		return warn("a longer proposal.wait in all nodes (docs/CONFIGURATION.md, Slow training steps)", "%s", found)
	case own.Worker == query.WorkerFails:
		return warn("the node's log says why after `no gradient` or `the trainer has not started`: a trainer that failed, "+
			"or that is slower than the rounds (spdl trainer check measures a step)", "%s; its worker made no gradient when "+
			"it tried last", found)
	case (ago > silentRounds || own.Resting) && !s.Done && h.untended():
		return fail("start it: spdl worker --home "+h.Config.RootDir, "%s; the node runs no worker, and no spdl worker of "+
			"this home runs here", found)
	case own.Resting:
		return warn("leave the node running: its worker says that it is back (docs/CONFIGURATION.md, Late and absent hosts)",
			"%s; it was late, so rounds close without waiting for it; %s", found, rest(own))
	case ago > silentRounds && !s.Done:
		return warn("the worker's log says what it waits for; see the checks signer and consent, and spdl query privacy",
			"%s", found)
	case chainview.Light(weights.MeanWeight(), weights.Weighed):
		return warn("compare case mix with the members (docs/TROUBLESHOOTING.md, SPDLWeightLow); spdl model gain says how "+
			"well the common model serves your rows, spdl model adapt fits it to them", "%s; its gradients weigh %.2f of an "+
			"equal share in the last rounds: different patients, wrong data, or an attack", found, *weights.MeanWeight())
	}
	return ok("%s", found)
}

// untended reports whether no process has the journal with which the home's participant would sign. It is false where
// the system does not say who has a file.
func (h *Home) untended() bool {
	return h.App.Worker.Signer == "" && LockedBy(filepath.Join(h.Config.DBDir(), "application.db", "LOCK")) != "" &&
		LockedBy(home.Journals(h.Config, h.App)+worker.LockSuffix) == ""
}

// gradients searches the last rounds of the epoch for gradients of a participant, up to the newest one and over the
// rounds whose weights are averaged. It returns how many rounds ago the newest one is, or one round more than it has
// searched if there is none. With an error it returns how many rounds ago the round is that cannot be read.
func (h *Home) gradients(ctx context.Context, index uint32, s query.Status) (newest uint64, t chainview.Tally,
	err error) {
	searched := min(s.Round, maxRounds)
	newest = searched + 1
	for ago := uint64(1); ago <= searched && (ago <= weighed || newest > searched); ago++ {
		r, err := h.Client.RoundOf(ctx, s.Epoch, s.Round-ago)
		switch {
		case err != nil && newest > searched:
			return ago, t, err
		case err != nil:
			return newest, t, nil
		}
		for _, c := range r.Contributions {
			if c.Participant == index {
				newest = min(newest, ago)
				t.Weigh(&r, c)
			}
		}
	}
	return newest, t, nil
}

// epochConsent asks the node whether the running epoch awaits the home's consent.
func epochConsent(ctx context.Context, h *Home) Finding {
	switch {
	case !h.App.Worker.Enabled:
		return skip("this home has no worker")
	case h.App.Worker.Consent != home.ConsentAsk:
		return ok(`worker.consent is "off": every epoch trains that the home's bounds permit`)
	case !h.runs():
		return skip("the node does not run: spdl consent lists what awaits consent")
	}
	s, err := h.Client.Status(ctx)
	if err != nil || s.Home == nil {
		return skip("the node does not say: %v", err)
	}
	switch s.Home.Consent {
	case "":
		return ok("epoch %d is over, and awaits nothing", s.Epoch)
	case home.ConsentGiven:
		return ok("consented: epoch %d has this home's consent", s.Epoch)
	case home.ConsentRejected:
		return ok("rejected: this home has rejected epoch %d, and is absent from it", s.Epoch)
	case home.ConsentAwaited:
		return warn("spdl consent shows what it is about; then spdl consent EPOCH, with --reject or without",
			"awaited: epoch %d awaits this home's consent, and the home is absent until then", s.Epoch)
	}
	return fail("mend config/consent.jsonl", "there is no consent: %s", s.Home.Consent)
}
