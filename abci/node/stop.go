package node

import (
	"errors"
	"time"
)

// ReceivedBytes returns the number of bytes that gossip has received, by kind. The kinds are the
// label values in the metrics.
func (r *Running) ReceivedBytes() map[string]int64 { return r.network.ReceivedBytes() }

// Wait returns when the node has stopped.
func (r *Running) Wait() { r.Node.Wait() }

// Stop stops the worker, the node and the databases, in this order. If the node was running, Stop logs its end.
func (r *Running) Stop() error {
	began, ran := time.Now(), r.Node != nil && r.Node.IsRunning()
	r.cancel()
	r.upgradeHalt.once.Do(func() { close(r.upgradeHalt.stop) })
	if r.isWatched {
		<-r.worker
		r.network.Wait()
		if r.servicesDone != nil {
			<-r.servicesDone
		}
	}
	err := r.rpc.Close()
	if r.isUnlisted {
		r.Node.OnStop()
		err = r.Node.ProxyApp().Stop()
	}
	if r.Node != nil && r.Node.IsRunning() {
		stopped := make(chan error, 1)
		go func() {
			err := r.Node.Stop()
			r.Node.Wait()
			// Without Stop of ProxyApp, a goroutine of the node would keep the application in memory.
			stopped <- errors.Join(err, r.Node.ProxyApp().Stop())
		}()
		select {
		case failed := <-stopped:
			err = errors.Join(err, failed)
		case <-r.upgradeHalt.blocked: // consensus is blocked in FinalizeBlock and cannot stop; all its results are stored
		}
	}
	if r.remote != nil {
		err = errors.Join(err, r.remote.Close())
	}
	if r.validatorLock != nil {
		err = errors.Join(err, r.validatorLock.Close())
	}
	if r.Node != nil { // after a replay that failed, the state in the database stays as it was
		err = errors.Join(err, r.Application.Flush())
	}
	err = errors.Join(err, r.databases.Close(), r.db.Close())
	if ran {
		if s := r.Application.State(); s != nil {
			r.log.Info("the node has stopped", "height", s.Height, "epoch", s.Progress.Epoch, "round", s.Progress.Round,
				"seconds", time.Since(began).Seconds())
		}
	}
	return err
}
