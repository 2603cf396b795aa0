package quint

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// These types are those of round.qnt. Numbers are those of the model: keys too.

type config struct {
	Rounds    uint64
	Term      uint64
	Byzantine uint32
	Reveal    bool
	Budget    int
	Unseat    bool
}

type formerKey struct {
	Key          int
	Epoch, Round uint64
}

type formerValidator struct {
	Key    int
	Height uint64
}

type participant struct {
	Active                                    bool
	Reputation                                int64
	Strikes, PassedOver                       uint32
	Rests, Presented                          uint64
	Contends, Participations, Releases        uint64
	Spent                                     int
	Joined, Nonce, Revocations                uint64
	Key, Vrf, Validator                       int
	FormerKeys                                []formerKey
	FormerValidators                          []formerValidator
	SettledEpoch, SettledRound, SettledHeight uint64
}

type commitment struct {
	By     uint32
	Height uint64
	Draw   int
}

type place struct {
	Kind         uint32
	Epoch, Round uint64
	View         uint32
}

type operation struct {
	Kind                string
	By, Signer, Subject int
	Key, Vrf, Validator int
	Nonce, Revocations  uint64
	Target              int
	Now                 bool
	Epoch, Round        uint64
	Config              config
	Name                string
	Height, Version     uint64
	Place               place
}

type proposal struct {
	ID        int
	Approvals []uint32
	Accepted  bool
}

type offence struct {
	Participant uint32
	Place       place
	Height      uint64
	Misbehavior uint32
	Voted       uint64
}

type misbehavior struct {
	Type   uint32 `json:"type_"`
	Key    int
	Height uint64
}

type epoch struct{ Rounds, Opened, Closed uint64 }

type upgrade struct {
	Name            string
	Height, Version uint64
}

type set struct {
	Members []int `json:"#set"`
}

func (s set) has(i int) bool {
	for _, m := range s.Members {
		if m == i {
			return true
		}
	}
	return false
}

type block struct {
	Wait        int
	Leader      int
	View        uint32
	Included    []int
	Attackers   set
	Draws       []int
	Late        [][]uint32
	Failed      [][]uint32
	Fault       string
	Commits     []int
	Ops         []operation
	Misbehavior []misbehavior
	Keys, Vrfs  []int // of all participants before the block
}

type state struct {
	Height, Closed, Epoch, Round, Opened, Began uint64
	Revealing                                   bool
	Commitments                                 []commitment
	Ranking                                     []uint32
	Tied                                        bool
	Participants                                []participant
	Proposals                                   []proposal
	Offences                                    []offence
	Epochs                                      []epoch
	Upgrades                                    []upgrade
	Config                                      config
	Serial                                      int
}

// step is a state of a trace: the block, the verdict on it, and the state after it.
type step struct {
	State state
	Block block
	Ok    bool
}

// trace is a trace in the Informal Trace Format: https://apalache-mc.org/docs/adr/015adr-trace.html
type trace struct {
	States []step
	name   string
}

// readTraces passes the traces of a file to use, in their order. The file holds documents in ITF, one
// after the other, and is compressed if its name ends in .gz.
func readTraces(path string, use func(*trace)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(plain(data)))
	for i := 0; ; i++ {
		t := &trace{name: fmt.Sprintf("%s, trace %d", filepath.Base(path), i)}
		switch err := decoder.Decode(t); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", t.name, err)
		}
		use(t)
	}
}

// plain turns each {"#bigint":"N"} into N, in place.
func plain(data []byte) []byte {
	const begin, end = `{"#bigint":"`, `"}`
	out := data[:0]
	for {
		i := bytes.Index(data, []byte(begin))
		if i < 0 {
			return append(out, data...)
		}
		number := data[i+len(begin):]
		n := bytes.Index(number, []byte(end))
		if n < 0 {
			return append(out, data...)
		}
		out = append(append(out, data[:i]...), number[:n]...)
		data = number[n+len(end):]
	}
}
