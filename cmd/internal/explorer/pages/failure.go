package pages

import (
	"cmp"
	"net/http"
)

// failure says in plain words why there is no page.
type failure struct {
	Code       int
	Path, Text string
}

// titles are those of pages in place of others, by status code.
var titles = map[int]string{http.StatusNotFound: "Not found", http.StatusBadRequest: "This address is not understood",
	http.StatusServiceUnavailable: "Not ready", http.StatusBadGateway: "The node does not answer",
	http.StatusGatewayTimeout: "The node does not answer", http.StatusTooManyRequests: "Too many requests"}

// Failure is the page in place of the one at a path, for a status code and the text of an error.
func Failure(path string, code int, text string) Content {
	return Content{"error", cmp.Or(titles[code], http.StatusText(code)), failure{code, path, text}}
}
