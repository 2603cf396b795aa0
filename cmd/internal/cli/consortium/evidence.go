package consortium

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/internal/strictjson"
)

func txEvidence() *cobra.Command {
	o := &evidenceOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "evidence FILE FILE",
		Short: "Prove that a participant signed two gradients, or two aggregates, in one place",
		Long: `Prove that a participant signed two gradients, or two aggregates, in one place. Each file holds one of the
signed transactions: its bytes, or them in base64; with --from-json an object with them in base64 as "tx", as
--dry-run -o json and CometBFT's RPC /tx print it. Evidence is not signed: anybody may send it.`,
		Example: "  spdl tx evidence first.b64 second.b64\n" +
			"  spdl tx evidence first.json second.json --from-json",
		Args: cobra.ExactArgs(2),
	}, o.run)
	o.declare(cmd)
	command.Flag(cmd, &o.fromJSON, "from-json", false, "the files are JSON")
	return cmd
}

type evidenceOptions struct {
	sendOptions
	fromJSON bool
}

func (o *evidenceOptions) run(r *command.Run, args []string) error {
	c, err := r.Client(o.node)
	if err != nil {
		return err
	}
	var two [2]*tx.Tx
	for i, file := range args {
		if two[i], err = readTx(file, o.fromJSON); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	t, err := tx.NewEvidence(two[0], two[1])
	if err != nil {
		return err
	}
	s := &sender{Client: c, run: r, options: &signOptions{sendOptions: o.sendOptions}}
	return s.deliver(t)
}

// readTx reads the one transaction of a file: JSON if fromJSON, otherwise base64 or its raw bytes.
func readTx(file string, fromJSON bool) (*tx.Tx, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t, err := decodeTx(data, fromJSON)
	if err != nil {
		return nil, fmt.Errorf("it is no transaction, as --dry-run prints one: %w", err)
	}
	return t, nil
}

func decodeTx(data []byte, fromJSON bool) (*tx.Tx, error) {
	if fromJSON {
		var of struct {
			Tx     []byte `json:"tx"`
			Result struct {
				Tx []byte `json:"tx"`
			} `json:"result"`
		}
		err := strictjson.Names(data)
		if err == nil {
			err = json.Unmarshal(data, &of)
		}
		if err != nil {
			return nil, err
		}
		if of.Tx == nil {
			of.Tx = of.Result.Tx
		}
		return tx.Decode(of.Tx)
	}
	if raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(data))); err == nil {
		return tx.Decode(raw) // a transaction begins with the byte 8, which is not base64
	}
	return tx.Decode(data)
}
