package useragent

import (
	"strings"
	"testing"
)

const (
	browserAgent = "Mozilla/5.0 (Linux; Android 14; SM-S921B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/144.0.0.0 Mobile Safari/537.36 EdgA/144.0.0.0"
	crawlerAgent = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36"
	aiAgent      = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"
)

func BenchmarkHit(b *testing.B) {
	c := newClassifier(b, 1024)
	b.ReportAllocs()
	for b.Loop() {
		c.Classify(browserAgent)
	}
}

func BenchmarkHitParallel(b *testing.B) {
	c := newClassifier(b, 1024)
	b.ReportAllocs()
	b.RunParallel(func(loop *testing.PB) {
		for loop.Next() {
			c.Classify(browserAgent)
		}
	})
}

// BenchmarkMiss is without a cache; storing adds two allocations.
func BenchmarkMiss(b *testing.B) {
	c := newClassifier(b, 0)
	for _, userAgent := range []struct{ name, text string }{
		{"human", browserAgent},
		{"crawler", crawlerAgent},
		{"ai", aiAgent},
		{"crafted", strings.Repeat("AdsBot-Google-", MaxLength/len("AdsBot-Google-"))},
	} {
		b.Run(userAgent.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Classify(userAgent.text)
			}
		})
	}
}

// BenchmarkMix goes through 2,700 different user agents in turn, most of them
// crawlers, with more slots and with fewer than that.
func BenchmarkMix(b *testing.B) {
	corpus := append(lines(b, "testdata/browsers.txt"), lines(b, "testdata/crawlers.txt")...)
	for _, cache := range []struct {
		name string
		size int
	}{{"cache 65536", 1 << 16}, {"cache 4096", 1 << 12}, {"no cache", 0}} {
		b.Run(cache.name, func(b *testing.B) {
			c := newClassifier(b, cache.size)
			i := 0
			for b.Loop() {
				c.Classify(corpus[i])
				if i++; i == len(corpus) {
					i = 0
				}
			}
		})
	}
}

// BenchmarkAllRows is what the index saves.
func BenchmarkAllRows(b *testing.B) {
	tables := newClassifier(b, 0).tables
	for b.Loop() {
		classifyByAll(tables.agents, tables.crawlers, browserAgent)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newClassifier(b, 1<<16)
	}
}
