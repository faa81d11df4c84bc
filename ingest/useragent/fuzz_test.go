package useragent

import (
	"strings"
	"testing"
)

func FuzzClassify(f *testing.F) {
	for _, seed := range []string{
		"", "-", "GPTBot/1.0", "curl/8.5.0", "Mozilla/5.0 (X11; Linux x86_64)",
		"AdsBot-Google-", "Spider x spider.com", "(sistrix|SISTRIX) crawler", "NovaAct\xff",
		strings.Repeat("ds9", 400), strings.Repeat("AdsBot-Google-", 80),
	} {
		f.Add(seed)
	}
	cold, warm := newClassifier(f, 0), newClassifier(f, 16)
	f.Fuzz(func(t *testing.T, userAgent string) {
		want := cold.Classify(userAgent)
		if again := cold.Classify(userAgent); again != want {
			t.Errorf("%v, then %v", want, again)
		}
		if filling, hit := warm.Classify(userAgent), warm.Classify(userAgent); filling != want || hit != want {
			t.Errorf("%v without cache, %v as it is stored, %v from the cache", want, filling, hit)
		}
		if userAgent == "" || userAgent == "-" {
			if want != None {
				t.Errorf("%v, want none", want)
			}
			return
		}
		head := userAgent[:min(len(userAgent), MaxLength)]
		if all := classifyByAll(cold.tables.agents, cold.tables.crawlers, head); want != all {
			t.Errorf("%v by the index, %v by all rows", want, all)
		}
	})
}
