package pages

import (
	"slices"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// governance shows the proposals that wait, the outcomes of earlier ones, and the planned and past upgrades.
func governance(r *Request) Content {
	b := struct {
		chainview.Governance
		Upgrade query.UpgradeState
	}{Governance: r.Governance()}
	var err error
	if b.Upgrade, err = chainview.Try[query.UpgradeState](r.Reader, "/upgrade"); err != nil && !chainview.Missing(err) {
		r.Fail(err)
	}
	for i := range b.Open {
		p := &b.Open[i]
		p.Unknown, p.Silent = Short(p.Unknown, 300), p.Silent[:min(few, len(p.Silent))]
	}
	return Content{"governance", "Governance", b}
}

// offenceLine is an offence that the chain has proven.
type offenceLine struct {
	app.Offence
	Who *app.Participant
	At  time.Time // time of the block that proved it; zero if the node does not have that block
	*chainview.Proof
}

// evidence shows every proven offence, newest first.
func evidence(r *Request) Content {
	offences, people := slices.Clone(r.Offences()), r.Participants()
	b := struct {
		Lines []offenceLine
		Pager pager
	}{}
	slices.Reverse(offences)
	offences, b.Pager = pageOf(r, offences)
	for _, o := range offences {
		b.Lines = append(b.Lines, offenceLine{o, whoOf(people, &o.Participant), r.TimeAt(o.Height), r.Proof(o)})
	}
	return Content{"evidence", "Evidence", b}
}
