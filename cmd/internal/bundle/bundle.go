// Package bundle collects what a helper needs to understand a node with a problem, and no secrets. A bundle is a list
// of files. A function here makes each of them, and none is a copy of a file of the home.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	rpchttp "github.com/cometbft/cometbft/rpc/client/http"

	"github.com/spdl/spdl/cmd/internal/doctor"
)

// Node is the node that a bundle describes.
type Node struct {
	*doctor.Home
	RPC string    // its address, whose password is a secret
	Log io.Reader // the node's log; nil if there is none
	Dir string
}

// File is a file of a bundle.
type File struct {
	Name  string `json:"name"`
	What  string `json:"what"`
	Bytes int    `json:"bytes"`
	// Missing is the reason why the file is not in the bundle, or "".
	Missing string `json:"missing,omitempty"`

	data []byte
}

// A part makes a file of the bundle.
type part struct {
	name, what string
	make       func(context.Context, *Node) ([]byte, error)
}

// parts lists all files that a bundle can have.
var parts = []part{
	{"version.json", "the program: its version, build settings and modules", programVersion},
	{"host.json", "the host: system, processors, memory", host},
	{"config.txt", "the configuration: numbers, switches, and texts that are no secret", configuration},
	{"doctor.json", "what spdl doctor finds", examination},
	{"disk.txt", "the names and sizes of the home's files", disk},
	{"status.json", "the node's status", fromRPC((*rpchttp.HTTP).Status)},
	{"net_info.json", "its peers, with their addresses", fromRPC((*rpchttp.HTTP).NetInfo)},
	{"consensus_state.json", "the state of consensus: votes of the open height", fromRPC((*rpchttp.HTTP).ConsensusState)},
	{"abci_info.json", "the application's version and height", fromRPC((*rpchttp.HTTP).ABCIInfo)},
	{"goroutines.txt", "what the node's goroutines do, if rpc.pprof_laddr is set", profile("goroutine?debug=1")},
	{"heap.pb.gz", "how much memory each line of the program has, if rpc.pprof_laddr is set", profile("heap")},
	{"log.txt", "the last lines of the log, without those of the trainer program", logTail},
}

// Collect makes the files of a bundle, without the secrets of the home.
func Collect(ctx context.Context, n *Node) []File {
	hide := secrets(n)
	files := make([]File, len(parts))
	for i, p := range parts {
		f := File{Name: p.name, What: p.what}
		data, err := p.make(ctx, n)
		if err != nil {
			f.Missing = string(hide.scrub([]byte(err.Error())))
		}
		if f.data = data; !strings.HasSuffix(p.name, ".gz") { // a profile holds names of functions and no values
			f.data = hide.scrub(data)
		}
		f.Bytes = len(f.data)
		files[i] = f
	}
	return files
}

// folder is the folder of the files in an archive.
const folder = "spdl-debug/"

// Write writes the files as a tar.gz, with a list of them.
func Write(w io.Writer, files []File, at time.Time) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	var list bytes.Buffer
	List(&list, files)
	all := append([]File{{Name: "CONTENTS.txt", data: list.Bytes()}}, files...)
	for _, f := range all {
		if f.Missing != "" {
			continue
		}
		h := &tar.Header{Name: folder + f.Name, Mode: 0o600, Size: int64(len(f.data)), ModTime: at, Typeflag: tar.TypeReg}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

// List prints the content of each file, and the reasons why others are missing.
func List(w io.Writer, files []File) {
	for _, f := range files {
		state := fmt.Sprintf("%d bytes", f.Bytes)
		if f.Missing != "" {
			state = "not in it: " + f.Missing
		}
		fmt.Fprintf(w, "%-21s %s; %s\n", f.Name, f.What, state)
	}
}
