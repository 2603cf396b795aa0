package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	appmodel "github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/prove"
	"github.com/spdl/spdl/cmd/internal/gain"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/folds"
)

// hospitals writes the rows of three hospitals, of which one has other patients: an id, a missing number and a
// category, separated by semicolons, with commas as points.
func hospitals(t *testing.T, rows int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(9, 9))
	var text strings.Builder
	text.WriteString("id;hospital;age;crp;smoker;outcome\n")
	for i := range rows {
		age, crp, smoker := 40+12*random.NormFloat64(), math.Exp(random.NormFloat64()), random.IntN(2)
		sick := 0.08*(age-40) + crp/2 + float64(smoker) - 2.5 + []float64{0, 0, 1.5}[i%3]
		outcome := "alive"
		if random.Float64() < 1/(1+math.Exp(-sick)) {
			outcome = "dead"
		}
		line := fmt.Sprintf("p%04d;%s;%.0f;%.2f;%s;%s\n", i, []string{"north", "south", "east"}[i%3], age, crp,
			[]string{"no", "yes"}[smoker], outcome)
		if i%10 == 0 {
			line = strings.Replace(line, fmt.Sprintf("%.2f", crp), "NA", 1)
		}
		text.WriteString(strings.ReplaceAll(line, ".", ","))
	}
	path := filepath.Join(t.TempDir(), "hospitals.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

// TestSchemaDraftAndCheck: an error about a raw file names the command that drafts its schema; the draft marks
// what becomes public; check says how a file fits, and ends with 1 if it does not, or if schemas differ.
func TestSchemaDraftAndCheck(t *testing.T) {
	file, dir := hospitals(t, 300), t.TempDir()
	drafted := filepath.Join(dir, "schema.json")
	_, stderr, code := spdl(t, "plan", "--data", file, "--label", "outcome")
	require.Equal(t, command.WrongUse, code)
	for _, column := range []string{"id", "hospital", "crp", "smoker"} {
		require.Contains(t, stderr, fmt.Sprintf("column %q: no finite number", column))
	}
	require.Contains(t, stderr, fmt.Sprintf("`spdl schema draft %q --label \"outcome\"`", file))

	stdout, stderr, code := spdl(t, "schema", "draft", file, "--label", "outcome", "--out", drafted)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "BECOMES PUBLIC: LOOK AT THESE")
	require.Regexp(t, `id +left out +0 % +0 % +an id, by its name`, stdout)
	require.Regexp(t, `hospital +category +0 % +100 % +east 0.3, north 0.35, south 0.35`, stdout)
	require.Regexp(t, `crp +number +10 % +8[0-9.]+ % +some values are beyond the bounds`, stdout)
	content, err := os.ReadFile(drafted)
	require.NoError(t, err)
	piped, stderr, code := spdl(t, "schema", "draft", file, "--label", "outcome")
	require.Zero(t, code)
	require.Equal(t, string(content), piped, "without --out the schema alone is on standard output")
	require.Contains(t, stderr, "LOOK AT THESE")
	stdout, _, code = spdl(t, "schema", "draft", file, "--label", "outcome", "-o", "json")
	require.Zero(t, code)
	var d table.Draft
	require.NoError(t, json.Unmarshal([]byte(stdout), &d))
	require.Equal(t, 300, d.Rows)
	second := filepath.Join(dir, "second.csv")
	require.NoError(t, os.WriteFile(second, []byte("age;smoker;outcome\n30;no;alive\n40;yes;ALIVE\n50;no;alive\n"), 0o600))
	stdout, stderr, code = spdl(t, "schema", "draft", file, second, "--label", "outcome", "-o", "json")
	require.Zero(t, code, stderr)
	require.NoError(t, json.Unmarshal([]byte(stdout), &d))
	require.Equal(t, []any{303, 1.}, []any{d.Rows, d.Columns[3].Covered}, "of age")
	require.Contains(t, d.Notes, second+` has no row with the label "dead": do all files write labels alike?`)
	_, stderr, code = spdl(t, "schema", "draft", file, "--label", "outcome", "--out", drafted)
	require.Equal(t, command.Failure, code, "a schema is not overwritten: %s", stderr)

	_, stderr, code = spdl(t, "plan", "--schema", drafted, "--examples", "100")
	require.Zero(t, code, stderr)
	stdout, stderr, code = spdl(t, "schema", "check", drafted, file, drafted)
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?s)300 rows, 300 units; alive [0-9.]+ %.*crp +hospitals.csv +[0-9.]+ +10 % `, stdout)
	require.NotContains(t, stdout, "fault")
	bad := filepath.Join(dir, "bad.csv")
	require.NoError(t, os.WriteFile(bad, []byte("hospital,age,crp,smoker,outcome\nwest,,200,no,gone\n"), 0o600))
	other := filepath.Join(dir, "other.json")
	require.NoError(t, os.WriteFile(other, []byte(strings.Replace(string(content), `"rate":0.`, `"rate":0.9`, 1)), 0o600))
	stdout, stderr, code = spdl(t, "schema", "check", drafted, bad, other)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "3 faults: correct the files")
	require.Contains(t, stderr, "2 differences between schemas, want none: members agree on one file")
	require.Contains(t, stdout, `column "age": the value is missing`)
	require.Contains(t, stdout, "the label is none of alive, dead")
	require.Regexp(t, `hospital +bad.csv +- +0 % +0 % +100 % +east, north, south`, stdout)
	require.Regexp(t, `differs: - "rate":0.45}\ndiffers: \+ "rate":0.945`, stdout)
}

// TestUnknownTexts: check fails, and join warns, where most texts of a column are none of the schema's; 3.0 is 3. A
// difference between schemas says what to do, and has a < as it is.
func TestUnknownTexts(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const schema = `{"label":"y","classes":["0","1"],"columns":[{"name":"a","values":["2","3"],"others":true}]}`
	ours := write("ours.json", schema)
	theirs := write("theirs.json", strings.Replace(schema, `"3"`, `"<=20"`, 1))
	folder := filepath.Join(dir, "ours")
	_, stderr, code := spdl(t, "consortium", "new", folder, "--chain-id", "ours", "--members", "a,b", "--schema", ours,
		"--examples", "2000")
	require.Zero(t, code, stderr)
	for i, c := range []struct {
		texts [2]string
		dead  bool
	}{{[2]string{"2.0", "3.0"}, false}, {[2]string{"no", "yes"}, true}} {
		text := "id,a,y\n"
		for row := range 2000 {
			text += fmt.Sprintf("%d,%s,%d\n", row, c.texts[row%2], row/2%2)
		}
		rows, home := write("rows.csv", text), filepath.Join(dir, fmt.Sprint("home", i))
		stdout, stderr, code := spdl(t, "schema", "check", ours, rows)
		require.Equal(t, c.dead, code == command.Failure, stderr)
		require.Equal(t, c.dead, strings.Contains(stdout,
			`column "a": 100 % of its texts are none of ["2" "3"], want at most half`))
		_, stderr, code = spdl(t, "consortium", "join", folder, "--name", []string{"a", "b"}[i], "--home", home, "--address",
			fmt.Sprintf("127.0.0.%d:27656", i+1), "--data", rows)
		require.Zero(t, code, stderr)
		require.Equal(t, c.dead, strings.Contains(stderr, `warning: --data `+rows+`: column "a": 100 % of its texts`), stderr)
	}
	stdout, stderr, code := spdl(t, "schema", "check", ours, theirs)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "`spdl schema merge` makes one of theirs")
	require.Contains(t, stdout, `"values":["2","<=20"]`)
	require.Contains(t, stderr, "2 differences between schemas, want none: members agree on one file")
	require.NotContains(t, stderr, "faults")
}

// TestSchemaMerge: of schemas one is made with the categories of all and the widest bounds; what is typical is the
// median, or by rows the mean where all say their rows. All contradictions are in one error, and --without is a remedy.
func TestSchemaMerge(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	schemas := []string{
		`{"label":"y","classes":["0","1"],"rate":0.2,"columns":[{"name":"age","low":20,"high":80,"typical":40},
		 {"name":"ward","values":["b","a"],"others":true,"shares":[0.5,0.5]},
		 {"name":"s","values":["0","1"],"shares":[0.5,0.5]}]}`,
		`{"label":"y","classes":["1","0"],"rate":0.6,"columns":[{"name":"s","values":["0","1"],"others":true},
		 {"name":"age","low":30,"high":95,"typical":70,"missing":{"fill":60,"indicator":true,"share":0.2}},
		 {"name":"ward","values":["a","c"],"shares":[0.3,0.7]}]}`,
		`{"label":"y","classes":["0","1"],"rate":0.3,"columns":[{"name":"age","low":25,"high":90,"typical":44},
		 {"name":"ward","values":["a","b"]},{"name":"s","low":0,"high":3,"typical":1}]}`,
	}
	var plain, drafts []string
	for i, text := range schemas {
		plain = append(plain, write(fmt.Sprintf("p%d.json", i), text))
		drafts = append(drafts, write(fmt.Sprintf("d%d.json", i), fmt.Sprintf(`{"rows":%d,"schema":%s}`,
			[]int{100, 100, 200}[i], text)))
	}
	merged := func(args ...string) (d table.Draft) {
		stdout, stderr, code := spdl(t, append([]string{"schema", "merge", "-o", "json"}, args...)...)
		require.Zero(t, code, stderr)
		require.NoError(t, json.Unmarshal([]byte(stdout), &d))
		return d
	}
	d := merged(plain...)
	age, ward, s := d.Schema.Columns[0], d.Schema.Columns[1], d.Schema.Columns[2]
	require.Equal(t, []any{20., 95., 44., 60., true, 0.}, []any{age.Low, age.High, *age.Typical, age.Missing.Fill,
		age.Missing.Indicator, age.Missing.Share})
	require.Equal(t, []string{"b", "a", "c"}, ward.Values)
	require.InDeltaSlice(t, []float64{1. / 3, 1.3 / 3, 0.7 / 3}, ward.Shares, 1e-3)
	require.True(t, ward.Others)
	require.Equal(t, []any{0., 3., 1., 1.}, []any{s.Low, s.High, *s.Typical, s.Missing.Fill}, "the categories 0 and 1")
	require.Equal(t, []any{0.3, 0}, []any{d.Schema.Rate, d.Rows}, "0.6 of the other class is 0.4")
	require.Contains(t, strings.Join(d.Notes, "\n"), "are medians")

	d = merged(drafts...)
	age = d.Schema.Columns[0]
	require.Equal(t, []any{49.5, 0.05, 0.3, 400}, []any{*age.Typical, age.Missing.Share, d.Schema.Rate, d.Rows})
	require.InDeltaSlice(t, []float64{0.375, 0.45, 0.175}, d.Schema.Columns[1].Shares, 1e-3)
	out := filepath.Join(dir, "one.json")
	stdout, stderr, code := spdl(t, append([]string{"schema", "merge", "--out", out}, drafts...)...)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "400 rows")
	require.Contains(t, stdout, "are means by rows")
	_, stderr, code = spdl(t, "plan", "--schema", out, "--examples", "100")
	require.Zero(t, code, stderr)

	bad := write("bad.json", `{"label":"z","classes":["0","2"],"columns":[{"name":"age","values":["old","young"]},
		{"name":"ward","values":["a","c"]},{"name":"new","low":0,"high":1}]}`)
	_, stderr, code = spdl(t, "schema", "merge", plain[0], bad)
	require.Equal(t, command.Failure, code)
	for _, want := range []string{plain[0] + ` has label "y", group "", classes ["0" "1"], weights []; ` + bad +
		` has label "z", group "", classes ["0" "2"]`,
		`column "age", categories in ` + bad + `, numbers in ` + plain[0],
		`column "s", categories in ` + plain[0] + `, no column in ` + bad,
		`column "new", no column in ` + plain[0] + `, numbers in ` + bad, "leave columns out by --without age,s,"} {
		require.Contains(t, stderr, want)
	}
	two := write("two.json", strings.Replace(schemas[2], `{"name":"s","low":0,"high":3,"typical":1}`,
		`{"name":"new","low":0,"high":1}`, 1))
	d = merged(plain[0], two, "--without", "s,new")
	require.Len(t, d.Schema.Columns, 2)
	for i, empty := range []string{`{"label":"y"}`, `{"label":"y","classes":["0","1"]}`} {
		path := write(fmt.Sprint("empty", i), `{"rows":5,"schema":`+empty+`}`)
		_, stderr, code = spdl(t, "schema", "merge", path, path)
		require.Equal(t, command.Failure, code)
		require.Contains(t, stderr, "no column is left, or fewer than two classes")
	}
	_, stderr, code = spdl(t, "schema", "merge", plain[0], filepath.Join(dir, "absent.json"))
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "absent.json")
}

// TestRehearse: one command goes from a raw file to a verified model with a member for each hospital, and says
// what each gains; the model's gain can be asked again.
func TestRehearse(t *testing.T) {
	stage.NotShort(t, "runs a net")
	file, home := hospitals(t, 1500), filepath.Join(t.TempDir(), "rehearsal")
	stdout, stderr, code := spdl(t, "rehearse", file, "--label", "outcome", "--by", "hospital", "--home", home,
		"--rounds", "12", "--attack", "east=sign-flip", "--folds", "0")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "3 sites withstand no attacker (N >= 3f+1), so the rule is the mean")
	require.Contains(t, stderr, "node 0 is east, 500 rows")
	require.Contains(t, stderr, "1 attacker, and the rule withstands 0")
	require.Contains(t, stderr, "node 0 attacks: sign-flip")
	require.Regexp(t, `hospital +left out +0 % +0 % +as asked`, stderr)
	require.Contains(t, stdout, "verified      model after epoch 0 round 11")
	require.Equal(t, 3, strings.Count(stdout, "private to the owner of the rows"))
	require.Regexp(t, "(?m)^(a gain|no gain)", stdout)
	require.Contains(t, stdout, "report        spdl-lab report "+home)
	require.Contains(t, stdout, "spdl explorer --eval --gain --home "+home+"/net/node0 has the page")
	made := filepath.Join(home, "model.safetensors")
	east := filepath.Join(home, "sites", "site0-east.csv")
	stdout, stderr, code = spdl(t, "model", "gain", made, "--data", east, "-o", "json")
	require.Zero(t, code, stderr)
	var g gain.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &g))
	require.Equal(t, "dead", g.Class)
	require.Len(t, g.Models, 4)
	require.Len(t, g.Models[0].Curve, 10)
	require.Contains(t, []string{adapt.Better, adapt.Same, adapt.Worse}, g.Gain)
	require.Contains(t, g.Warning, "rows of this file may have trained the model")
	node := filepath.Join(home, "net", "node0")
	require.Contains(t, read(t, filepath.Join(node, "config", "config.toml")), "moniker = \"east\"\n")
	stdout, stderr, code = spdl(t, "model", "gain", made, "--home", node)
	require.Zero(t, code, stderr)
	require.NotContains(t, stdout, "warning")
	stdout, stderr, code = spdl(t, "model", "adapt", made, "--data", file, "--home", node)
	require.Zero(t, code, stderr)
	require.Regexp(t, `warning: \d+ of \d+ test rows trained this model, as training rows of `+east, stdout)
	stdout, _, code = spdl(t, "model", "gain", made, "--data", east, "--threshold", "0.9")
	require.Zero(t, code)
	require.Contains(t, stdout, "threshold 0.9")
	stdout, stderr, code = spdl(t, "model", "eval", made, "--data", east)
	require.Zero(t, code, stderr)
	own, stderr, code := spdl(t, "model", "eval", made, "--home", filepath.Join(home, "net", "node0"))
	require.Zero(t, code, stderr)
	require.Equal(t, stdout, own, "a home measures on its own data")
	_, stderr, code = spdl(t, "model", "eval", made, "--home", filepath.Join(home, "node9"))
	require.Equal(t, command.Failure, code, stderr)
	require.Contains(t, stderr, "node9")
	t.Run("predict.py", func(t *testing.T) { predicts(t, made, east) })
	_, stderr, code = spdl(t, "model", "gain", made)
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "--data is missing")
	_, stderr, code = spdl(t, "model", "gain", made, "--data", east, "--threshold", "1.5")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "--threshold is 1.5")

	_, stderr, code = spdl(t, "rehearse", file)
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "--label is missing")
	_, stderr, code = spdl(t, "rehearse", file, "--label", "outcome", "--by", "hospital", "--attack", "centre=sign-flip")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "a node is its number or east or north or south; kinds")
	_, stderr, code = spdl(t, "rehearse", file, "--label", "outcome", "--by", "age")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "more than 40 different texts, want one for each member")
	_, stderr, code = spdl(t, "rehearse", file, "--label", "outcome", "--home", home)
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "is not empty")
	fresh := filepath.Join(t.TempDir(), "fresh")
	_, stderr, code = spdl(t, "rehearse", file, "--label", "outcome", "--without", "no_such", "--home", fresh)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, `no column "no_such" in `)
	require.NoDirExists(t, fresh, "what was wrong leaves nothing in the way")
}

// TestRehearseFiles: each file is a site, and a line of the table says what it gains at each epsilon.
func TestRehearseFiles(t *testing.T) {
	stage.OnlyLong(t)
	dir, names := t.TempDir(), []string{"east", "north", "south"}
	parts, err := table.Split(hospitals(t, 1500), "hospital", "", dir, len(names))
	require.NoError(t, err)
	var files []string
	for i, p := range parts {
		files = append(files, filepath.Join(dir, names[i]+".csv"))
		require.NoError(t, os.Rename(p.Path, files[i]))
	}
	rehearse := func(more ...string) (stdout, stderr string, code int) {
		args := slices.Concat([]string{"rehearse", "--label", "outcome", "--without", "hospital"}, files, more)
		return spdl(t, args...)
	}
	_, stderr, code := rehearse("--by", "hospital")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "want several files, --by or --members")
	_, stderr, code = rehearse("--folds", "1")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "--folds is 1, want 2 to 20, or 0 for none")
	_, stderr, code = rehearse("--epsilon", "1,0")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "--epsilon is [1 0], want numbers above 0")
	_, stderr, code = rehearse("--epsilon", "2,0.001")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "epsilon 0.001")
	swap := func(old, new string) {
		text, err := os.ReadFile(files[2])
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(files[2], []byte(strings.ReplaceAll(string(text), old, new)), 0o600))
	}
	swap(";no;", ";nein;")
	swap(";yes;", ";ja;")
	_, stderr, code = rehearse("--epsilon", "2,0.001")
	require.Equal(t, command.Failure, code)
	require.Regexp(t, `warning: \S+south.csv: column "smoker": 100 % of its texts no other file has, as \["ja" "nein"\]`,
		stderr)
	swap(";nein;", ";no;")
	swap(";ja;", ";yes;")
	swap("age", "Age") // a column that the others lack is no input, and no error
	_, stderr, code = rehearse("--epsilon", "2,0.001")
	require.Equal(t, command.Failure, code)
	require.Regexp(t, `(?m)^Age +left out .* no column of all files, but of south.csv`, stderr)
	require.Contains(t, stderr, "not all files have the columns age (")
	require.Contains(t, stderr, "epsilon 0.001", "no other error")
	swap("Age", "age")
	swap(";south;40;", ";south;forty;")
	_, stderr, code = rehearse()
	require.Equal(t, command.Failure, code)
	require.Regexp(t, `column "age": \d+ rows have no number, the first in line \d+ of south.csv: correct them, or leave `+
		`the column out by --without "age"`, stderr)
	swap(";south;forty;", ";south;40;")
	whole, err := os.ReadFile(files[2])
	require.NoError(t, err)
	row := strings.Split(string(whole), "\n")[1]
	label := row[strings.LastIndex(row, ";")+1:]
	swap(row, strings.TrimSuffix(row, label)+"unknown")
	_, stderr, code = rehearse()
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, `column "outcome" has 3 labels, ["alive" "dead" "unknown"], want 2: `+files[2]+
		` alone has "unknown" (rows: 1). Write one as another, or leave these rows out`)
	swap("unknown", "")
	_, stderr, code = rehearse()
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, `south.csv 1 of 500 rows have no label in column "outcome", the first in line 2 of`)
	require.NotContains(t, stderr, "all.csv")
	for _, file := range files { // a class of all sites
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		row := strings.TrimSpace(strings.SplitAfter(string(text), "\n")[2])
		moved := row[:strings.LastIndex(row, ";")] + ";moved"
		require.NoError(t, os.WriteFile(file+".csv", []byte(strings.Replace(string(text), row, moved, 1)), 0o600))
	}
	_, stderr, code = spdl(t, "rehearse", "--label", "outcome", files[0]+".csv", files[1]+".csv", "--epsilon", "2,0.001")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, `3 classes, ["alive" "dead" "moved"]: what a site gains is known of two alone`)
	require.Contains(t, stderr, "epsilon 0.001", "no other error")
	require.NoError(t, os.WriteFile(files[2], whole, 0o600))
	stage.NotShort(t, "runs a net")
	home := filepath.Join(t.TempDir(), "rehearsal")
	stdout, stderr, code := rehearse("--epsilon", "2,4", "--rounds", "8", "--folds", "3", "--repeats", "2", "--home", home)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "node 2 is south, 500 rows")
	require.Contains(t, stderr, "folds 3, draws of them 2, epsilons 2: 12 trainings more, in this process")
	require.Regexp(t, `(?m)^SITE +EPSILON +ROWS +EVENTS +RATE +ALONE +COMMON +ADAPTED +POOLED +ADAPTED - ALONE +`+
		`BETTER IN +VERDICT$`, stdout)
	for _, name := range append(names, folds.All) {
		require.Regexp(t, `(?m)^`+name+` +2 +\d+ +\d+ +[\d. ]+ -?[\d.]+ \(.* to .*\) +[0-2] of 2 +`+
			`(gains|no difference shown|loses)$`, stdout)
		require.Regexp(t, `(?m)^`+name+` +4 `, stdout)
	}
	require.Less(t, strings.Index(stdout, "SITE "), strings.Index(stdout, "verified "))
	text, err := os.ReadFile(filepath.Join(home, "gains.json"))
	require.NoError(t, err)
	var kept struct{ Lines []folds.Line }
	require.NoError(t, json.Unmarshal(text, &kept))
	require.Len(t, kept.Lines, 8)
	for _, says := range folds.Says(kept.Lines) {
		require.Contains(t, stdout, says+"\n")
	}
	info, err := os.Stat(filepath.Join(home, "all.csv"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	printed := regexp.MustCompile(`spdl (model gain .*)`).FindStringSubmatch(stdout)
	require.NotNil(t, printed, stdout)
	said, stderr, code := spdl(t, strings.Fields(printed[1])...)
	require.Zero(t, code, stderr)
	require.NotContains(t, said+stderr, "warning")
	_, stderr, code = spdl(t, "report", home)
	require.Zero(t, code, stderr)
	text, err = os.ReadFile(filepath.Join(home, "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(text), "What each site would gain by folds")
	adapted := kept.Lines[0].Adapted
	require.Contains(t, string(text), fmt.Sprintf("%.4f %.3f", adapted.Brier, adapted.AUC))
	_, stderr, code = spdl(t, "model", "gain", filepath.Join(home, "model.safetensors"), "--data", files[0])
	require.Zero(t, code, stderr)
}

// predicts checks that predict.py gives the rows of a file the probabilities that the model's own code gives.
func predicts(t *testing.T, path, rows string) {
	python := stage.Python(t, "numpy")
	const program = "../../../app/worker/trainer/python/spdl_trainer/predict.py"
	out, err := exec.Command(python, program, path, rows).Output() // warnings of numbers beyond the bounds go elsewhere
	require.NoError(t, err)
	lines, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"alive", "dead"}, lines[0])
	f, _, err := prove.Read(path)
	require.NoError(t, err)
	data, err := home.LoadData(rows, f.Card.Model)
	require.NoError(t, err)
	m, err := appmodel.New(appmodel.SpecOf(f.Card.Model))
	require.NoError(t, err)
	var want, got []float64
	for _, set := range []mnist.Set{data.Train, data.Test} {
		x, err := inputs.Features(set, nil, f.Card.Model, inputs.Keep{})
		require.NoError(t, err)
		want = append(want, m.Positive(f.Parameters, x.X, x.Labels)...)
	}
	for _, line := range lines[1:] {
		p, err := strconv.ParseFloat(line[1], 64)
		require.NoError(t, err)
		got = append(got, p)
	}
	slices.Sort(want) // the file's rows are in training and test set
	slices.Sort(got)
	require.InDeltaSlice(t, want, got, 1e-5)

	mine := filepath.Join(t.TempDir(), "mine.csv")
	require.NoError(t, os.WriteFile(mine, out, 0o600))
	stdout, stderr, code := spdl(t, "model", "gain", path, "--data", rows, "--mine", mine, "-o", "json")
	require.Zero(t, code, stderr)
	var g gain.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &g))
	require.InDelta(t, g.Models[0].Brier.Value, g.Models[4].Brier.Value, 1e-6, "the chain's model as one's own")
	require.Equal(t, adapt.Mine, g.Models[4].Name)
	require.Equal(t, adapt.Same, g.Models[0].Verdict)
}

// TestGainDoubts: a member's own model that is nearly perfect is doubted, whatever the gain.
func TestGainDoubts(t *testing.T) {
	said := func(auc float64) string {
		return gain.Report{Class: "dead", Report: adapt.Report{Models: []adapt.Measured{
			{Way: adapt.Way{Name: "shared"}, Chosen: true, Verdict: adapt.Better},
			{Way: adapt.Way{Name: adapt.Alone}, AUC: adapt.Interval{Value: auc}}}}}.Verdict()
	}
	require.Contains(t, said(0.995), "An AUC of 0.995 is rare: is a column known only once the label is?")
	require.NotContains(t, said(0.94), "rare")
}

// TestRehearseByMembers: without a column of sites the rows are dealt, and four members withstand an attacker.
func TestRehearseByMembers(t *testing.T) {
	stage.NotShort(t, "runs a net")
	stdout, stderr, code := spdl(t, "rehearse", hospitals(t, 1500), "--label", "outcome", "--rounds", "8",
		"--repeats", "1", "-o", "json")
	require.Zero(t, code, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var last struct {
		Type     string
		Verified struct{ Verified bool }
		Sites    []struct {
			Name string
			Rows int
			Gain *gain.Report
		}
		Lines []folds.Line
	}
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	require.Equal(t, "rehearsal", last.Type)
	require.True(t, last.Verified.Verified)
	require.Len(t, last.Sites, 4)
	require.Len(t, last.Lines, 5)
	for _, s := range last.Sites {
		require.NotNil(t, s.Gain)
	}
	require.NotContains(t, stderr, "withstand no attacker")
}

// TestNoSilentMNIST: the command that goes on with a net does not train MNIST where the start of a net failed, and
// a new net in a named home says what it trains.
func TestNoSilentMNIST(t *testing.T) {
	stage.OnlyLong(t)
	file, home := hospitals(t, 100), filepath.Join(t.TempDir(), "net")
	_, _, code := spdl(t, "testnet", "start", "--data", file, "--label", "outcome", "--home", home)
	require.NotZero(t, code)
	_, stderr, code := spdl(t, "testnet", "start", "--home", home, "--stay")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "holds no net, and --stay alone goes on with one")
	require.NoDirExists(t, home)
	stage.NotShort(t, "runs a net")
	_, stderr, code = spdl(t, "testnet", "start", "--home", home, "--inprocess", "--rounds", "1", "--preset", "pixels")
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "it trains the embedded MNIST, as no --data is named")
}
