package worker_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/worker"
)

// A Task is the open round as it concerns one participant.
func ExampleNewTask() {
	s := apptest.State(4, apptest.CommitReveal)
	task, err := worker.NewTask(s, apptest.Key(2).Public().(ed25519.PublicKey))
	if err != nil {
		panic(err)
	}
	fmt.Printf("participant %d of %d, round %d: commits first: %t\n", task.Participant.Index, task.Active, task.Round,
		task.Phase == worker.Commit)

	_, err = worker.NewTask(s, apptest.Key(9).Public().(ed25519.PublicKey))
	fmt.Println(errors.Is(err, worker.ErrNotParticipant))
	// Output:
	// participant 2 of 4, round 0: commits first: true
	// true
}
