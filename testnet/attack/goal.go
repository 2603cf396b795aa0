package attack

import "math"

// Goal is the objective of hidden attackers: a function of an example's logits that they make the
// honest participants' training minimise.
type Goal struct {
	Name string
	// Triggered says that the function is of examples with the backdoor's trigger on them, whose
	// label is then Target.
	Triggered bool
	// Flat says that attackers push along the goal's slope divided by the curvature of the honest
	// loss (View.uncurved): mostly where honest gradients hardly pull the model back, so that it
	// moves farther round by round.
	Flat bool
	// Deltas turns an example's logits into the function's derivatives, in place.
	Deltas func(logits []float32, label uint8)
}

// Target is the class that the backdoor assigns to examples with the trigger.
const Target = 0

// Goals lists the goals of the hidden attacks.
var Goals = []Goal{
	{Name: "ascent", Deltas: ascent},
	{Name: "margin", Deltas: margin},
	{Name: "drift", Flat: true, Deltas: margin},
	{Name: "backdoor", Triggered: true, Deltas: crossEntropy},
}

// crossEntropy is the loss itself: softmax minus the one-hot label.
func crossEntropy(logits []float32, label uint8) {
	top := logits[rival(logits, len(logits))]
	var total float64
	for _, v := range logits {
		total += math.Exp(float64(v - top))
	}
	for c, v := range logits {
		logits[c] = float32(math.Exp(float64(v-top)) / total)
	}
	logits[label]--
}

// ascent is the loss, negated.
func ascent(logits []float32, label uint8) {
	crossEntropy(logits, label)
	for c := range logits {
		logits[c] = -logits[c]
	}
}

// margin is the sigmoid s of the true logit minus its strongest rival's. Its slope s(1-s) is
// largest for examples near the decision boundary, which a small push can turn.
func margin(logits []float32, label uint8) {
	other := rival(logits, int(label))
	s := 1 / (1 + math.Exp(float64(logits[other]-logits[label])))
	clear(logits)
	logits[label], logits[other] = float32(s*(1-s)), -float32(s*(1-s))
}

// rival returns the class of the largest logit, except the class but.
func rival(logits []float32, but int) int {
	best := -1
	for c, v := range logits {
		if c != but && (best < 0 || v > logits[best]) {
			best = c
		}
	}
	return best
}
