package workload

import (
	"cmp"
	"slices"
)

const secondsPerDay = 24 * 60 * 60

// crowd makes up the requests of all who come to the site, day by day.
type crowd struct {
	*random
	site       *site
	people     []person
	assistants *fleet
	coding     *fleet
	aiCrawlers *fleet
	crawlers   *fleet
	hours      *choice
	visits     *choice
	damage     damage    // of the next line that is to be broken
	queue      []request // of the day at hand, and later ones
}

// linesPerPerson sizes the crowd: a regular comes every few days, others now and
// then. At the default number of lines, the visitors of every path stay within
// what a sketch counts exactly, so that a demonstration can be held against the
// truth.
const linesPerPerson = 40

func newCrowd(config AccessLogConfig, s *site) *crowd {
	people := newRandom(config.Seed, streamPeople)
	return &crowd{
		random:     newRandom(config.Seed, streamRequests),
		site:       s,
		people:     newPeople(people, max(config.Lines/linesPerPerson, 1)),
		assistants: newFleet(assistants, documentation2),
		coding:     newFleet(codingAgents),
		aiCrawlers: newFleet(aiCrawlers, documentation1),
		crawlers:   newFleet(crawlers, documentation3),
		hours:      newChoice(hours),
		visits:     newChoice(weightsOf(visits, func(v visit) uint64 { return v.weight })),
		damage:     undamaged + 1,
	}
}

// visit is one coming of one client.
type visit struct {
	weight uint64 // how many of all
	take   func(c *crowd, day int)
}

var visits = []visit{
	{weight: 580, take: (*crowd).reads},
	{weight: 250, take: (*crowd).assists},
	{weight: 60, take: (*crowd).codes},
	{weight: 42, take: (*crowd).gathers},
	{weight: 40, take: (*crowd).crawls},
	{weight: 15, take: (*crowd).strays},
	{weight: 13, take: (*crowd).scans},
}

// damagedEvery is how many days pass from one broken line to the next.
const damagedEvery = 4

// day returns the requests of a day, which are about the given number, in order
// of time. What begins on one day may end on the next. The result is valid until
// the next call.
func (c *crowd) day(day, lines int) []request {
	for end := len(c.queue) + lines; len(c.queue) < end; {
		visits[c.visits.draw(c.random)].take(c, day)
	}
	if day%damagedEvery == 0 {
		c.breaks(day)
	}
	// Stable, so that the order within a second is that of making.
	slices.SortStableFunc(c.queue, func(a, b request) int { return cmp.Compare(a.at, b.at) })
	end, _ := slices.BinarySearchFunc(c.queue, int64(day+1)*secondsPerDay, func(r request, at int64) int {
		return cmp.Compare(r.at, at)
	})
	today := c.queue[:end:end]
	c.queue = slices.Clone(c.queue[end:])
	return today
}

// anyTime returns a second of a day for those who never sleep.
func (c *crowd) anyTime(day int) int64 {
	return int64(day)*secondsPerDay + int64(c.below(secondsPerDay))
}

// someone returns a person, a regular more likely than others.
func (c *crowd) someone() person { return c.people[c.below(c.below(len(c.people))+1)] }

// awake returns a second of a day at which a person reads.
func (c *crowd) awake(p person, day int) int64 {
	hour := (c.hours.draw(c.random) - p.zone + 24) % 24
	return int64(day)*secondsPerDay + int64(hour)*3600 + int64(c.below(3600))
}

// ask puts a request into the queue.
func (c *crowd) ask(r request) {
	r.method = cmp.Or(r.method, "GET")
	r.referer = cmp.Or(r.referer, "-")
	r.status = cmp.Or(r.status, 200)
	r.size = c.between(900, 48_000)
	c.queue = append(c.queue, r)
}

// askFor asks for a target that is no page.
func (c *crowd) askFor(from client, at int64, target string, status int) {
	c.ask(request{client: from, at: at, target: target, page: noPage, status: status})
}

// view asks for a page, and returns the target. Some requests fail, and some
// are for what the client has already.
func (c *crowd) view(from client, at int64, page int, referer string) string {
	r := request{client: from, at: at, page: page, target: c.site.target(c.random, page), referer: referer}
	switch n := c.below(1000); {
	case n < 70:
		r.status = 304
	case n < 80:
		r.status = 301 // Moved, and asked for again at its new place.
		c.ask(r)
		r.status = 200
	case n < 83:
		r.status = 500
	case n < 84:
		r.status = 503
	}
	c.ask(r)
	return r.target
}

// origin is where the site is, as referers tell.
const origin = "https://docs.example.com"

// referers are where people come from.
var referers = []string{
	"-", "-", "-", "https://www.google.com/", "https://www.google.com/", "https://github.com/", "https://duckduckgo.com/",
	"https://www.bing.com/", "https://news.ycombinator.com/", "https://chatgpt.com/", "https://stackoverflow.com/questions/4711/example",
}

// reads is someone who reads a few pages, with a browser that loads what belongs
// to them.
func (c *crowd) reads(day int) {
	p := c.someone()
	from := client{address: p.addressOn(day), userAgent: p.browser, reader: human}
	at := c.awake(p, day)
	document, referer := c.site.popularity.draw(c.random), pick(c.random, referers)
	for pages := 1; ; pages++ {
		referer = origin + c.view(from, at, document, referer)
		c.loads(from, at, referer, pages == 1)
		switch n := c.below(1000); {
		case n < 12:
			c.askFor(from, at+int64(c.between(2, 9)), pick(c.random, absent), 404)
		case n < 22:
			c.ask(request{client: from, at: at + int64(c.between(2, 60)), method: "POST", target: "/api/feedback", page: noPage, status: 204, referer: referer})
		case n < 30:
			// The same page as Markdown, by a button on it.
			c.view(from, at+int64(c.between(2, 30)), c.site.markdown(document), referer)
		}
		if pages == 20 || !c.percent(72) {
			return
		}
		at += int64(c.between(3, 240))
		document = c.site.following(c.random, document)
	}
}

