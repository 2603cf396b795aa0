// Package sheet reads data sheets. In a data sheet a member declares facts about its data and its
// training that no chain can prove.
package sheet

// Field is a question of a data sheet.
type Field struct {
	Key      string   // in the file
	Asks     string   // what the member answers
	Supports []string // points of the mapping tables
}

// Fields are the questions, in the order of the template and of the page.
var Fields = []Field{
	{"controller", "who is responsible for the data: name, address, representative", []string{"30(1)(a)"}},
	{"contact", "whom to ask, and the data protection officer", []string{"30(1)(a)"}},
	{"intended_purpose", "what the trained model is for, and for whom", []string{"IV 1(a)", "30(1)(b)", "35(7)(a)"}},
	{"users", "who uses the model, on which hardware, with which interface", []string{"IV 1(e)", "IV 1(g)", "IV 1(h)"}},
	{"interaction", "other systems, hardware or software that the model works with", []string{"IV 1(b)", "IV 1(d)"}},
	{"legal_basis", "the legal basis of the processing", []string{"35(7)(a)"}},
	{"necessity", "why the processing is necessary and proportionate", []string{"35(7)(b)"}},
	{"subjects", "whose data they are: categories of persons", []string{"30(1)(c)", "IV 2(d)"}},
	{"data_categories", "which data: columns or images, special categories", []string{"30(1)(c)", "IV 2(d)"}},
	{"origin", "where the data come from, how and when they were collected and labelled", []string{"IV 2(d)"}},
	{"amount", "how many examples and persons, from when to when", []string{"IV 2(d)"}},
	{"preparation", "cleaning, missing values, outliers, duplicates", []string{"IV 2(d)"}},
	{"known_bias", "groups that are rare or missing, known errors", []string{"IV 2(d)", "IV 3"}},
	{"recipients", "the recipients of data or results", []string{"30(1)(d)"}},
	{"transfers", "transfers to third countries, and their safeguards", []string{"30(1)(e)"}},
	{"retention", "when which data are erased", []string{"30(1)(f)"}},
	{"security", "technical and organisational measures on this member's hosts",
		[]string{"30(1)(g)", "35(7)(d)", "IV 2(h)"}},
	{"side_channels", "what else leaves the hosts: logs, timing, access of staff", []string{"35(7)(d)"}},
	{"risks", "risks to the rights of the persons, as assessed", []string{"35(7)(c)", "IV 3", "IV 5"}},
	{"oversight", "who watches the model's use, and can stop it", []string{"IV 2(e)", "IV 3"}},
	{"performance", "metrics, why they are appropriate, and measured results", []string{"IV 2(g)", "IV 3", "IV 4"}},
	{"standards", "harmonised standards or other specifications applied", []string{"IV 7"}},
	{"conformity", "the EU declaration of conformity", []string{"IV 8"}},
	{"monitoring", "the plan for the time after release", []string{"IV 9"}},
	{"software", "program, libraries, operating system and hardware of this member", []string{"IV 1(c)", "IV 1(e)"}},
}
