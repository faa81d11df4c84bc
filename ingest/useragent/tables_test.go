package useragent

import (
	"slices"
	"strings"
	"testing"
)

// TestEmbeddedCrawlers pins what the embedded release holds; a newer one
// changes the numbers together with the file.
func TestEmbeddedCrawlers(t *testing.T) {
	for _, want := range []string{"# package: crawler-user-agents\n", "# version: 1.60.0\n", "# license: MIT\n", "# Copyright (c) 2017 Martin Monperrus\n"} {
		if !strings.Contains(crawlersTSV, want) {
			t.Errorf("the header lacks %q", want)
		}
	}
	crawlers, err := parseCrawlers(crawlersTSV)
	if err != nil {
		t.Fatal(err)
	}
	ai := 0
	for _, c := range crawlers {
		if c.ai {
			ai++
		}
		if c.literals == nil {
			t.Errorf("%q has no literal and is tried on every user agent: slow", c.pattern)
		}
	}
	if len(crawlers) != 1500 || ai != 75 {
		t.Errorf("%d patterns, %d of them tagged %s; want 1500 and 75", len(crawlers), ai, aiTag)
	}
}

func TestEmbeddedAgents(t *testing.T) {
	agents, err := parseAgents(agentsTSV)
	if err != nil {
		t.Fatal(err)
	}
	purposes := []string{"training", "search", "assistant", "agent", "data", "unknown"}
	for i, a := range agents {
		if a.operator == "" || strings.TrimSpace(a.operator) != a.operator {
			t.Errorf("%s: operator %q", a.token, a.operator)
		}
		if !slices.Contains(purposes, a.purpose) {
			t.Errorf("%s: purpose %q is none of %v", a.token, a.purpose, purposes)
		}
		if strings.TrimSpace(a.token) != a.token {
			t.Errorf("token %q has space around it", a.token)
		}
		if i > 0 && strings.ToLower(agents[i-1].token) >= strings.ToLower(a.token) {
			t.Errorf("%s stands behind %s: not sorted, or twice", a.token, agents[i-1].token)
		}
	}
}

func TestDamagedTables(t *testing.T) {
	agents := map[string]string{
		"empty":             "",
		"only a comment":    "# nothing\n",
		"two fields":        "GPTBot\tOpenAI\n",
		"no token":          "\tOpenAI\ttraining\n",
		"token too short":   "ab\tOpenAI\ttraining\n",
		"token not ASCII":   "Kimi–User\tMoonshot AI\tassistant\n",
		"empty line":        "GPTBot\tOpenAI\ttraining\n\n",
		"damage at the end": "GPTBot\tOpenAI\ttraining\nx",
	}
	for name, tsv := range agents {
		if got, err := parseAgents(tsv); err == nil {
			t.Errorf("agents, %s: no error, %v", name, got)
		}
	}
	crawlers := map[string]string{
		"empty":        "",
		"one field":    "Googlebot\n",
		"three fields": "Googlebot\tsearch-engine\tx\n",
		"no pattern":   "\tsearch-engine\n",
		"bad pattern":  "Googlebot(\tsearch-engine\n",
	}
	for name, tsv := range crawlers {
		if got, err := parseCrawlers(tsv); err == nil {
			t.Errorf("crawlers, %s: no error, %v", name, got)
		}
	}
}
