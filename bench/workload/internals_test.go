package workload

import (
	"bufio"
	"errors"
	"io/fs"
	"math"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"footfall/sketch"
)

func TestViewHoldsItsParts(t *testing.T) {
	last := newView(MaxPaths-1, MaxVisitors-1, sketch.AI, MaxDays-1)
	for _, test := range []struct {
		path, visitor int
		traffic       sketch.Traffic
		day           sketch.Day
	}{
		{0, 0, sketch.Human, 0},
		{MaxPaths - 1, MaxVisitors - 1, sketch.AI, MaxDays - 1},
		{MaxPaths - 1, 0, sketch.Human, MaxDays - 1},
		{0, MaxVisitors - 1, sketch.AI, 0},
		{1, 2, sketch.Human, 3},
	} {
		v := newView(test.path, test.visitor, test.traffic, test.day)
		if v.path() != test.path || v.visitor() != test.visitor || v.traffic() != test.traffic || v.day() != test.day {
			t.Errorf("%+v became %d %d %v %d", test, v.path(), v.visitor(), v.traffic(), v.day())
		}
		if v > last || v >= noView {
			t.Errorf("%+v is above the last view", test)
		}
	}
}

func TestPowerIsAPower(t *testing.T) {
	for _, exponent := range []float64{0, 0.5, 1, 1.1, 1.999, 2, 3.25} {
		for _, base := range []float64{1, 2, 3, 10, 2_000, 1_000_000} {
			if got, want := power(base, exponent), math.Pow(base, exponent); math.Abs(got/want-1) > 1e-13 {
				t.Errorf("%v^%v is %v, want %v", base, exponent, got, want)
			}
		}
	}
}

// The shares of a choice are those of its weights, to the last bits of 2^-64.
func TestChoiceKeepsShares(t *testing.T) {
	for name, weights := range map[string][]uint64{
		"one":    {5},
		"equal":  {3, 3, 3, 3},
		"none":   {0, 1, 0, 2},
		"uneven": {1, 1_000_000, 7, 7, 7, 900},
		"zipf":   zipfWeights(2_000, 1.1),
		"large":  {maxWeight, 1, maxWeight, maxWeight},
	} {
		t.Run(name, func(t *testing.T) {
			c := newChoice(weights)
			shares := make([]float64, len(weights))
			for i, column := range c.columns {
				part := float64(column.threshold) / (1 << 32) / (1 << 32)
				shares[i] += part
				shares[column.other] += 1 - part
			}
			var total float64
			for _, weight := range weights {
				total += float64(weight)
			}
			for i, weight := range weights {
				want := float64(weight) / total * float64(len(weights))
				if math.Abs(shares[i]-want) > 1e-9 {
					t.Errorf("option %d has %v of a column, want %v", i, shares[i], want)
				}
			}
			r := newRandom(1, 1)
			for range 10_000 {
				if i := c.draw(r); weights[i] == 0 {
					t.Fatalf("option %d has no weight and was drawn", i)
				}
			}
		})
	}
}

func TestManyPathsAreDistinctAndNormal(t *testing.T) {
	normal := regexp.MustCompile(`^/$|^(/[a-z0-9~-]+)+$`)
	for _, n := range []int{1, 50, 200_000} {
		paths := manyPaths(n)
		if len(paths) != n {
			t.Fatalf("%d paths, want %d", len(paths), n)
		}
		seen := make(map[string]bool, n)
		for i, path := range paths {
			if seen[path] {
				t.Fatalf("%q came twice", path)
			}
			if i%16 == 0 && !normal.MatchString(path) {
				t.Fatalf("%q is not normalised", path)
			}
			seen[path] = true
		}
	}
}

func TestVisitorIDsAreDistinct(t *testing.T) {
	events, err := NewEvents(EventsConfig{Seed: 1, From: sketch.FirstDay})
	if err != nil {
		t.Fatal(err)
	}
	version8 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	s, seen := events.stream(), map[string]bool{}
	for visitor := range 50_000 {
		id := string(s.appendVisitorID(nil, visitor))
		if seen[id] || !version8.MatchString(id) {
			t.Fatalf("%q came twice or is no UUID", id)
		}
		seen[id] = true
	}
}

// An address that two kinds of client share would make the user agent alone
// tell them apart: that is for offices, not for crawlers.
func TestFleetsHaveTheirOwnAddresses(t *testing.T) {
	c := newCrowd(AccessLogConfig{Lines: 1}, newSite())
	owner := map[netip.Addr]string{}
	for i := 128; i <= 254; i++ {
		owner[documentation3.address(i)] = "strays"
	}
	for _, fleet := range []*fleet{c.assistants, c.aiCrawlers, c.crawlers} {
		for i, addresses := range fleet.addresses {
			if len(addresses) == 0 {
				t.Errorf("%q has no address", fleet.agents[i].userAgent)
			}
			for _, address := range addresses {
				if owner[address] != "" {
					t.Errorf("%v is of %q and of %q", address, owner[address], fleet.agents[i].userAgent)
				}
				owner[address] = fleet.agents[i].userAgent
			}
		}
	}
}

// What the tables call AI is AI by the collected facts, and nothing else is.
func TestAgentsAgainstCollectedTokens(t *testing.T) {
	const facts = "../../../shared/data/ai-agents.tsv"
	file, err := os.Open(facts)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is missing", facts)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	var certain []*regexp.Regexp
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) < 4 || fields[0] == "token" || fields[3] != "" {
			continue
		}
		certain = append(certain, regexp.MustCompile(`(?i)(^|[^a-z0-9_-])`+regexp.QuoteMeta(fields[0])+`($|[^a-z0-9_-])`))
	}
	if len(certain) < 100 {
		t.Fatalf("only %d tokens without a caution", len(certain))
	}
	for _, table := range []struct {
		agents []agent
		ai     bool
	}{
		{assistants, true}, {codingAgents, true}, {aiCrawlers, true}, {browsers, false}, {crawlers, false},
	} {
		for _, agent := range table.agents {
			found := false
			for _, token := range certain {
				found = found || token.MatchString(agent.userAgent)
			}
			if found != table.ai {
				t.Errorf("%q: AI is %v by the facts, %v here", agent.userAgent, found, table.ai)
			}
		}
	}
}
