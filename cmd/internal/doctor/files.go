package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/spdl/spdl/abci/admission"
	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/cmd/internal/probe"
)

// keys finds secret files that users other than the owner can read or change, encrypted files without the home's
// identity, a key file in the place of another, and a node key that the chain does not have.
func keys(ctx context.Context, h *Home) Finding {
	if h.Twin != "" {
		return fail("leave this home stopped, or stop the other for good before this one starts", "the node at %s these "+
			"keys, but is of another home: two processes with one key sign twice", h.Twin)
	}
	files, err := home.KeyFiles(h.Config, h.App)
	if err != nil {
		return fail("look at the folder", "%v", err)
	}
	var open []string
	if len(files) == 0 {
		return fail("spdl init makes a home's keys, spdl restore puts them back", "there are no key files")
	}
	files = append(files, home.IdentityFile(h.Config.RootDir)) // only an encrypted home has it
	for _, file := range files {
		info, err := os.Stat(file)
		if err == nil && !info.IsDir() && info.Mode().Perm()&0o077 != 0 {
			open = append(open, fmt.Sprintf("%s has mode %#o", file, info.Mode().Perm()))
		}
	}
	if len(open) > 0 {
		return fail("chmod 600 each; if others use this host, rotate (spdl tx rotate)", "%s", strings.Join(open, "; "))
	}
	if f := h.contents(ctx, files[:len(files)-1]); f.Level != "" {
		return f
	}
	if _, err := os.Stat(home.IdentityFile(h.Config.RootDir)); err != nil {
		return ok("%d files, each for its owner alone, not encrypted (spdl keys encrypt)", len(files)-1)
	}
	plain, err := home.PlainKeys(h.Config, h.App)
	switch {
	case err != nil:
		return fail("look at the file", "%v", err)
	case len(plain) > 0:
		return warn("spdl keys encrypt encrypts the rest", "the home's keys are encrypted, and these are not: %s",
			strings.Join(plain, ", "))
	}
	return ok("%d files, each for its owner alone, encrypted", len(files)-1)
}

// contents examines what the home's key files hold. The finding has no level if nothing is wrong.
func (h *Home) contents(ctx context.Context, files []string) Finding {
	identity := home.IdentityFile(h.Config.RootDir)
	_, err := os.Stat(identity)
	plain := errors.Is(err, os.ErrNotExist)
	for _, file := range files {
		if encrypted, err := home.IsEncrypted(file); plain && err == nil && encrypted {
			return fail("put back the identity.age that was made with the key files, or restore both from one backup",
				"%s is encrypted, and %s is missing", file, identity)
		}
	}
	if home.IsWorkerGroup(h.Config, h.App) {
		return Finding{} // it has neither a node nor a validator
	}
	store, participant := home.NewKeystore(h.Config.RootDir, nil), home.InHome(h.Config, h.App.Worker.KeyFile)
	_, err = os.Stat(participant)
	who, needed := "node", h.App.Worker.Enabled && h.App.Worker.Signer == ""
	if h.isSigner() {
		who, needed = "signer", h.App.Signer.Listen != ""
	}
	if errors.Is(err, os.ErrNotExist) && needed {
		return fail("restore it from a backup, or name the signer that has it (spdl config set worker.signer ADDRESS); if "+
			"it is lost, the members remove the participant, and a new home joins", "%s is missing: the %s does not start",
			participant, who)
	}
	if _, err := store.LoadKeys(participant); err != nil {
		if _, err := store.LoadValidatorKey(participant); err == nil {
			return fail("if the two files are exchanged, exchange them back; if not, restore this one from a backup",
				"%s has no VRF key: it is no participant's key file, but perhaps %s", participant, h.Config.PrivValidatorKeyFile())
		}
	}
	if h.isSigner() {
		return Finding{} // it has no node
	}
	return h.nodeKey(ctx)
}

