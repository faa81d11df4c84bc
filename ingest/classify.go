package ingest

import (
	"footfall/ingest/useragent"
	"footfall/sketch"
)

// classify decides who reads by the user agent. counted is false for crawlers
// that are neither human nor AI, and for clients that do not say what they are.
func (p *Pipeline) classify(userAgent string) (traffic sketch.Traffic, counted bool) {
	switch p.classifier.Classify(userAgent) {
	case useragent.AI:
		return sketch.AI, true
	case useragent.Human:
		return sketch.Human, true
	}
	return 0, false
}
