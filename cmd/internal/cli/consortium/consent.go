package consortium

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker/consent"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

type options struct {
	node, params string
	reject       bool
}

// Consent returns the command.
func Consent() *cobra.Command {
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "consent [EPOCH]",
		Short: "Agree to an epoch that trains on this home's data",
		Long: `Agree to an epoch that trains on this home's data, or reject it. The record is signed with the participant's
key, is about the chain, the epoch and the hash of its parameters alone, and stays in config/consent.jsonl.
The last one counts: --reject also withdraws, and the worker then signs no more gradients. The participant
stays a member: it is absent, as a host that is down, while its node votes. With worker.consent = "ask" the
worker waits for consent, at epoch 0 too.

Without EPOCH it lists the running epoch and those that are proposed, with what the home has decided. A
proposed epoch can be decided before it opens. Without a node it knows epoch 0 of config/genesis.json.`,
		Example: "  spdl config set worker.consent ask\n  spdl consent\n  spdl consent 1\n  spdl consent 1 --reject",
		Args:    cobra.MaximumNArgs(1),
	}, o.run)
	command.NodeFlag(cmd, &o.node)
	command.Flag(cmd, &o.reject, "reject", false, "reject the epoch, or withdraw an earlier consent")
	command.Flag(cmd, &o.params, "params-hash", "", "hash of the parameters that are meant, or its beginning, where two "+
		"proposals of the epoch wait")
	return command.PassphraseFlag(cmd)
}

func (o *options) run(r *command.Run, args []string) error {
	if len(args) == 0 && (o.reject || o.params != "") {
		return command.Usage(errors.New("--reject and --params-hash need EPOCH"))
	}
	c, a, err := r.LoadHome()
	if err != nil {
		return err
	}
	all, err := o.offers(r, c)
	if err != nil {
		return err
	}
	log := home.ConsentLog(c)
	undecided := consent.Awaited
	if a.Worker.Consent != home.ConsentAsk {
		undecided = notAsked
	}
	if err := judge(all, log, undecided); err != nil {
		return err
	}
	if undecided == notAsked {
		r.Warn(`worker.consent is "off": this home trains in every epoch without asking (spdl config set worker.consent ask)`)
	}
	if len(args) == 0 {
		return r.Show(all, func(w io.Writer) { list(w, all) })
	}
	offer, err := choose(all, args[0], o.params)
	if err != nil {
		return err
	}
	deciding, err := home.Participants(r.Context, c, a, r.Keystore())
	if err != nil {
		return err
	}
	if err := o.decide(r.Context, &offer, deciding, log); err != nil {
		return err
	}
	return r.Show(offer, func(w io.Writer) {
		list(w, []offered{offer})
		verb := map[bool]string{true: "rejected", false: "consented to"}[offer.Decision == consent.Rejected]
		fmt.Fprintf(w, "\n%s epoch %d of chain %s with these parameters: %s\n", verb, offer.Epoch, offer.ChainID,
			offer.Params)
	})
}

// decide signs the decision on an offer with each of the home's participants, and adds the records to the log.
func (o *options) decide(ctx context.Context, offer *offered, deciding []home.Participant, log *consent.Log) error {
	decision := consent.Consented
	if o.reject {
		decision = consent.Rejected
	}
	var records []consent.Record
	for _, p := range deciding {
		record, err := p.Consent(ctx, offer.Subject, decision)
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	offer.Decision, offer.Decided = decision, &records[0].Time
	return log.Add(records...)
}

// notAsked is the decision about an epoch that trains without one, because worker.consent is off.
const notAsked consent.Decision = "not asked"

// judge sets the home's decision on each offer: that of the last record by any of its participants,
// or undecided if there is none.
func judge(all []offered, log *consent.Log, undecided consent.Decision) error {
	records, err := log.Records()
	if err != nil {
		return err
	}
	for i := range all {
		all[i].Decision = undecided
		for _, r := range records {
			if r.Subject == all[i].Subject {
				all[i].Decision, all[i].Decided = r.Decision, &r.Time
			}
		}
	}
	return nil
}

// choose returns the offer for an epoch whose parameters' hash begins with a prefix.
func choose(all []offered, epoch, prefix string) (offered, error) {
	n, err := strconv.ParseUint(epoch, 10, 64)
	if err != nil {
		return offered{}, command.Usage(fmt.Errorf("epoch %q is no number", epoch))
	}
	found := slices.DeleteFunc(slices.Clone(all), func(f offered) bool {
		return f.Epoch != n || !strings.HasPrefix(f.Params, prefix)
	})
	switch len(found) {
	case 0:
		if len(all) == 1 && all[0].State == stateBegins {
			return offered{}, fmt.Errorf("%w: without it only epoch 0 of config/genesis.json is known, and asked is epoch %d "+
				"with parameters %q", client.ErrUnreachable, n, prefix)
		}
		asked := fmt.Sprintf("epoch %d", n)
		if prefix != "" {
			asked += fmt.Sprintf(" with parameters %q", prefix)
		}
		return offered{}, fmt.Errorf("%s neither runs nor is proposed: spdl consent lists what is", asked)
	case 1:
		return found[0], nil
	}
	return offered{}, command.Usage(fmt.Errorf("%d proposals of epoch %d differ in their parameters: name one, "+
		"as --params %.8s", len(found), n, found[0].Params))
}

// list prints the epochs that wait for a decision.
func list(w io.Writer, all []offered) {
	const heading = "EPOCH\tIT\tCONSENT\tROUNDS\tEPSILON\tNOISE\tUNIT\tRULE\tTRAINER\tPARAMETERS"
	command.Table(w, heading, all, func(f offered) string {
		decided := string(f.Decision)
		if f.Decided != nil {
			decided += " " + f.Decided.Format(time.DateTime) + " UTC"
		}
		trainer := fmt.Sprintf("%.12s", command.Plain(f.Trainer))
		trainer = cmp.Or(trainer, "any")
		if !f.External {
			trainer = "built in"
		}
		return fmt.Sprintf("%d\t%s\t%s\t%d\t%g\t%g\t%.40s\t%s\t%s\t%.12s", f.Epoch, f.State, decided, f.Rounds,
			f.Epsilon, f.Noise, command.Plain(f.Unit), command.Plain(f.Rule), trainer, f.Params)
	})
}
