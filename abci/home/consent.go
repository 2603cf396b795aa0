package home

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/consent"
	"github.com/spdl/spdl/app/worker/trainer/sandbox"
)

// These are the values of worker.consent.
const (
	ConsentOff = "off" // the worker trains in every epoch whose parameters the home's policy allows
	ConsentAsk = "ask" // the policy must allow an epoch, and spdl consent must have agreed to it
)

// These are the values of query.Home.Consent.
const (
	ConsentAwaited  = string(consent.Awaited)
	ConsentGiven    = string(consent.Consented)
	ConsentRejected = string(consent.Rejected)
)

// SignerAnswers is the value of query.Home.ValidatorSigner while the signer is connected.
const SignerAnswers = query.SignerAnswers

// ConsentLog returns the log of a home's decisions on epochs. Its file is in config/, so that a
// reset keeps it and a backup contains it.
func ConsentLog(c *config.Config) *consent.Log { return consent.Open(consentFile(c)) }

func consentFile(c *config.Config) string { return filepath.Join(c.RootDir, "config", "consent.jsonl") }

// DecisionOn returns a participant's decision on an epoch, as consent.DecisionOf does.
func DecisionOn(log *consent.Log, chainID string, epoch uint64, p params.Params,
	who app.Participant) (consent.Decision, error) {
	about, err := consent.SubjectOf(chainID, epoch, p)
	if err != nil {
		return consent.Awaited, err
	}
	all, err := log.Records()
	if err != nil {
		return consent.Awaited, err
	}
	d, _ := consent.DecisionOf(all, about, who)
	return d, nil
}

// consentOf returns the function for worker.Config.Consent, which asks the home's log for the
// decision on an epoch. It returns nil if worker.consent is "off".
func consentOf(c *config.Config, w WorkerConfig) func(worker.Task) error {
	if w.Consent != ConsentAsk {
		return nil
	}
	log := ConsentLog(c)
	return func(t worker.Task) error {
		d, err := DecisionOn(log, t.ChainID, t.Epoch, t.Params, t.Participant)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", worker.ErrConsent, err)
		case d == consent.Rejected:
			return fmt.Errorf("%w: this home has rejected epoch %d and is absent from it; spdl consent %d consents after all",
				worker.ErrConsent, t.Epoch, t.Epoch)
		case d != consent.Consented:
			return fmt.Errorf("%w: epoch %d awaits that of this home, which is absent until then: spdl consent shows what "+
				"it is about, spdl consent %d consents, with --reject it is a veto", worker.ErrConsent, t.Epoch, t.Epoch)
		}
		return nil
	}
}

// NodeState holds functions that return the state of a node's validator and worker.
type NodeState struct {
	SignerAway      func() bool         // whether the signer at priv_validator_laddr is not connected
	BlocksSinceVote func() int64        // the value of query.Home.BlocksSinceVote
	SignsNothing    func() bool         // whether the validator waits for the end of the home's SignPause
	WorkerStopped   func() bool         // whether the worker has stopped and the validator continues
	WorkerStep      func() *worker.Step // nil before the first
}

// Declaration makes, from a state, the node's declaration about its own home.
type Declaration func(*app.State) query.Home

// Declare calls d.
func (d Declaration) Declare(s *app.State) query.Home { return d(s) }

// DeclarationOf returns the declaration of a home's node.
func DeclarationOf(c *config.Config, a AppConfig, p Participant, v NodeState) Declaration {
	contained, decided := "", decision(ConsentLog(c), a, p)
	switch {
	case !a.Worker.Enabled || len(a.Worker.Trainer) == 0:
	case a.Worker.sandboxSettings().Off:
		contained = query.TrainerFree
	default:
		contained = query.TrainerContained
	}
	return func(s *app.State) query.Home {
		h := query.Home{Trainer: contained, Consent: decided(s), BlocksSinceVote: v.BlocksSinceVote()}
		if p.Signer != nil && a.Worker.Enabled {
			h.Signer = signerState(p.Signer.Away() != "")
		}
		if c.PrivValidatorListenAddr != "" && !a.IsRelay() {
			h.ValidatorSigner = signerState(v.SignerAway())
		}
		if v.SignsNothing() {
			h.Validator = query.ValidatorPaused
		}
		if own := s.HolderOf(p.Signing); own != nil {
			h.Convicted = app.Conviction(s.Offences, own)
			if end, rests := s.RestEnds(own.Index); rests && own.Active && !s.Finished() {
				h.Resting = true
				if end < s.Params.Training.Rounds {
					h.RestEnds = &end
				}
			}
		}
		slow, step := false, cmp.Or(v.WorkerStep(), new(worker.Step))
		h.Step, slow = step.Text(a.Proposal.Wait.Duration)
		switch {
		case v.WorkerStopped():
			h.Worker, h.Step = query.WorkerStopped, ""
		case step.Fails:
			h.Worker = query.WorkerFails
		case slow:
			h.Worker = query.WorkerSlow
		}
		return h
	}
}

func signerState(away bool) string {
	if away {
		return query.SignerAway
	}
	return query.SignerAnswers
}

// decision returns a function that looks up the home's decision on the running epoch of a state. The decision is "" if
// worker.consent is "off", or the epoch is over.
func decision(log *consent.Log, a AppConfig, p Participant) func(*app.State) string {
	if !a.Worker.Enabled || a.Worker.Consent != ConsentAsk {
		return func(*app.State) string { return "" }
	}
	return func(s *app.State) string {
		who, known := s.Find(p.Signing)
		switch {
		case s.Finished():
			return ""
		case !known:
			return ConsentAwaited
		}
		d, err := DecisionOn(log, s.ChainID, s.Progress.Epoch, s.Params, who)
		if err != nil {
			return err.Error()
		}
		return string(d)
	}
}

// Containment describes the mechanisms that contain a trainer on this system. It returns an error,
// with the reason, if this system cannot contain a trainer.
func Containment() (means string, err error) {
	means, _ = sandbox.Describe()
	return means, sandbox.Supported()
}

// Participants returns a home's participant, or all participants of a worker group.
func Participants(ctx context.Context, c *config.Config, a AppConfig, s *Keystore) ([]Participant, error) {
	if !IsWorkerGroup(c, a) {
		p, err := OpenParticipant(ctx, c, a, s)
		return []Participant{p}, err
	}
	files, err := filepath.Glob(filepath.Join(InHome(c, a.Worker.KeyFile), "*.json"))
	if err != nil {
		return nil, err
	}
	all := make([]Participant, len(files))
	for i, file := range files {
		keys, err := s.LoadKeys(file)
		if err != nil {
			return nil, err
		}
		all[i] = ParticipantWith(keys)
	}
	return all, nil
}
