package audit

import (
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/printable"
)

// csvHeader are the columns of WriteCSV.
var csvHeader = []string{"height", "time", "kind", "actor", "moniker", "summary", "details", "proposal", "approvals",
	"accepted_height", "result", "result_height", "why", "hash", "header_hash", "proof_index", "proof_total",
	"proof_hashes"}

// WriteCSV writes the entries, one per line, founders first. The column of the proof has the path
// from the hash in the row to the data hash of the header with header_hash. Texts of the chain are
// changed so that no spreadsheet takes one for a formula.
func (l *Log) WriteCSV(w io.Writer) error {
	blocks, err := l.Blocks()
	if err != nil {
		return err
	}
	headers := map[uint64]string{}
	for _, b := range blocks {
		headers[uint64(b.Height)] = hex.EncodeToString(b.Hash())
	}
	out := csv.NewWriter(w)
	_ = out.Write(csvHeader) // Error returns the first error
	for _, f := range l.Founders {
		_ = out.Write([]string{fmt.Sprint(l.First - 1), "", "founder", fmt.Sprint(f.Participant), printable.Cell(f.Moniker),
			"in genesis", "", "", "", "", Applied, fmt.Sprint(l.First - 1), "", "", "", "", "", ""})
	}
	for _, e := range l.Entries {
		who := ""
		if e.Actor != nil {
			who = fmt.Sprint(*e.Actor)
		}
		accepted := ""
		if e.AcceptedHeight > 0 {
			accepted = fmt.Sprint(e.AcceptedHeight)
		}
		aunts := strings.Trim(fmt.Sprintf("%x", e.Proof.Aunts), "[]")
		_ = out.Write([]string{fmt.Sprint(e.Height), e.Time.Format(time.RFC3339Nano), e.Kind, who, printable.Cell(e.Moniker),
			printable.Cell(e.Summary), printable.Cell(e.detailText()), e.Proposal, e.approvalText(), accepted, e.Result,
			fmt.Sprint(e.ResultHeight), printable.Cell(e.Why), e.Hash, headers[e.Height], fmt.Sprint(e.Proof.Index),
			fmt.Sprint(e.Proof.Total), aunts})
	}
	out.Flush()
	return out.Error()
}

// detailText returns the details in the order of their keys.
func (e *Entry) detailText() string {
	var parts []string
	for key, value := range e.Details {
		parts = append(parts, key+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// approvalText returns the approvals as participant@height.
func (e *Entry) approvalText() string {
	parts := make([]string, len(e.Approvals))
	for i, a := range e.Approvals {
		parts[i] = fmt.Sprintf("%d@%d", a.Participant, a.Height)
	}
	return strings.Join(parts, " ")
}

// ResultText returns the result, with its height if that is another than the entry's, and the reason. The height is
// after the given word.
func (e *Entry) ResultText(height string) string {
	text := e.Result
	if e.ResultHeight != e.Height {
		text += fmt.Sprintf(" at %s%d", height, e.ResultHeight)
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// WriteText writes the entries as a table for people.
func (l *Log) WriteText(w io.Writer) {
	fmt.Fprintf(w, "chain     %s, heights %d to %d\n", printable.Line(l.ChainID), l.First, l.Last)
	for _, f := range l.Founders {
		fmt.Fprintf(w, "founder   %d %q\n", f.Participant, f.Moniker)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nheight\ttime\tby\twhat\tapproved by\tresult\ttransaction")
	for _, e := range l.Entries {
		what := e.Summary
		if !strings.Contains(what, e.Kind) {
			what = e.Kind + ": " + what
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%.16s\n", e.Height, e.Time.Format(time.RFC3339), actor(e.Actor),
			printable.Line(what), e.approvalText(), printable.Line(e.ResultText("")), e.Hash)
	}
	_ = t.Flush()
}

// Keep removes the entries of all kinds except the given ones. If none are given, it keeps all.
func (l *Log) Keep(kinds []string) {
	l.Entries = slices.DeleteFunc(l.Entries, func(e Entry) bool { return kinds != nil && !slices.Contains(kinds, e.Kind) })
}

// Kinds lists the kinds of entries.
func Kinds() []string {
	out := []string{kindEvidence}
	for number := range tx.Kind_name {
		switch k := tx.Kind(number); k {
		case tx.KindNone, tx.KindGradient, tx.KindAggregate, tx.KindCommit: // these kinds belong to rounds
		default:
			out = append(out, k.String())
		}
	}
	slices.Sort(out)
	return out
}
