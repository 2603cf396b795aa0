package pages

import (
	"fmt"
	"net/http"
	"strings"
)

// failure says in plain words why there is no page.
type failure struct {
	Text   string
	Detail string // for the operator; "" if the text is enough
}

// Failure is the page in place of the one at a path, for a status code and the text of an error.
func Failure(path string, code int, text string) Content {
	sentence := strings.ToUpper(text[:1]) + text[1:] + "."
	const again = " Load the page again in a moment."
	title, body := http.StatusText(code), failure{Text: sentence}
	switch code {
	case http.StatusNotFound:
		title, body = "Not found", failure{missing(path), text}
	case http.StatusBadRequest:
		title = "This address is not understood"
	case http.StatusServiceUnavailable:
		title, body.Text = "Not ready", sentence+again
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		title, body.Text = "The node does not answer", sentence+again
	case http.StatusTooManyRequests:
		title, body.Text = "Too many requests", "Your address asks for too many pages. Load this one again in a moment."
	}
	return Content{"error", title, body}
}

// missing returns a sentence: this node does not have what the path names.
func missing(path string) string {
	kind, what, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	what = Short(what, 80)
	switch kind {
	case "block":
		return fmt.Sprintf("This node does not have block %s: it is still to come, or was dropped.", what)
	case "round":
		return fmt.Sprintf("This node does not have round %s: it is not closed yet, or was dropped.", what)
	case "participant":
		return fmt.Sprintf("No participant has the number %s.", what)
	case "tx":
		return "No transaction with this hash is in a block that this node has indexed."
	}
	return "There is no page at this address."
}