// loads is a browser that loads what belongs to a page: most of it once.
func (c *crowd) loads(from client, at int64, referer string, first bool) {
	n := c.below(2)
	if first {
		n = c.between(2, 4)
	}
	for range n {
		r := request{client: from, at: at + int64(c.below(2)), target: pick(c.random, assets), page: noPage, referer: referer}
		if c.percent(20) {
			r.status = 304
		}
		c.ask(r)
	}
}

// assists is an assistant that fetches what an answer needs.
func (c *crowd) assists(day int) {
	userAgent, address := c.assistants.draw(c.random)
	from := client{address: address, userAgent: userAgent, reader: aiAgent}
	at := c.awake(c.someone(), day)
	for range c.between(1, 4) {
		switch n := c.below(100); {
		case n < 6:
			c.view(from, at, c.site.agentList(c.random), "")
		case n < 11:
			c.askFor(from, at, pick(c.random, absent), 404)
		case n < 50:
			c.view(from, at, c.site.markdown(c.site.popularity.draw(c.random)), "")
		default:
			c.view(from, at, c.site.popularity.draw(c.random), "")
		}
		at += int64(c.between(0, 4))
	}
}

// codes is a coding agent on someone's machine, so at the address from which
// that person reads, too.
func (c *crowd) codes(day int) {
	p := c.someone()
	userAgent, _ := c.coding.draw(c.random)
	from := client{address: p.addressOn(day), userAgent: userAgent, reader: aiAgent}
	at := c.awake(p, day)
	if c.percent(55) {
		c.view(from, at, c.site.agentList(c.random), "")
	}
	document := c.site.popularity.draw(c.random)
	for range c.between(2, 7) {
		at += int64(c.between(2, 40))
		if c.percent(85) {
			c.view(from, at, c.site.markdown(document), "")
		} else {
			c.view(from, at, document, "")
		}
		document = c.site.following(c.random, document)
	}
}

// gathers is a crawler of an AI operator on its round.
func (c *crowd) gathers(day int) {
	userAgent, address := c.aiCrawlers.draw(c.random)
	from := client{address: address, userAgent: userAgent, reader: aiAgent}
	at := c.anyTime(day)
	if c.percent(80) {
		c.askFor(from, at, robots, 200)
	}
	for range c.between(6, 30) {
		at += int64(c.between(1, 20))
		document := c.below(len(documents))
		switch n := c.below(100); {
		case n < 3:
			c.askFor(from, at, pick(c.random, absent), 404)
		case n < 6:
			c.askFor(from, at, pick(c.random, feeds), 200)
		case n < 30:
			c.view(from, at, c.site.markdown(document), "")
		default:
			c.view(from, at, document, "")
		}
	}
}

// crawls is a crawler that is neither human nor AI.
func (c *crowd) crawls(day int) {
	userAgent, address := c.crawlers.draw(c.random)
	from := client{address: address, userAgent: userAgent, reader: crawler}
	at := c.anyTime(day)
	if c.percent(50) {
		c.askFor(from, at, robots, 200)
	}
	for range c.between(2, 24) {
		at += int64(c.between(1, 30))
		switch n := c.below(100); {
		case n < 8:
			c.askFor(from, at, pick(c.random, assets), 200)
		case n < 12:
			c.askFor(from, at, pick(c.random, feeds), 200)
		case n < 16:
			c.askFor(from, at, pick(c.random, absent), 404)
		case n < 26:
			page := c.below(len(documents))
			c.ask(request{client: from, at: at, method: "HEAD", page: page, target: c.site.target(c.random, page)})
		default:
			c.view(from, at, c.below(len(documents)), "")
		}
	}
}

// strays is a script that does not say what it is.
func (c *crowd) strays(day int) {
	from := client{address: documentation3.address(c.between(128, 254)), userAgent: "-", reader: nameless}
	if c.percent(20) {
		from.userAgent = "" // The header was sent, with nothing in it.
	}
	at := c.anyTime(day)
	for range c.between(1, 5) {
		c.view(from, at, c.site.popularity.draw(c.random), "")
		at += int64(c.between(1, 60))
	}
}

// scans is a scanner that looks for holes, in the guise of a browser.
func (c *crowd) scans(day int) {
	from := client{address: documentation3.address(c.between(128, 254)), userAgent: pick(c.random, browsers).userAgent, reader: human}
	at := c.anyTime(day)
	for range c.between(2, 8) {
		c.askFor(from, at, pick(c.random, probed), 404)
		at += int64(c.below(3))
	}
}

// breaks is a line that got broken, each kind of damage in turn.
func (c *crowd) breaks(day int) {
	p := c.someone()
	c.ask(request{
		client: client{address: p.addressOn(day), userAgent: p.browser, reader: human},
		at:     c.anyTime(day), target: "/quickstart", page: noPage, damage: c.damage,
	})
	if c.damage++; c.damage == damages {
		c.damage = undamaged + 1
	}
}
