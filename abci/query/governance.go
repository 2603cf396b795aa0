package query

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Leader is the answer to /leader. It lists, by view, the participants that may close the open
// round at the next height.
type Leader struct {
	Epoch      uint64   `json:"epoch"`
	Round      uint64   `json:"round"`
	Height     uint64   `json:"height"` // the next height, to which View and Leaders refer
	Opened     uint64   `json:"opened"`
	View       uint64   `json:"view"`      // the highest open view at the next height, at most len(ranking)+1
	Leaders    []uint32 `json:"leaders"`   // the ranked participants that may lead at that height, by view
	Everybody  bool     `json:"everybody"` // whether every participant with a reputation may lead at that height
	Anybody    bool     `json:"anybody"`   // whether every active participant may lead at that height
	Ranking    []uint32 `json:"ranking"`
	ViewBlocks uint64   `json:"view_blocks"`
}

func queryLeader(_ *Queries, s *app.State, _ string) (any, error) {
	if s.Finished() {
		return nil, fmt.Errorf("%w: %d of %d rounds are closed", app.ErrFinished, s.Progress.Round, s.Params.Training.Rounds)
	}
	l := Leader{
		Epoch: s.Progress.Epoch, Round: s.Progress.Round, Height: s.Height + 1, Opened: s.Progress.Opened,
		Ranking: nonNil(s.Progress.Ranking), ViewBlocks: s.Params.Election.ViewBlocks, Leaders: []uint32{},
	}
	ranks := uint64(len(l.Ranking))
	l.View = min(s.OpenView(l.Height), ranks+1)
	for _, index := range l.Ranking[:min(l.View+1, ranks)] {
		if s.Participants[index].Reputation > 0 { // evidence may have set the reputation to 0 since the ranking
			l.Leaders = append(l.Leaders, index)
		}
	}
	reputed := func(p app.Participant) bool { return p.Active && p.Reputation > 0 }
	l.Anybody = l.View > ranks || !slices.ContainsFunc(s.Participants, reputed)
	l.Everybody = l.View >= ranks || l.Anybody
	return l, nil
}

// Election is the answer to /election/{t}: the VRF outputs that the gradients of a closed round proved, largest first.
type Election struct {
	Epoch   uint64   `json:"epoch"`
	Round   uint64   `json:"round"`
	Seed    string   `json:"seed"` // the seed in the input of the VRF
	Outputs []Output `json:"outputs"`
	Ranking []uint32 `json:"ranking"` // the ranking while the round was open
	Leader  uint32   `json:"leader"`  // the participant that closed the round
	View    uint32   `json:"view"`
}

// Output is the VRF output of one participant in a closed round.
type Output struct {
	Participant uint32 `json:"participant"`
	Output      string `json:"output"`     // 64 bytes in hexadecimal
	Reputation  int64  `json:"reputation"` // after the round, in parts per million; a participant with 0 gets no rank
}

func (q *Queries) election(s *app.State, epoch, t uint64) (e Election, err error) {
	r, err := q.record(s, epoch, t)
	if err != nil {
		return e, err
	}
	e = Election{
		Epoch: epoch, Round: t, Seed: hex.EncodeToString(r.Seed), Ranking: nonNil(r.Ranking), Leader: r.Leader, View: r.View,
		Outputs: []Output{},
	}
	byOutput := slices.Clone(r.Contributions)
	slices.SortStableFunc(byOutput, func(a, b app.Contribution) int { return bytes.Compare(b.VrfOutput, a.VrfOutput) })
	for _, c := range byOutput {
		e.Outputs = append(e.Outputs, Output{c.Participant, hex.EncodeToString(c.VrfOutput), c.Reputation})
	}
	return e, nil
}

// Standing is the entry of one active participant in the answer to /reputation.
type Standing struct {
	Participant    uint32 `json:"participant"`
	Moniker        string `json:"moniker"`
	Reputation     int64  `json:"reputation"` // in parts per million
	MayLead        bool   `json:"may_lead"`
	Participations uint64 `json:"participations"`
	Offences       int    `json:"offences"`
	PassedOver     uint32 `json:"passed_over"` // missed turns as leader minus rounds closed as leader, 0 to 10
}

func queryReputation(_ *Queries, s *app.State, _ string) (any, error) {
	out := []Standing{}
	for _, p := range s.Participants {
		if !p.Active {
			continue
		}
		st := Standing{Participant: p.Index, Moniker: p.Moniker, Reputation: p.Reputation, MayLead: p.Reputation > 0,
			Participations: p.Participations, PassedOver: p.PassedOver}
		for _, o := range s.Offences {
			if o.Participant == p.Index {
				st.Offences++
			}
		}
		out = append(out, st)
	}
	return out, nil
}

// Membership is the answer to /membership.
type Membership struct {
	Participants int        `json:"participants"` // the number of active participants, N
	Byzantine    int        `json:"byzantine"`    // the number of Byzantine participants that the rule withstands now, f
	Validators   int        `json:"validators"`   // the number of participants with a validator
	Threshold    int        `json:"threshold"`    // the number of approvals that a proposal needs
	Members      []Member   `json:"members"`
	Proposals    []Proposal `json:"proposals"`
}

