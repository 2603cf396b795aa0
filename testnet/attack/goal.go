package attack

import "math"

// Goal is what hidden attackers want of the model: a function of the logits of an example that the
// honest participants' training is to make smaller.
type Goal struct {
	Name string
	// Triggered says that it is of examples with the trigger on them, which the goal calls Target.
	Triggered bool
	// Flat says that attackers push along the goal's slope over the curvature of the honest loss:
	// mostly where honest gradients hardly pull the model back, and so farther round by round.
	Flat bool
	// Deltas turns an example's logits into the function's derivatives.
	Deltas func(logits []float32, label uint8)
}

// Target is the class that the backdoor's trigger means.
const Target = 0

// Goals lists the goals of the hidden attacks.
var Goals = []Goal{
	{Name: "ascent", Deltas: ascent},
	{Name: "margin", Deltas: margin},
	{Name: "drift", Flat: true, Deltas: margin},
	{Name: "backdoor", Triggered: true, Deltas: crossEntropy},
}

// crossEntropy is the loss itself: softmax less the label.
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

// margin is the sigmoid s of the true logit less its strongest rival's. Its slope s(1-s) is that of
// the examples near the decision boundary, which are those that a small push can turn.
func margin(logits []float32, label uint8) {
	other := rival(logits, int(label))
	s := 1 / (1 + math.Exp(float64(logits[other]-logits[label])))
	clear(logits)
	logits[label], logits[other] = float32(s*(1-s)), -float32(s*(1-s))
}

// rival returns the class of the largest logit but for one.
func rival(logits []float32, but int) int {
	best := -1
	for c, v := range logits {
		if c != but && (best < 0 || v > logits[best]) {
			best = c
		}
	}
	return best
}
