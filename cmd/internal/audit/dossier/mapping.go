package dossier

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/cmd/internal/audit"
)

// A point is an item of a regulation's list. Sections names the parts of the page that support it with proofs, or is
// "". They cover only a part of the point, unless it is in whole. Data sheets may also answer it.
type point struct{ key, name, sections string }

var annexIV = []point{
	{"IV 1(a)", "intended purpose, provider, version", "2, 8"},
	{"IV 1(b)", "interaction with other hardware or software", ""},
	{"IV 1(c)", "versions of software and updates", "8"},
	{"IV 1(d)", "forms in which it is placed on the market", ""},
	{"IV 1(e)", "hardware", ""},
	{"IV 1(f)", "photographs or drawings of a product", ""},
	{"IV 1(g)", "user interface", ""},
	{"IV 1(h)", "instructions for use", ""},
	{"IV 2(a)", "methods and steps of the development", "2, 4"},
	{"IV 2(b)", "design, logic, choices, what is optimised", "2, 3, 6"},
	{"IV 2(c)", "system architecture, computational resources", "4, 8"},
	{"IV 2(d)", "data sheets: origin, characteristics, labelling, cleaning", ""},
	{"IV 2(e)", "human oversight measures", ""},
	{"IV 2(f)", "pre-determined changes", "4, 8"},
	{"IV 2(g)", "validation and testing, metrics, test logs", ""},
	{"IV 2(h)", "cybersecurity measures", "3, 5, 6"},
	{"IV 3", "monitoring, functioning and control", "5"},
	{"IV 4", "appropriateness of the performance metrics", ""},
	{"IV 5", "risk management system (Article 9)", ""},
	{"IV 6", "changes through the lifecycle", "2, 4, 8"},
	{"IV 7", "harmonised standards", ""},
	{"IV 8", "EU declaration of conformity", ""},
	{"IV 9", "monitoring after placing on the market", ""},
}

var gdpr = []point{
	{"30(1)(a)", "controller, representative, data protection officer", ""},
	{"30(1)(b)", "purposes of the processing", ""},
	{"30(1)(c)", "categories of data subjects and of data", ""},
	{"30(1)(d)", "categories of recipients", "4"},
	{"30(1)(e)", "transfers to third countries", ""},
	{"30(1)(f)", "time limits for erasure", ""},
	{"30(1)(g)", "technical and organisational security measures", "3, 6"},
	{"35(7)(a)", "systematic description of the processing and its purposes", "2, 3"},
	{"35(7)(b)", "necessity and proportionality", ""},
	{"35(7)(c)", "risks to the rights and freedoms of data subjects", "3, 5"},
	{"35(7)(d)", "measures that address the risks", "3, 5, 6"},
}

// whole lists the points that proven facts cover completely.
var whole = []string{"IV 1(c)", "IV 6"}

// mapping maps the dossier to the points of a law.
func (w *writer) mapping(title string, points []point) {
	w.Section(title, "point", "about", "this dossier supports it by", "state")
	w.Say(manual, "The table says what of this dossier supports a point, never that a point is fulfilled: filled has "+
		"proven facts, in part where these answer some of the point; declared has data sheets alone, open has neither.")
	for _, p := range points {
		state, by, filled := "open", "nothing", "filled in part"
		if slices.Contains(whole, p.key) {
			filled = "filled"
		}
		n := w.answered(p.key)
		switch {
		case p.sections != "" && n > 0:
			state, by = filled+", and declared", fmt.Sprintf("sections %s; data sheets of %d members", p.sections, n)
		case p.sections != "":
			state, by = filled, "sections "+p.sections
		case n > 0:
			state, by = "declared", fmt.Sprintf("data sheets of %d members", n)
		}
		w.Row(manual, p.key, p.name, by, state)
	}
}

// sheets writes the section with the data sheets of the members.
func (w *writer) sheets() {
	w.Section("Data sheets of the members", "participant", "about", "declared")
	given := map[uint32]bool{}
	for _, s := range w.declared.Sheets {
		given[s.Participant] = true
		by := declared(fmt.Sprintf("participant %d, as handed to the author", s.Participant))
		if s.Signed() {
			by = declared(fmt.Sprintf("participant %d, signature verified", s.Participant))
		}
		for _, f := range Fields {
			if s.Answers[f.Key] != "" {
				w.Row(by, w.who(s.Participant), f.Asks, s.Answers[f.Key])
			}
		}
	}
	for _, p := range w.State.Participants {
		if !given[p.Index] {
			w.Say(declared("the author"), "Open: there is no data sheet of %s.", w.who(p.Index))
		}
	}
}

// answered returns the number of members whose data sheet answers a point.
func (w *writer) answered(point string) (n int) {
	for _, s := range w.declared.Sheets {
		for _, f := range Fields {
			if s.Answers[f.Key] != "" && slices.Contains(f.Supports, point) {
				n++
				break
			}
		}
	}
	return n
}

// software writes the section about the versions that executed the chain, and about the hashes of code on the chain.
func (w *writer) software() {
	w.Section("Software")
	v := w.Last().Version
	w.Say(Basis{Kind: Header, Height: w.Height},
		"Version %d of the state machine and version %d of the block protocol made the last block.", v.App, v.Block)
	if len(w.State.Progress.Upgrades) == 0 {
		w.Say(w.state("progress"), "No upgrade was made or is planned.")
	}
	for _, u := range w.State.Progress.Upgrades {
		if h := w.At(u.Height); h != nil {
			w.Say(Basis{Kind: Header, Height: u.Height}, "The upgrade %q brought version %d of the state machine at %s.",
				u.Name, h.Version.App, w.at(u.Height))
			continue
		}
		w.Say(w.state("progress"), "The upgrade %q to version %d of the state machine is planned for height %d.", u.Name,
			u.Version, u.Height)
	}
	for epoch := range w.State.Progress.Epoch + 1 {
		if m := audit.ParamsOf(w.State, epoch).Model; m.Trainer != "" {
			w.Say(w.state("params, epochs"), "In epoch %d workers take training code of hash %s alone.", epoch, m.Trainer)
		}
	}
	w.Say(declared("the author"), "The program %s made this dossier.", w.declared.Program)
}

// commands writes how a reader checks each kind of claim.
func (w *writer) commands() {
	w.Section("Commands that verify", "basis", "command")
	here := fmt.Sprintf("spdl verify dossier FILE --trust-height %d --trust-hash %x", w.Height, []byte(w.Last().Hash()))
	w.Say(manual, "Take the trusted hash from somebody other than the author; that of any height from %d to %d will do.",
		w.First(), w.Height)
	for _, c := range [][2]string{
		{"every sentence, without a node", here},
		{"a value of the state, from a node",
			"spdl query participants --prove; spdl verify participant INDEX --trust-height H --trust-hash X"},
		{"the record of a round, from a node", "spdl verify round EPOCH ROUND --trust-height H --trust-hash X"},
		{"the last model",
			"spdl model export --round " + fmt.Sprint(w.Card.Round) + " --out m.safetensors; spdl verify model " +
				"m.safetensors --trust-height H --trust-hash X"},
		{"operations, their results, and that none is missing",
			"spdl audit archive --out chain.spdl; spdl audit log chain.spdl"},
		{"all of it, by executing the training again", "spdl audit replay chain.spdl --genesis genesis.json"},
	} {
		w.Row(manual, c[0], c[1])
	}
}