// nodeKey compares the node's id with the ids that the chain has of the home's participant. The finding has no level
// if the chain has the id, or no id of the participant.
func (h *Home) nodeKey(ctx context.Context) Finding {
	const remedy = "put the node_key.json of the chain's id in place; if it is lost"
	all, _ := h.participants(ctx) // none if they cannot be read
	p, _ := h.ownParticipant(ctx, all)
	_, err := os.Stat(h.Config.NodeKeyFile())
	switch id := string(h.nodeID()); {
	case errors.Is(err, os.ErrNotExist):
		return fail(remedy+", spdl init in another folder makes one, and spdl tx rotate --nodes ID announces it",
			"%s is missing: the node does not start", h.Config.NodeKeyFile())
	case id != "" && p != nil && p.Active && len(p.NodeIds) > 0 && !slices.Contains(p.NodeIds, id):
		for _, address := range admission.Addresses([]app.Participant{*p}, "") {
			if probe.Node(ctx, address) == nil {
				return fail("leave this home stopped, or stop the other for good before this one starts", "the node %s, which the "+
					"chain has of participant %d, runs: two processes with these keys sign twice", address, p.Index)
			}
		}
		return warn(remedy+", announce the new id: spdl tx rotate --nodes "+id, "the node's id is %s, and the chain has %s "+
			"of participant %d: other members' nodes may reject it", id, strings.Join(p.NodeIds, ", "), p.Index)
	}
	return Finding{}
}

// hasData reports whether the application's database exists.
func (h *Home) hasData() bool {
	_, err := os.Stat(filepath.Join(h.Config.DBDir(), "application.db"))
	return err == nil
}

// lock opens the application's database to read it. It returns an error if a process has it, or if there is none.
func (h *Home) lock() error {
	db, err := storage.OpenFile(filepath.Join(h.Config.DBDir(), "application.db"), true)
	if err != nil {
		return err
	}
	return db.Close()
}

// isLocked reports whether a process has the application's database.
func (h *Home) isLocked() bool {
	err := h.lock()
	return err != nil && strings.Contains(err.Error(), syscall.EAGAIN.Error())
}

// databaseLock finds a lock of the databases that is held although the node does not answer, and databases of a stopped
// node with which the node does not start.
func databaseLock(_ context.Context, h *Home) Finding {
	if !h.hasData() {
		return skip("the node was never started: there are no databases")
	}
	err := h.lock()
	if err == nil {
		height, err := databases.CheckStopped(h.Config)
		if err != nil {
			return fail(cmp.Or(room(err), "look at the disk; if they are damaged, spdl reset-state --yes, and start the node"),
				"%v", err)
		}
		return ok("no process has them: the node is stopped, at height %d", height)
	}
	switch {
	case h.Hangs:
		who := cmp.Or(LockedBy(filepath.Join(h.Config.DBDir(), "application.db", "LOCK")), "PID")
		return fail("end it (kill -9 "+who+"), then start it", "hangs, pid %s: the process has them, accepts connections at "+
			"%s, and answers none", who, h.Config.RPC.ListenAddress)
	case !strings.Contains(err.Error(), syscall.EAGAIN.Error()):
		return fail(cmp.Or(room(err), "see docs/TROUBLESHOOTING.md, Disk; spdl audit replay names a damaged height"), "%v",
			err)
	case h.Other != "":
		return warn("name the address of this home's node with --node, or leave it out; if rpc.laddr was changed after its "+
			"start, start it again", "a process has them, and at %s the node %s answers, of another home", h.RPC, h.Other)
	case !h.runs() && h.RPC != "":
		return fail("wait while it replays blocks; name its address with --node, if that is another; if rpc.laddr was "+
			"changed after its start, start it again; otherwise look at its log, and end it", "a process has them, and no node "+
			"of this home answers at %s", h.RPC)
	}
	return ok("the node that runs has them")
}

