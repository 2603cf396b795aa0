// Package consortium has the commands with which members found a consortium and change it: consortium, genesis, the
// transactions of membership and governance (tx), and consent, by which a home allows epochs to train on its data.
// A command of tx makes a body, which sender.sign and sender.send in tx.go sign and send, and app.State.Admit checks.
package consortium

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/founding"
)

// Consortium returns the group of commands.
func Consortium() *cobra.Command {
	group := command.Group("consortium", "Found a consortium by exchanging files in a folder",
		newCommand(), joinCommand(), startCommand(), statusCommand())
	group.Long = "Found a consortium: members exchange files in a folder, by any channel, and need no server.\n" +
		"  spdl consortium new FOLDER     the founder writes the proposal\n" +
		"  spdl consortium join FOLDER    each member makes its home and its entry\n" +
		"  spdl consortium start FOLDER   each member, three times: its share of the seed, its proof, the genesis\n" +
		"  spdl consortium status FOLDER  shows what is missing of whom, and who answers\n" +
		"FOLDER is one that all share, or each member's own into which it saves the others' files."
	return group
}

// agreement is the content to which a member agrees by joining.
type agreement struct {
	ChainID  string     `json:"chain_id"`
	Proposal string     `json:"proposal_sha256"`
	Members  []string   `json:"members"`
	Deadline *time.Time `json:"deadline,omitempty"`
	Preset   string     `json:"preset"`
	Rule     string     `json:"rule"`
	Rounds   uint64     `json:"rounds"`
	Epsilon  float64    `json:"epsilon"` // 0: no guarantee
	Delta    float64    `json:"delta"`
	Unit     string     `json:"unit"` // of privacy, as params.Params.UnitName names it
	Inputs   string     `json:"inputs"`
	Examples int        `json:"examples,omitempty"` // or groups, of each member, for which the training is made
}

func agreementOf(f *founding.Founding) agreement {
	p := f.Proposal
	fits, _ := p.Params.Privacy.Fits(0) // 0 for any number
	return agreement{
		ChainID: p.ChainID, Proposal: fmt.Sprintf("%x", []byte(f.Digest)), Members: p.Members, Deadline: p.Deadline,
		Preset: p.Params.Preset, Rounds: p.Params.Training.Rounds, Epsilon: p.Params.Privacy.Epsilon,
		Delta: p.Params.Privacy.Delta, Rule: fmt.Sprintf("%s at f=%d", p.Params.Rule.Name, p.Params.Rule.Byzantine),
		Unit: p.Params.UnitName(), Inputs: inputsOf(p.Params), Examples: fits,
	}
}

// inputsOf describes the data that every member needs.
func inputsOf(p params.Params) string {
	m := p.Model
	switch {
	case p.GroupsImages():
		return fmt.Sprintf("images of %d classes, with a file of their groups", m.Classes)
	case m.Kind == params.ModelExternal:
		return "those of worker.trainer"
	case m.Table != nil:
		return fmt.Sprintf("a table of %d columns with %d classes in column %q", len(m.Table.Columns), m.Classes,
			m.Table.Label)
	}
	return fmt.Sprintf("images of %d classes", m.Classes)
}

func (a agreement) text(w io.Writer) {
	guarantee := "no guarantee of privacy"
	if a.Epsilon > 0 {
		guarantee = fmt.Sprintf("epsilon %.4g at delta %.3g for the unit %s", a.Epsilon, a.Delta, command.Plain(a.Unit))
	}
	fmt.Fprintf(w, "chain id  %s\nmembers   %s\ntraining  preset %s: %d rounds, rule %s, %s\ninputs    %s\n", a.ChainID,
		strings.Join(a.Members, " "), a.Preset, a.Rounds, a.Rule, guarantee, a.Inputs)
	if a.Examples > 0 {
		fmt.Fprintf(w, "made for  %d training rows, or groups, a member; the gradient of fewer is shorter\n", a.Examples)
	}
	if a.Deadline != nil {
		suffix := map[bool]string{true: " (passed)"}[passed(a.Deadline)]
		fmt.Fprintf(w, "deadline  %s%s\n", a.Deadline.Format(time.RFC3339), suffix)
	}
	fmt.Fprintf(w, "proposal  %s\n", a.Proposal)
}

// passed reports whether a deadline is set and has passed.
func passed(deadline *time.Time) bool { return deadline != nil && time.Now().After(*deadline) }

// faultsOf returns the faulty files as one error.
func faultsOf(f *founding.Founding) error {
	var all []error
	for _, fault := range f.Faults {
		all = append(all, fmt.Errorf("%s: %s", fault.File, fault.Error))
	}
	return errors.Join(all...)
}

// plural are the names of the kinds of files.
var plural = map[founding.Kind]string{founding.KindEntry: "entries", founding.KindShare: "shares",
	founding.KindProof: "proofs"}

// waiting returns a sentence about the missing files of a kind, "" if none is missing.
func waiting(f *founding.Founding, kind founding.Kind) string {
	names := f.Missing(kind)
	if len(names) == 0 {
		return ""
	}
	said := fmt.Sprintf("%s of %s missing in %s", plural[kind], strings.Join(names, ", "), f.Folder)
	if d := f.Proposal.Deadline; d != nil {
		left := time.Until(*d).Round(time.Second)
		if left >= 0 {
			return fmt.Sprintf("%s; the deadline is in %v", said, left)
		}
		return fmt.Sprintf("%s; the deadline passed %v ago: ask them, or found again without them", said, -left)
	}
	return said
}
