package doctor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	cmtjson "github.com/cometbft/cometbft/libs/json"
	rpchttp "github.com/cometbft/cometbft/rpc/client/http"
)

// bundleTimeout bounds each question to the node, whose profiles take longer than answers (askTimeout).
const bundleTimeout = 10 * time.Second

// errSilent means that no node answers.
var errSilent = errors.New("no node of this home answers")

// fromRPC returns the part with the node's answer to a method of its RPC.
func fromRPC[T any](ask func(*rpchttp.HTTP, context.Context) (T, error)) func(context.Context, *bundled) ([]byte,
	error) {
	return func(ctx context.Context, n *bundled) ([]byte, error) {
		if n.Node == nil {
			return nil, errSilent
		}
		ctx, cancel := context.WithTimeout(ctx, bundleTimeout)
		defer cancel()
		answer, err := ask(n.Client.RPC(), ctx)
		if err != nil {
			return nil, err
		}
		return cmtjson.MarshalIndent(answer, "", "  ")
	}
}

// maxProfile is the max size of a profile, in bytes.
const maxProfile = 32 << 20

// profile returns the part with a profile of the node.
func profile(name string) func(context.Context, *bundled) ([]byte, error) {
	return func(ctx context.Context, n *bundled) ([]byte, error) {
		switch {
		case n.Invalid != nil:
			return nil, errSilent
		case n.Config.RPC.PprofListenAddress == "":
			return nil, errors.New("rpc.pprof_laddr is not set")
		}
		at := n.Config.RPC.PprofListenAddress
		if strings.HasPrefix(at, ":") {
			at = "127.0.0.1" + at
		}
		ctx, cancel := context.WithTimeout(ctx, bundleTimeout)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/debug/pprof/"+name, nil)
		if err != nil {
			return nil, err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("rpc.pprof_laddr answers %s", answer.Status)
		}
		return io.ReadAll(io.LimitReader(answer.Body, maxProfile))
	}
}

// The bounds of the log in a bundle.
const (
	maxLines = 5000
	maxLine  = 2000 // bytes
)

// ofTrainer matches log lines that a trainer program has written. A bundle leaves them out, because
// they may contain the program's data.
var ofTrainer = regexp.MustCompile(`(?i)\btrainer\b`)

// entry matches the first line of a log entry, of a panic and of a goroutine's stack. Every other line
// belongs to the entry before it, because the logs of earlier releases have entries of several lines.
var entry = regexp.MustCompile(`^(.*: )?([A-Z]\[\d{4}-|\{"|panic: |fatal error: |goroutine \d)`)

// logTail returns the last lines of the log.
func logTail(_ context.Context, n *bundled) ([]byte, error) {
	if n.log == nil {
		return nil, errors.New("no log is at hand: name one with --log FILE")
	}
	var lines []string
	leftOut, inTrainer := 0, false
	in := bufio.NewReaderSize(n.log, 1<<16)
	for {
		line, err := in.ReadString('\n')
		line = strings.TrimRight(line, "\n")
		inTrainer = ofTrainer.MatchString(line) || inTrainer && line != "" && !entry.MatchString(line)
		switch {
		case inTrainer:
			leftOut++
		case line != "":
			if lines = append(lines, line[:min(len(line), maxLine)]); len(lines) > 2*maxLines {
				lines = append([]string(nil), lines[len(lines)-maxLines:]...)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %d lines of the trainer are left out\n", leftOut)
	for _, line := range lines[max(0, len(lines)-maxLines):] {
		b.WriteString(line + "\n")
	}
	return b.Bytes(), nil
}

// firstLine returns the first line of a file, "" if there is none.
func firstLine(path string) string {
	data, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}
