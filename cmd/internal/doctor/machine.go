package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
)

// System holds the functions with which the checks query the machine.
type System struct {
	Free        func(path string) (bytes uint64, err error) // bytes that the user can write to the disk of a path
	Descriptors func() (uint64, error)                      // the number of files that a process of this user may open
	Synced      func() (bool, error)                        // whether the kernel's clock is synchronised
	Contains    func() (means string, err error)            // the means by which the machine can contain a trainer
}

// spare is the disk space in bytes that every node needs in addition to its chain.
const spare = 1 << 30

// disk compares the free space with what the remaining training will store.
func disk(ctx context.Context, h *Home) Finding {
	free, err := h.System.Free(h.Config.RootDir)
	if err != nil {
		return skip("%v", err)
	}
	used, err := size(h.Config.DBDir())
	if err != nil {
		return skip("%v", err)
	}
	found := fmt.Sprintf("%s free, data/ has %s", amount(free), amount(used))
	const remedy = "make room, move the home, or drop old blocks ([retain] in app.toml)"
	if free < spare {
		return fail(remedy, "%s; a node needs %s", found, amount(spare))
	}
	need, rounds, err := h.growth(ctx)
	switch {
	case err != nil:
		return ok("%s; how much is to come is not known: %v", found, err)
	case free < need:
		return warn(remedy, "%s, and up to %s are to come in %d rounds", found, amount(need), rounds)
	}
	return ok("%s, up to %s are to come in %d rounds", found, amount(need), rounds)
}

// growth returns the bytes that the open epoch's remaining rounds may add, and the number of these rounds.
func (h *Home) growth(ctx context.Context) (uint64, uint64, error) {
	if h.NoGenesis != nil {
		return 0, 0, h.NoGenesis
	}
	g, err := app.DecodeGenesis(h.Genesis.AppState)
	if err != nil {
		return 0, 0, err
	}
	rounds, n := g.Params.Training.Rounds, len(g.Participants)
	if h.runs() {
		s, err := h.Client.Status(ctx)
		if err != nil {
			return 0, 0, err
		}
		if g.Params, err = h.Client.Params(ctx); err != nil {
			return 0, 0, err
		}
		rounds, n = s.Rounds-min(s.Round, s.Rounds), s.Participants
	} else if s, err := h.state(); err == nil && s != nil {
		planned := s.Params.Training.Rounds
		g.Params, rounds, n = s.Params, planned-min(s.Progress.Round, planned), s.Active()
	}
	return h.bytesOf(g, n, rounds), rounds, nil
}

// In addition to a round's transactions a node stores, for each block, blockBytes plus memberBlockBytes for each member
// in the block store, the results and the index, and pairWALBytes for each pair of validators in the write-ahead log.
// These values were fitted to nets of 4 and 10 nodes after 60 and 400 rounds. walBytes is CometBFT's limit on the
// write-ahead log. checkpointRounds is the number of rounds from one checkpoint of the model to the next.
const (
	blockBytes       = 2200
	memberBlockBytes = 930
	pairWALBytes     = 280
	walBytes         = 1 << 30
	checkpointRounds = 16
)

// bytesOf returns the bytes that rounds of n participants with the parameters of g may add to the home's data.
func (h *Home) bytesOf(g app.Genesis, n int, rounds uint64) uint64 {
	p, blocks, copies := g.Params, uint64(1), uint64(2) // one copy in the block store and one in the index
	if p.Election.CommitReveal {
		blocks = 2
	}
	if h.Config.TxIndex.Indexer == "null" {
		copies = 1
	}
	round, members := uint64(p.RoundBytes(n)), uint64(n)
	stored := copies*round + blocks*(blockBytes+memberBlockBytes*members) + 8*uint64(p.Model.Dim())/checkpointRounds
	return rounds*stored + min(walBytes, rounds*(round+blocks*pairWALBytes*members*members))
}

// size returns the bytes of the files in a folder, 0 if there is none.
func size(dir string) (sum uint64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the database has compacted the file away
			return nil
		} else if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			sum += uint64(info.Size())
		}
		return nil
	})
	return sum, err
}

// amount returns a number of bytes as text.
func amount(n uint64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// needDescriptors is the number of open descriptors of a node with many peers and many readers, with room to spare.
const needDescriptors = 4096

// fileLimit returns the number of files that a process of this user may open. Go raises the soft limit to the hard one.
func fileLimit() (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return limit.Cur, err
}

// descriptors compares the limit of open files with needDescriptors.
func descriptors(_ context.Context, h *Home) Finding {
	limit, err := h.System.Descriptors()
	switch {
	case err != nil:
		return skip("%v", err)
	case limit < needDescriptors:
		return warn("LimitNOFILE=65536 in the unit, or ulimit -n 65536", "a process may open %d files, a node may need %d",
			limit, needDescriptors)
	}
	return ok("a process may open %d files", limit)
}

// timeSync checks whether a time service keeps the clock right.
func timeSync(_ context.Context, h *Home) Finding {
	synced, err := h.System.Synced()
	switch {
	case err != nil:
		return skip("%v", err)
	case !synced:
		return warn("enable chrony or systemd-timesyncd; in a virtual machine the host may do it",
			"the kernel's clock is not synchronised")
	}
	return ok("the kernel's clock is synchronised")
}

// kernel checks whether the kernel can contain a trainer program.
func kernel(_ context.Context, h *Home) Finding {
	trainer := h.App.Worker.Enabled && len(h.App.Worker.Trainer) > 0
	means, err := h.System.Contains()
	switch {
	case trainer && h.App.Worker.Sandbox == home.SandboxOff:
		return warn(`spdl config set worker.sandbox on`,
			`worker.sandbox is "off": the trainer can read the node's keys and send the data away`)
	case err != nil && trainer:
		return fail("Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK and seccomp, and landlock in the boot option lsm=",
			"worker.trainer is set, and it will not be started: %v", err)
	case err != nil:
		return skip("no trainer of one's own is configured, and none could be contained here: %v", err)
	}
	return ok("a trainer is contained by %s", means)
}

// LockedBy returns the id of the process that has locked a file, "" if Linux does not say, as in another namespace.
func LockedBy(file string) string {
	var at syscall.Stat_t
	locks, _ := os.ReadFile("/proc/locks") // 1: FLOCK ADVISORY WRITE PID MAJOR:MINOR:INODE ...
	for line := range strings.Lines(string(locks)) {
		if f := strings.Fields(line); syscall.Stat(file, &at) == nil && len(f) > 5 &&
			strings.HasSuffix(f[5], fmt.Sprintf(":%d", at.Ino)) {
			return f[4]
		}
	}
	return ""
}
