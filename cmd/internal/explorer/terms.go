package explorer

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/spdl/spdl/docs"
)

// term is a word of the glossary, with the text that pages show in place of the word.
type term struct {
	docs.Term
	Label string
}

var glossary = docs.Glossary()

// termOf returns a word of the glossary, under a label if one is given.
func termOf(word string, label ...string) (term, error) {
	i := slices.IndexFunc(glossary, func(t docs.Term) bool { return t.Word == word })
	if i < 0 {
		return term{}, fmt.Errorf("term %q is not in the glossary", word)
	}
	t := term{glossary[i], word}
	if len(label) > 0 {
		t.Label = label[0]
	}
	return t, nil
}

// terms lists the glossary.
func (s *Server) terms(*http.Request) (content, error) {
	return content{"terms", "Glossary", glossary}, nil
}
