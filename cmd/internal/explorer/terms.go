package explorer

import (
	"fmt"
	"net/http"
)

// term is a word that pages explain where it stands.
type term struct{ Word, Label, Means string }

// glossary explains the words of all pages, by the alphabet.
var glossary = []term{
	{Word: "aggregate", Means: "The transaction with which a leader closes a round: it names the gradients that it " +
		"used and the Delta that the rule makes of them. Every validator computes Delta again before it votes."},
	{Word: "alarm", Means: "The opinion of this page, from the shares of the last rounds: ok, watch or suspect. It is " +
		"no part of the chain."},
	{Word: "angle", Means: "The angle between a gradient and Delta. Noise turns honest gradients far from Delta, but " +
		"seldom beyond 90 degrees; an attacker that turns the training back is beyond it."},
	{Word: "Delta", Means: "The vector that the aggregation rule makes of a round's gradients, and by which the model " +
		"moves."},
	{Word: "epoch", Means: "One training with its parameters. The members can vote for another one."},
	{Word: "epsilon", Means: "How much anybody can learn of one training example from all that a participant has " +
		"sent, as a bound: smaller is more private. The chain adds it up and stops at the budget."},
	{Word: "gradient", Means: "What a participant submits in a round: the direction in which its own data would move " +
		"the model, clipped, and with noise."},
	{Word: "inactive", Means: "Rounds do not wait for a participant that missed several, but in one of sixteen."},
	{Word: "left out", Means: "The gradient is in the round, and the rule did not use it for Delta. Honest gradients " +
		"are left out, too: a few times mean nothing, and reputation does not change."},
	{Word: "map", Means: "Every gradient is a point in as many dimensions as the model has parameters. The map is the " +
		"flat picture that keeps their distances best (classical multidimensional scaling)."},
	{Word: "mixtures", Means: "The rule replaces each gradient by the mean of its nearest. A gradient that is far from " +
		"the others is in its own mixture alone, and so counts for little."},
	{Word: "norm", Means: "The length of a gradient, in grid steps. Noise alone makes a gradient at least so long, and " +
		"noise and clipped examples at most so long: the chain admits nothing outside."},
	{Word: "opposed", Means: "The gradient points away from Delta, at more than 90 degrees and beyond the margin that " +
		"the chain allows. It costs reputation."},
	{Word: "participations", Means: "The rounds that have a gradient of the participant. Each costs epsilon."},
	{Word: "ranking", Means: "Who leads, and who follows where a leader fails: the participants by their VRF outputs."},
	{Word: "rejected", Means: "This node did not admit a gradient that the participant signed. Other nodes judge " +
		"alike, as far as they saw it."},
	{Word: "reputation", Means: "From 0 to 1. It counts opposition to Delta and failures to lead, not exclusion: a " +
		"gradient that the rule leaves out each time costs none. At 0 a participant may not lead, for the whole epoch."},
	{Word: "round", Means: "One step of the training: one gradient of each participant, and one Delta."},
	{Word: "rule", Means: "How Delta is made of gradients of which some may be attackers'."},
	{Word: "score", Means: "How far a gradient is from the others, as the rule measures it. The largest are left out."},
	{Word: "seed", Means: "The value that fixes the VRF outputs of a round. Nobody alone can choose it."},
	{Word: "turn", Means: "The time in which a leader may close the round (the chain counts turns as views, from 0). " +
		"If it ends without a valid aggregate, the next in the ranking leads."},
	{Word: "VRF", Means: "A verifiable random function: every participant's output is random, and anybody can check " +
		"that it was not chosen."},
	{Word: "weight", Means: "How much of an equal share of Delta a gradient has. 0 is left out, 1 a full share."},
}

// termOf returns a word of the glossary, with the text that shows it in place of the word.
func termOf(word string, label ...string) (term, error) {
	for _, t := range glossary {
		if t.Word == word {
			t.Label = word
			if len(label) > 0 {
				t.Label = label[0]
			}
			return t, nil
		}
	}
	return term{}, fmt.Errorf("term %q is not in the glossary", word)
}

// terms lists the glossary.
func (s *Server) terms(*http.Request) (content, error) {
	return content{"terms", "Terms", glossary}, nil
}
