package useragent

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"
)

func newClassifier(t testing.TB, cacheSize int) *Classifier {
	t.Helper()
	c, err := New(cacheSize)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lines returns the lines of a file that are no comment.
func lines(t testing.TB, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
	}
	return all
}

func TestClassify(t *testing.T) {
	const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/144.0.0.0 Safari/537.36"
	tests := []struct {
		name      string
		userAgent string
		want      Class
	}{
		{"empty", "", None},
		{"dash", "-", None},
		{"one byte", "x", Human},
		{"two dashes", "--", Human},
		{"browser", chrome, Human},
		{"not UTF-8", "Mozilla/5.0 \xff\xfe (\x80)", Human},

		{"GPTBot", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)", AI},
		{"ChatGPT-User", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot", AI},
		{"Claude Code", "Claude-User (claude-code/2.1.38; +https://support.anthropic.com/)", AI},
		{"Applebot", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)", AI},
		{"instance of an agent", "bedrockbot-5f0c1d", AI},
		{"agent behind a browser", chrome + " Meta-ExternalAgent/1.1", AI},
		{"agent on a listed library", "python-requests/2.32 ClaudeBot/1.0", AI},
		{"tagged ai-crawler, not in our table", "Mozilla/5.0 (compatible; ExteContextCrawl/1.0)", AI},
		{"tagged ai-crawler behind an older crawler", "Googlebot/2.1 ExteContextCrawl/1.0", AI},

		{"letter before", "xNovaAct/1.0", Human},
		{"digit behind", "NovaAct2/1.0", Human},
		{"letter of another script behind", "NovaActé/1.0", Human},
		{"second place is whole", "xNovaAct NovaAct", AI},
		{"hyphens around", "x-NovaAct-2", AI},
		{"underscores around", "x_NovaAct_2", AI},
		{"dot behind", "example.novaact.com", AI},

		{"Googlebot", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", Crawler},
		{"bingbot", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36", Crawler},
		{"AhrefsBot", "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)", Crawler},
		{"SemrushBot", "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)", Crawler},
		{"SemrushBot-OCOB", "Mozilla/5.0 (compatible; SemrushBot-OCOB/1; +https://www.semrush.com/bot/)", Crawler},
		{"Facebook preview", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", Crawler},
		{"Slack preview", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", Crawler},
		{"PetalBot", "Mozilla/5.0 (compatible;PetalBot;+https://webmaster.petalsearch.com/site/petalbot)", Crawler},
		{"YandexBot", "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)", Crawler},
		{"headless browser", strings.Replace(chrome, "Chrome/", "HeadlessChrome/", 1), Crawler},
		{"Scrapy", "Scrapy/2.11.0 (+https://scrapy.org)", Crawler},
		{"curl", "curl/8.5.0", Crawler},
		{"wget", "Wget/1.21.4", Crawler},
		{"python-requests", "python-requests/2.32.3", Crawler},
		{"Go", "Go-http-client/2.0", Crawler},
		{"editor's browser", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Code/1.99.0 Chrome/132.0.0.0 Electron/34.3.2 Safari/537.36", Crawler},
		{"shortest literal, at the end", "SAOImage/ds9", Crawler},
		{"anchored pattern elsewhere", chrome + " (curl)", Human},
		{"crawler in another case", "GOOGLEBOT/2.1", Human},

		{"phone that ends in bot", "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36", Human},
		{"Cursor's browser", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Cursor/1.0.0 Chrome/132.0.0.0 Electron/34.3.4 Safari/537.36", Human},
		{"words of a caution", chrome + " Crawlspace OpenAI Spider Operator Code LCC", Human},
	}
	cold, warm := newClassifier(t, 0), newClassifier(t, 1024)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for range 2 {
				if got := warm.Classify(test.userAgent); got != test.want {
					t.Errorf("with cache: %v, want %v", got, test.want)
				}
			}
			if got := cold.Classify(test.userAgent); got != test.want {
				t.Errorf("without cache: %v, want %v", got, test.want)
			}
		})
	}
}

// forms are the ways in which agents write a token into a user agent.
func forms(token string) []string {
	all := []string{
		token,
		token + "/1.0",
		token + " (+https://example.com/bot)",
		"Mozilla/5.0 (compatible; " + token + "/1.0; +https://example.com/bot)",
		"Mozilla/5.0 (compatible;" + token + ";+https://example.com/bot)",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; " + token + "/1.2; +https://example.com) Chrome/144.0.0.0 Safari/537.36",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/144.0.0.0 Safari/537.36 " + token,
	}
	for _, form := range all[:len(all):len(all)] {
		all = append(all, strings.ToUpper(form), strings.ToLower(form))
	}
	return all
}

func checkAI(t *testing.T, c *Classifier, token string) {
	t.Helper()
	for _, form := range forms(token) {
		if got := c.Classify(form); got != AI {
			t.Errorf("%q is %v, want ai", form, got)
		}
	}
}

func TestOurAgentsAreAI(t *testing.T) {
	c := newClassifier(t, 0)
	for _, a := range c.tables.agents {
		checkAI(t, c, a.token)
	}
}

func TestSharedAgentsAreAI(t *testing.T) {
	const file = "../../../shared/data/ai-agents.tsv"
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is missing", file)
	}
	c := newClassifier(t, 0)
	checked := 0
	for _, line := range lines(t, file)[1:] {
		row := strings.Split(line, "\t")
		if caution := row[3]; caution == "" {
			checkAI(t, c, row[0])
			checked++
		}
	}
	if checked < 100 {
		t.Errorf("%d agents without a caution in %s, want 100 at least", checked, file)
	}
}

func TestBrowsersAreHuman(t *testing.T) {
	c := newClassifier(t, 0)
	browsers := lines(t, "testdata/browsers.txt")
	if len(browsers) < 400 {
		t.Errorf("%d browsers, want 400 at least", len(browsers))
	}
	for _, browser := range browsers {
		if got := c.Classify(browser); got != Human {
			t.Errorf("%q is %v", browser, got)
		}
	}
}

// TestCrawlersAreNotHuman takes the examples that crawler-user-agents has for
// its patterns.
func TestCrawlersAreNotHuman(t *testing.T) {
	c := newClassifier(t, 0)
	count := make(map[Class]int)
	for _, example := range lines(t, "testdata/crawlers.txt") {
		class := c.Classify(example)
		count[class]++
		if class == Human || class == None {
			t.Errorf("%q is %v", example, class)
		}
	}
	if count[AI] < 75 || count[Crawler] < 1000 {
		t.Errorf("the examples are %v", count)
	}
}

func TestOnlyTheBeginningCounts(t *testing.T) {
	for _, cacheSize := range []int{0, 16} {
		c := newClassifier(t, cacheSize)
		const token = " GPTBot"
		fits := strings.Repeat("x", MaxLength-len(token)) + token
		if got := c.Classify(fits); got != AI {
			t.Errorf("token that ends with the last byte looked at: %v, want ai", got)
		}
		if got := c.Classify(fits + "x"); got != AI {
			t.Errorf("token at the cut: %v, want ai", got)
		}
		if got := c.Classify("x" + fits); got != Human {
			t.Errorf("token across the cut: %v, want human", got)
		}
	}
}

func TestNewRefusesCacheSize(t *testing.T) {
	for _, size := range []int{-1, MaxCacheSize + 1} {
		if _, err := New(size); err == nil {
			t.Errorf("New(%d) succeeded", size)
		}
	}
}

// TestConcurrent shares one slot between goroutines, so that every call
// replaces what another one looks up.
func TestConcurrent(t *testing.T) {
	c := newClassifier(t, 1)
	want := map[string]Class{"GPTBot/1.0": AI, "curl/8.5.0": Crawler, "Mozilla/5.0": Human, "-": None}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 500 {
				for userAgent, class := range want {
					if got := c.Classify(userAgent); got != class {
						t.Errorf("%q is %v, want %v", userAgent, got, class)
					}
				}
			}
		})
	}
	group.Wait()
}
