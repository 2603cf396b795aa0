package doctor

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
)

// A Bundle is what a helper needs to understand a node with a problem, and no secrets: a list of files. A function here
// makes each of them, and none is a copy of a file of the home.
type Bundle []BundleFile

// BundleFile is a file of a bundle.
type BundleFile struct {
	Name  string `json:"name"`
	What  string `json:"what"`
	Bytes int    `json:"bytes"`
	// Missing is the reason why the file is not in the bundle, or "".
	Missing string `json:"missing,omitempty"`

	data []byte
}

// bundled is the node that a bundle describes.
type bundled struct {
	*Home
	log io.Reader // nil if there is none
}

// A part makes a file of the bundle.
type part struct {
	name, what string
	make       func(context.Context, *bundled) ([]byte, error)
}

// parts lists all files that a bundle can have.
var parts = []part{
	{"version.json", "the program: its version, build settings and modules", programVersion},
	{"host.json", "the host: system, processors, memory", host},
	{"config.txt", "the configuration: numbers, switches, and texts that are no secret", settings},
	{"doctor.json", "what spdl doctor finds", examination},
	{"disk.txt", "the names and sizes of the home's files", homeFiles},
	{"status.json", "the node's status", fromRPC((*rpchttp.HTTP).Status)},
	{"net_info.json", "its peers, with their addresses", fromRPC((*rpchttp.HTTP).NetInfo)},
	{"consensus_state.json", "the state of consensus: votes of the open height", fromRPC((*rpchttp.HTTP).ConsensusState)},
	{"abci_info.json", "the application's version and height", fromRPC((*rpchttp.HTTP).ABCIInfo)},
	{"goroutines.txt", "what the node's goroutines do, if rpc.pprof_laddr is set", profile("goroutine?debug=1")},
	{"heap.pb.gz", "how much memory each line of the program has, if rpc.pprof_laddr is set", profile("heap")},
	{"log.txt", "the last lines of the log, without those of the trainer program", logTail},
}

// Collect makes the bundle of a home and the node's log, nil for none, without the secrets of the home.
func Collect(ctx context.Context, h *Home, log io.Reader) Bundle {
	n, hide := &bundled{h, log}, secrets(h)
	files := make(Bundle, len(parts))
	for i, p := range parts {
		f := BundleFile{Name: p.name, What: p.what}
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
func (b Bundle) Write(w io.Writer, at time.Time) error {
	z := gzip.NewWriter(w)
	t := tar.NewWriter(z)
	var list bytes.Buffer
	b.List(&list)
	all := append(Bundle{{Name: "CONTENTS.txt", data: list.Bytes()}}, b...)
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
func (b Bundle) List(w io.Writer) {
	for _, f := range b {
		state := fmt.Sprintf("%d bytes", f.Bytes)
		if f.Missing != "" {
			state = "not in it: " + f.Missing
		}
		fmt.Fprintf(w, "%-21s %s; %s\n", f.Name, f.What, state)
	}
}