// room returns the remedy for a disk that is full or may not be written, "" for other errors.
func room(err error) string {
	switch {
	case strings.Contains(err.Error(), syscall.ENOSPC.Error()):
		return "make room on the disk, and start the node: nothing is lost"
	case strings.Contains(err.Error(), syscall.EROFS.Error()):
		return "mount the file system to write, and start the node: nothing is lost"
	}
	return ""
}

// divergence finds the record of a node whose state has differed from the chain's.
func divergence(_ context.Context, h *Home) Finding {
	file := filepath.Join(h.Config.DBDir(), home.DivergenceFile)
	if _, err := os.Stat(file); err == nil {
		return fail("see docs/TROUBLESHOOTING.md: keep a copy, run spdl audit replay, then spdl reset-state --yes",
			"%s: this node's state contradicts what two thirds signed", file)
	}
	return ok("none is on record")
}

// journal compares the worker's journal with the chain.
func journal(ctx context.Context, h *Home) Finding {
	switch {
	case h.isSigner() && h.App.Signer.Listen == "":
		return skip("signer.listen is empty: this signer signs no gradients")
	case !h.App.Worker.Enabled && !h.isSigner():
		return skip("worker.enabled is false")
	case home.IsWorkerGroup(h.Config, h.App):
		return skip("a worker group: each of its workers checks its own")
	case h.NoGenesis != nil:
		return skip("the home has no genesis")
	case h.App.Worker.Signer != "":
		return skip("the signer of the participant's keys has it")
	case h.otherGenesis() != nil:
		return skip("not compared: genesis.json is not the genesis of this home's data")
	}
	path := home.Journals(h.Config, h.App)
	info, err := home.ReadJournal(h.Config, h.App)
	if err := otherUnit(h, info); err != nil {
		return fail("spdl config set worker.unit, if this home agrees to the chain's unit and has signed nothing for another",
			"%v", err)
	}
	switch {
	case errors.Is(err, worker.ErrDamaged):
		return fail("move the file away and start again: the worker begins a new one", "%v", err)
	case err != nil:
		return fail("make it readable for the node's user", "%v", err)
	case info.New:
		return ok("%s: nothing is signed yet", path)
	case info.Missing && (h.hasData() || h.isSigner()):
		return warn("none: the worker begins a new journal, and sits out the round that is open", "%s is missing", path)
	case info.Missing:
		return ok("there is none, and no chain yet")
	case info.ChainID != h.Genesis.ChainID:
		return fail("put back the journal of this chain; if there is none, move the file away, and the worker begins a new "+
			"one and sits out the open round", "%s is of chain %q, genesis of %q", path,
			info.ChainID, h.Genesis.ChainID)
	case h.isSigner():
		return ok("%s: %d gradients signed", path, info.Signed)
	}
	all, err := h.participants(ctx)
	if err != nil {
		return skip("the chain's participants cannot be read: %v", err)
	}
	i := slices.IndexFunc(all, func(p app.Participant) bool { return string(p.Id) == string(info.ID) })
	switch {
	case i < 0:
		return fail("put back the journal of this participant, or move the file away", "%s is of participant id %X, whom "+
			"the chain does not have", path, info.ID)
	case all[i].Participations > info.Signed:
		return warn("stop the other node with these keys, if there is one; the worker sits out a round by itself",
			"%s counts %d gradients, the chain %d: it is an old copy", path, info.Signed, all[i].Participations)
	}
	return ok("%d gradients signed by participant %d, %d of them counted by the chain", info.Signed, all[i].Index,
		all[i].Participations)
}

// otherUnit returns an error if the home's unit of privacy is not the chain's.
func otherUnit(h *Home, info worker.JournalInfo) error {
	g, err := home.GenesisOf(h.Config)
	pinned, unit := cmp.Or(h.App.Worker.Unit, info.Unit), g.Params.UnitName()
	if err != nil || pinned == "" || pinned == unit { // another check is about a genesis that cannot be read
		return nil
	}
	return fmt.Errorf("this home counts epsilon for the unit of privacy %q, and the chain's is %q: the worker takes no "+
		"part", pinned, unit)
}
