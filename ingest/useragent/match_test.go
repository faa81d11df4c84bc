package useragent

import (
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// classifyByAll is the definition that tables.classify must equal: it tries
// every row, without index, cache or cut.
func classifyByAll(agents []agent, crawlers []crawler, userAgent string) Class {
	for _, a := range agents {
		if containsToken(userAgent, a.token) {
			return AI
		}
	}
	class := Human
	for _, c := range crawlers {
		if c.pattern.MatchString(userAgent) {
			if c.ai {
				return AI
			}
			class = Crawler
		}
	}
	return class
}

// containsToken splits a user agent at the token and looks at the ends of what
// is left: another way than isToken's.
func containsToken(userAgent, token string) bool {
	const word = "abcdefghijklmnopqrstuvwxyz0123456789"
	touches := func(b byte) bool { return b >= 0x80 || strings.IndexByte(word, b) >= 0 }
	text, token := lowerASCII(userAgent), lowerASCII(token)
	for from := 0; ; {
		i := strings.Index(text[from:], token)
		if i < 0 {
			return false
		}
		before, after := text[:from+i], text[from+i+len(token):]
		if (before == "" || !touches(before[len(before)-1])) && (after == "" || !touches(after[0])) {
			return true
		}
		from += i + 1
	}
}

// lowerASCII leaves all bytes beyond ASCII as they are, valid or not.
func lowerASCII(s string) string {
	b := []byte(s)
	for i := range b {
		if 'A' <= b[i] && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

func checkEqualsAll(t *testing.T, tables *tables, userAgent string) {
	t.Helper()
	want := classifyByAll(tables.agents, tables.crawlers, userAgent)
	if got := tables.classify(userAgent); got != want {
		t.Errorf("%q is %v by the index, %v by all rows", userAgent, got, want)
	}
}

// TestIndexEqualsAllRows runs on real user agents and on mutated ones: pieces
// cut out, doubled, exchanged between two of them, in another case.
func TestIndexEqualsAllRows(t *testing.T) {
	tables := newClassifier(t, 0).tables
	corpus := slices.Concat(lines(t, "testdata/browsers.txt"), lines(t, "testdata/crawlers.txt"))
	for _, a := range tables.agents {
		corpus = append(corpus, forms(a.token)...)
	}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(corpus), func(i, j int) { corpus[i], corpus[j] = corpus[j], corpus[i] })
	if underRaceDetector() {
		corpus = corpus[:600] // all take 0.8 s without it, and 40 s with it
	}
	for i, userAgent := range corpus {
		checkEqualsAll(t, tables, userAgent)
		checkEqualsAll(t, tables, mutate(random, userAgent, corpus[(i+1)%len(corpus)]))
	}
}

func underRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

func mutate(random *rand.Rand, userAgent, other string) string {
	piece := func(s string) (from, to int) {
		from = random.IntN(len(s) + 1)
		return from, from + random.IntN(len(s)-from+1)
	}
	for range 1 + random.IntN(3) {
		from, to := piece(userAgent)
		switch random.IntN(5) {
		case 0:
			userAgent = userAgent[:from] + userAgent[to:]
		case 1:
			userAgent = userAgent[:to] + userAgent[from:]
		case 2:
			otherFrom, otherTo := piece(other)
			userAgent = userAgent[:from] + other[otherFrom:otherTo] + userAgent[from:]
		case 3:
			userAgent = userAgent[:from] + strings.ToUpper(userAgent[from:to]) + userAgent[to:]
		case 4:
			userAgent = userAgent[:from] + string([]byte{byte(random.IntN(256))}) + userAgent[from:]
		}
	}
	return userAgent
}

// TestIndexEqualsAllRowsOfAnyTable draws the tables too, among them patterns
// that have no literal.
func TestIndexEqualsAllRowsOfAnyTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var agents []agent
		for _, token := range rapid.SliceOfN(rapid.StringMatching("[abks1 -]{3,5}"), 0, 3).Draw(t, "tokens") {
			agents = append(agents, agent{token: token})
		}
		var crawlers []crawler
		for range rapid.IntRange(0, 4).Draw(t, "crawlers") {
			tags := rapid.SampledFrom([]string{aiTag, "seo"}).Draw(t, "tag")
			c, err := newCrawler(drawPattern(t, 3), []string{tags})
			if err != nil {
				t.Fatal(err)
			}
			crawlers = append(crawlers, c)
		}
		tables := newTables(agents, crawlers)
		for range 10 {
			text := drawText(t)
			if got, want := tables.classify(text), classifyByAll(agents, crawlers, text); got != want {
				t.Fatalf("%q is %v by the index, %v by all rows", text, got, want)
			}
		}
	})
}
