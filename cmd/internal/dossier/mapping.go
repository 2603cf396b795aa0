package dossier

import (
	"fmt"
	"slices"
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

// annexIV maps the dossier to Annex IV of the AI Act.
func (w *writer) annexIV() { w.mapping("Points of the AI Act's Annex IV", annexIV) }

// gdpr maps the dossier to Articles 30 and 35 of the GDPR.
func (w *writer) gdpr() { w.mapping("Points of the GDPR's Articles 30 and 35", gdpr) }

func (w *writer) mapping(title string, points []point) {
	w.Section(title, "point", "about", "this dossier supports it by", "state")
	w.Say(manual,
		"The table says what of this dossier supports a point, never that a point is fulfilled: filled has proven "+
			"facts, in part where these answer some of the point; declared has data sheets alone, open has neither.")
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
