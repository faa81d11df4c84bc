package query

import "footfall/sketch"

// Accuracy says of each number of a Count how far it may be from the truth.
type Accuracy struct {
	Human Exactness `json:"human"`
	AI    Exactness `json:"ai"`
	Total Exactness `json:"total"`
}

// Exactness says whether a number is exact, and what the standard error of an
// estimate is, as a part of the true number. That of an exact number is 0.
type Exactness struct {
	Exact                 bool    `json:"exact"`
	RelativeStandardError float64 `json:"relativeStandardError"`
}

// newAccuracy returns the accuracy of what is shown of sets of one precision.
func newAccuracy(shown sketch.Count, precision sketch.Precision) *Accuracy {
	return &Accuracy{
		Human: newExactness(shown.Human, precision),
		AI:    newExactness(shown.AI, precision),
		Total: newExactness(shown.Total, precision),
	}
}

// newExactness tells an exact number from an estimate by the number alone: it is
// exact if and only if it is within what its set holds exactly.
//
// Of a set by itself this is so because it is exact up to that limit, and an
// estimate beyond is at least the limit plus one (sketch.Set.Count). Clamping,
// which sketch.Count.Within does, does not change it, by these steps:
//
//   - The totals' human and AI are not clamped. Their total is, to
//     max(human, ai) and human + ai. Where its set is exact, so are both others,
//     the bounds hold, and nothing changes. Where it is an estimate, there are
//     more than limit visitors; human + ai is not below their number where both
//     are exact, and above the limit where one is an estimate.
//   - A row's human is clamped to the totals'. The site saw every visitor of a
//     path, so the totals' number, if exact, is at least the path's true number;
//     if an estimate, it is above the site's limit, which is above the path's.
//     So an exact number stays as it is, and an estimate, whose true number is
//     above the path's limit, stays above it. The same holds for AI and total.
//   - A row's total is then clamped to its own human and AI, to which the first
//     step applies with the path's limit.
//
// So a number that was clamped is an estimate, and is told as one, also where it
// was clamped to one that is exact.
func newExactness(shown uint64, precision sketch.Precision) Exactness {
	if shown <= uint64(precision.ExactLimit()) {
		return Exactness{Exact: true}
	}
	return Exactness{RelativeStandardError: precision.RelativeStandardError()}
}