// Member is a registered participant.
type Member struct {
	Index     uint32 `json:"index"`
	ID        string `json:"id"`
	Moniker   string `json:"moniker"`
	Address   string `json:"address,omitempty"`
	Active    bool   `json:"active"`
	Validator bool   `json:"validator"`
	Joined    uint64 `json:"joined"`
}

// Proposal is a governance proposal that is not enacted yet.
type Proposal struct {
	ID        string   `json:"id"`
	Kind      string   `json:"kind"`
	Height    uint64   `json:"height"`
	Approvals []uint32 `json:"approvals"`
	Accepted  bool     `json:"accepted"` // whether it has enough approvals; it is then enacted at the next round boundary
	Expires   uint64   `json:"expires"`  // the height at which the proposal is discarded; 0 if it is accepted
	About     string   `json:"about"`
	Content   []byte   `json:"content"` // the content of the proposal's transaction; ID is a hash of kind and content
}

func queryMembership(_ *Queries, s *app.State, _ string) (any, error) {
	m := Membership{Participants: s.Active(), Byzantine: s.F(), Threshold: s.Threshold(), Members: []Member{},
		Proposals: []Proposal{}}
	for _, p := range s.Participants {
		validator := p.Active && len(p.ConsensusKey) > 0
		if validator {
			m.Validators++
		}
		m.Members = append(m.Members, Member{
			Index: p.Index, ID: hex.EncodeToString(p.Id), Moniker: p.Moniker, Address: p.Address, Active: p.Active,
			Validator: validator, Joined: p.Joined,
		})
	}
	for i := range s.Proposals {
		p := &s.Proposals[i]
		about, err := p.About()
		if err != nil {
			return nil, err
		}
		expires := p.Expires()
		if p.Accepted {
			expires = 0
		}
		m.Proposals = append(m.Proposals, Proposal{
			ID: hex.EncodeToString(p.Id), Kind: tx.Kind(p.Kind).String(), Height: p.Height, Approvals: nonNil(p.Approvals),
			Accepted: p.Accepted, Expires: expires, About: about, Content: p.Content,
		})
	}
	return m, nil
}

// EpochState is one epoch in the answer to /epochs. The running epoch is the last entry.
type EpochState struct {
	Epoch     uint64 `json:"epoch"`
	Running   bool   `json:"running"`
	Finished  bool   `json:"finished"` // no further round closes
	Rounds    uint64 `json:"rounds"`   // the number of closed rounds
	Planned   uint64 `json:"planned"`
	Opened    uint64 `json:"opened"` // the first height of the epoch
	Closed    uint64 `json:"closed"` // the last height of the epoch; 0 for the running epoch
	Preset    string `json:"preset,omitempty"`
	Rule      string `json:"rule"`
	Dim       int    `json:"dim"`
	ModelHash string `json:"model_hash"`
}

func queryEpochs(_ *Queries, s *app.State, _ string) (any, error) {
	out := []EpochState{}
	for _, e := range s.Epochs {
		out = append(out, EpochState{
			Epoch: e.Epoch, Finished: true, Rounds: e.Rounds, Planned: e.Params.Training.Rounds, Opened: e.Opened,
			Closed: e.Closed,
			Preset: e.Params.Preset, Rule: e.Params.Rule.Name, Dim: e.Params.Model.Dim(),
			ModelHash: hex.EncodeToString(e.ModelHash),
		})
	}
	hash := app.ModelHash(s.Model)
	return append(out, EpochState{
		Epoch: s.Progress.Epoch, Running: true, Finished: s.Finished(), Rounds: s.Progress.Round,
		Planned: s.Params.Training.Rounds, Opened: s.Progress.Began,
		Preset: s.Params.Preset, Rule: s.Params.Rule.Name, Dim: len(s.Model), ModelHash: hex.EncodeToString(hash[:]),
	}), nil
}

// UpgradeState is the answer to /upgrade.
type UpgradeState struct {
	Version uint64        `json:"version"` // the state machine's version at the next height
	Height  uint64        `json:"height"`  // the last committed height
	Planned *app.Upgrade  `json:"planned"` // null if no upgrade is planned
	Made    []app.Upgrade `json:"made"`    // the past upgrades, by height
}

func (q *Queries) queryUpgrade(s *app.State, _ string) (any, error) {
	u := UpgradeState{Version: s.VersionAt(s.Height+1, q.Version), Height: s.Height, Made: nonNil(s.Progress.Upgrades)}
	if plan, ok := s.Plan(); ok {
		u.Planned, u.Made = &plan, u.Made[:len(u.Made)-1]
	}
	return u, nil
}

// Body returns the decoded content of a proposal. It fails if the proposal's id is not the hash of
// the kind and the content.
func (p Proposal) Body() (tx.Body, error) {
	kinds := tx.Kinds()
	i := slices.IndexFunc(kinds, func(k tx.Kind) bool { return k.String() == p.Kind })
	if i < 0 {
		return nil, fmt.Errorf("proposal %q of kind %q: %w", p.ID, p.Kind, tx.ErrUnknownKind)
	}
	kind := kinds[i]
	if got := tx.IDOf(kind, p.Content); hex.EncodeToString(got[:]) != p.ID {
		return nil, fmt.Errorf("proposal %q: the node's answer holds %d bytes of content with the id %x", p.ID,
			len(p.Content), got)
	}
	return tx.DecodeBody(kind, p.Content)
}
