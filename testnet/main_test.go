package testnet

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The test binary stands in for spdl: `start --home DIR` is a node that does
// what the file DIR/behaviour says, `launch DIR` a launcher that gets killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "start" && os.Args[2] == "--home" {
		os.Exit(standIn(os.Args[3]))
	}
	if len(os.Args) == 3 && os.Args[1] == "launch" {
		os.Exit(standInLauncher(os.Args[2]))
	}
	os.Exit(m.Run())
}

func standIn(home string) int {
	behaviour, err := os.ReadFile(filepath.Join(home, "behaviour"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	started, err := os.OpenFile(filepath.Join(home, "started"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Fprintln(started, os.Getpid())
	started.Close()
	fmt.Println("node is up")
	switch string(behaviour) {
	case "crash":
		fmt.Println("panic: the disk is full")
		return 7
	case "stubborn":
		time.Sleep(time.Hour)
	}
	select {
	case <-asked:
		fmt.Println("node is down")
		return 0
	case <-time.After(10 * time.Minute):
		return 1
	}
}

// standInLauncher starts two nodes, one of which does not react to SIGTERM.
func standInLauncher(home string) int {
	n := &Net{}
	for _, name := range []string{"node0", "node1"} {
		n.Nodes = append(n.Nodes, Node{Home: filepath.Join(home, name)})
	}
	binary, err := os.Executable()
	if err == nil {
		_, err = StartProcesses(n, binary)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	time.Sleep(time.Hour)
	return 0
}
