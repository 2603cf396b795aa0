package pages

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/gain"
)

// Assets are the style sheet, the scripts and the templates of the pages, and the description of /v1.
//
//go:embed assets
var Assets embed.FS

// asset returns an embedded file.
func asset(name string) []byte {
	body, err := Assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // an embedded file can always be read
	}
	return body
}

// Style returns the style sheet, so that other pages can look like the explorer's.
func Style() string { return string(asset("style.css")) }

// ErrBad reports a request that is malformed.
var ErrBad = errors.New("malformed request")

// A Request asks for a page. Its Reader reads the chain, and keeps the first error of the answer.
type Request struct {
	*chainview.Reader
	URL       *url.URL
	PathValue func(name string) string
	Node      string // RPC address in the commands on pages
	// Gained measures what the member gains who asks, nil if somebody else asks.
	Gained func(*Request) Gained
}

// Gained is what a member gains by the model after a round, as far as it is measured.
type Gained struct {
	At     params.RoundID
	Report *gain.Report
	Why    string // why there is no report; "" if none was asked for before
	Busy   bool   // a measurement runs
}

// Value returns a value of the query.
func (r *Request) Value(name string) string { return r.URL.Query().Get(name) }

// Number parses a part of the path or the query.
func (r *Request) Number(name, text string) uint64 {
	x, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		r.Fail(fmt.Errorf("%w: %s %q is no number from 0 on", ErrBad, name, Short(text, 40)))
	}
	return x
}

// NumberOr returns the number in a value of the query, or otherwise without such a value.
func (r *Request) NumberOr(name string, otherwise uint64) uint64 {
	if q := r.Value(name); q != "" {
		return r.Number(name, q)
	}
	return otherwise
}

// Place parses the epoch and the round in the path.
func (r *Request) Place() (at params.RoundID) {
	at.Epoch = r.Number("epoch", r.PathValue("epoch"))
	at.Round = r.Number("round", r.PathValue("round"))
	return at
}

// Content is the part of a page inside the layout: the name of its template, its title, and its data.
type Content struct {
	Name, Title string
	Body        any
}

// verifying completes a command of spdl verify with a height, the hash of its block, and the node. Height 0 is the
// last but one. Words in capitals stand for what is not known.
func (r *Request) verifying(at int64, command string) (text, height, hash string) {
	if course, err := r.Now(); at == 0 && err == nil && course.Status.Height >= 2 {
		at = int64(course.Status.Height) - 1
	}
	if metas, err := r.Headers(at, at); at > 0 && err == nil && len(metas) == 1 && metas[0].Header.Height == at {
		height, hash = strconv.FormatInt(at, 10), metas[0].BlockID.Hash.String()
	}
	return fmt.Sprintf("spdl verify %s --trust-height %s --trust-hash %s --node %s", command, cmp.Or(height, "HEIGHT"),
		cmp.Or(hash, "HASH"), r.Node), height, hash
}
