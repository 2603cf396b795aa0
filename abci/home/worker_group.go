package home

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/memo"
	"github.com/spdl/spdl/mnist"
)

// journals is the name of the folder with the journals of a worker group, in the folder of worker.journal.
const journals = "journals"

// IsWorkerGroup reports whether a home is the home of a worker group: many participants without a
// node. In such a home worker.key_file is a folder of key files.
func IsWorkerGroup(c *config.Config, a AppConfig) bool {
	info, err := os.Stat(InHome(c, a.Worker.KeyFile))
	return err == nil && info.IsDir()
}

// InitWorkerGroup makes a home of n participants without a node, and returns their keys. It fails,
// and overwrites nothing, if key files or a configuration exist.
func InitWorkerGroup(dir string, c *config.Config, a AppConfig, n int) ([]worker.Keys, error) {
	if err := errors.Join(a.Validate(), setRoot(c, dir)); err != nil {
		return nil, err
	}
	folder, notes := InHome(c, a.Worker.KeyFile), journalsOf(c, a)
	if err := checkAbsent(dir, folder); err != nil {
		return nil, err
	}
	for _, made := range []string{folder, notes, filepath.Join(dir, "config")} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			return nil, err
		}
	}
	config.WriteConfigFile(filepath.Join(dir, "config", "config.toml"), c)
	if err := a.WriteFile(dir); err != nil {
		return nil, err
	}
	keys, errs := make([]worker.Keys, n), make([]error, n)
	forEach(n, func(i int) {
		name := fmt.Sprintf("%04d.json", i)
		keys[i], errs[i] = new(Keystore).NewKeys(filepath.Join(folder, name))
		errs[i] = errors.Join(errs[i], worker.NewJournal(filepath.Join(notes, name)))
	})
	return keys, errors.Join(errs...)
}

// forEach calls f for 0 to n-1, with up to 64 calls at a time, because each call waits for the disk.
func forEach(n int, f func(i int)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, 64)
	for i := range n {
		room <- struct{}{}
		wg.Go(func() { f(i); <-room })
	}
	wg.Wait()
}

func journalsOf(c *config.Config, a AppConfig) string {
	return filepath.Join(filepath.Dir(InHome(c, a.Worker.Journal)), journals)
}

// WorkerGroup returns the workers of a worker group's home, one for each key file, in the order of
// the file names. Worker k, counted from 0, gets part worker.part + k of the data. The test seed of
// worker k is the configured seed plus k, or 0 if the configured seed is 0. All workers share one
// copy of the data set, and at most one worker per core computes at a time.
func WorkerGroup(c *config.Config, a AppConfig, s *Keystore, data DataOf,
	log func(string, ...any)) ([]worker.Config, error) {
	folder := InHome(c, a.Worker.KeyFile)
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	privacy, err := genesisPrivacy(c)
	if err != nil {
		return nil, err
	}
	policy := cachePolicy(policyOf(privacy, a.Worker))
	parts := cacheData(data)
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all []worker.Config
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".json") {
			continue // the former or next keys of a rotation
		}
		one, k := a, len(all)
		one.Worker.KeyFile = filepath.Join(folder, f.Name())
		one.Worker.Journal = filepath.Join(journalsOf(c, a), f.Name())
		if one.Worker.Part += k; one.Worker.Part >= one.Worker.Parts {
			return nil, fmt.Errorf("%s has more than %d key files, parts %d to %d of %d are to be dealt out", folder, k,
				a.Worker.Part, a.Worker.Parts-1, a.Worker.Parts)
		}
		if one.Worker.TestSeed != 0 {
			one.Worker.TestSeed += uint64(k)
		}
		keys, err := s.LoadKeys(one.Worker.KeyFile)
		if err != nil {
			return nil, err
		}
		w, err := workerOf(c, one, s, ParticipantWith(keys), policy, parts, log)
		if err != nil {
			return nil, err
		}
		w.Turns = turns
		// The pause after a failed call grows with the number of workers, so that a worker does not send
		// its gradient again before the first copy has been sent.
		w.Retry = groupRetry(len(files))
		all = append(all, w)
	}
	if len(all) == 0 || len(all) > gradients.MaxParticipants {
		return nil, fmt.Errorf("%s has %d key files, want 1 to %d", folder, len(all), gradients.MaxParticipants)
	}
	return all, nil
}

// groupRetry returns the pause of each worker in a group of n after a failed call.
func groupRetry(n int) time.Duration { return time.Duration(500+5*n) * time.Millisecond }

// cacheData returns a PartOf that keeps the last data set in memory, because all workers of a group
// read the same data set.
func cacheData(data DataOf) PartOf {
	kept := memo.New[string, mnist.Data](1)
	return func(path string, m params.Model, part mnist.Part) (mnist.Set, error) {
		read, err := kept.Get(path+"\x00"+m.String(), func() (mnist.Data, error) { return data(path, m) })
		if err != nil {
			return mnist.Set{}, err
		}
		return read.Train.Part(part)
	}
}

// cachePolicy caches a policy's result for each epoch, because all workers of a group get the same result.
func cachePolicy(policy func(worker.Task) (params.Privacy, error)) func(worker.Task) (params.Privacy, error) {
	type answer struct {
		privacy params.Privacy
		err     error
	}
	answers := memo.New[uint64, answer](1)
	return func(t worker.Task) (params.Privacy, error) {
		a, _ := answers.Get(t.Epoch, func() (answer, error) {
			allowed, err := policy(t)
			return answer{allowed, err}, nil
		})
		return a.privacy, a.err
	}
}

// LockWorkerGroup locks the journals of a worker group's home for this process until the result is closed. Without this
// lock a second process would start, and would fail only later, at the lock of each worker's journal.
func LockWorkerGroup(c *config.Config, a AppConfig) (io.Closer, error) {
	return worker.Lock(journalsOf(c, a))
}

// Journals returns the path of a home's journals: the folder for a worker group, or the file for one worker.
func Journals(c *config.Config, a AppConfig) string {
	if IsWorkerGroup(c, a) {
		return journalsOf(c, a)
	}
	return InHome(c, a.Worker.Journal)
}

// ReadJournal returns the summary of the journal of a home with one worker, as
// worker.ReadJournalInfo does. It does not lock the journal.
func ReadJournal(c *config.Config, a AppConfig) (worker.JournalInfo, error) {
	return worker.ReadJournalInfo(InHome(c, a.Worker.Journal))
}

// KeptHeader returns the path of the file with the last header that a home's worker has verified.
func KeptHeader(c *config.Config) string { return filepath.Join(c.DBDir(), "worker_header.json") }
