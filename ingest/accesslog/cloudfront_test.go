package accesslog_test

import (
	"strings"
	"testing"

	"footfall/ingest/accesslog"
)

// cloudFrontLine is an example of AWS's documentation.
const cloudFrontLine = "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\t" +
	"Mozilla/5.0%20(Windows%20NT%2010.0;%20Win64;%20x64)%20AppleWebKit/537.36%20(KHTML,%20like%20Gecko)%20Chrome/78.0.3904.108%20Safari/537.36\t" +
	"-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\td111111abcdef8.cloudfront.net\thttps\t23\t0.001\t-\tTLSv1.2\t" +
	"ECDHE-RSA-AES128-GCM-SHA256\tHit\tHTTP/2.0\t-\t-\t11040\t0.001\tHit\ttext/html\t78\t-\t-"

// cloudFrontWith changes fields of the example: numbers from 0, and values.
func cloudFrontWith(changes map[int]string) string {
	columns := strings.Split(cloudFrontLine, "\t")
	for i, value := range changes {
		columns[i] = value
	}
	return strings.Join(columns, "\t")
}

func TestParseCloudFront(t *testing.T) {
	const docsTime = 1575493351 // 2019-12-04 21:02:31
	const agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/78.0.3904.108 Safari/537.36"
	docs := fields{"192.0.2.100", docsTime, "GET", "/index.html", 200, agent, true, ""}
	with := func(change func(*fields)) fields {
		f := docs
		change(&f)
		return f
	}
	target := func(stem, query, want string) parseTest {
		return parseTest{cloudFrontWith(map[int]string{7: stem, 11: query}), with(func(f *fields) { f.target = want })}
	}
	userAgent := func(written, want string) parseTest {
		return parseTest{cloudFrontWith(map[int]string{10: written}), with(func(f *fields) { f.userAgent = want })}
	}
	forwardedFor := func(written, want string) parseTest {
		return parseTest{cloudFrontWith(map[int]string{19: written}), with(func(f *fields) { f.forwardedFor = want })}
	}
	runParse(t, map[string]parseTest{
		"AWS's first example":                        {cloudFrontLine, docs},
		"AWS's third example, with a tab at its end": {cloudFrontLine + "\t", docs},
		"AWS's fourth example": {
			"2019-12-13\t22:36:27\tSEA19-C1\t900\t192.0.2.200\tGET\td111111abcdef8.cloudfront.net\t/favicon.ico\t502\thttp://www.example.com/\t" +
				"Mozilla/5.0%20(Windows%20NT%2010.0;%20Win64;%20x64)%20AppleWebKit/537.36%20(KHTML,%20like%20Gecko)%20Chrome/78.0.3904.108%20Safari/537.36\t" +
				"-\t-\tError\t1pkpNfBQ39sYMnjjUQjmH2w1wdJnbHYTbag21o_3OfcQgPzdL2RSSQ==\twww.example.com\thttp\t675\t0.102\t-\t-\t-\tError\tHTTP/1.1\t-\t-\t25260\t0.102\tOriginDnsError\ttext/html\t507\t-\t-",
			fields{"192.0.2.200", 1576276587, "GET", "/favicon.ico", 502, agent, true, ""},
		},
		"carriage return":                 {cloudFrontLine + "\r", docs},
		"more fields":                     {cloudFrontLine + "\t1575493351000\t-\t16509", docs},
		"IPv6":                            {cloudFrontWith(map[int]string{4: "2001:0db8:85a3:0000:0000:8a2e:0370:7334"}), with(func(f *fields) { f.host = "2001:0db8:85a3:0000:0000:8a2e:0370:7334" })},
		"no answer":                       {cloudFrontWith(map[int]string{8: "000"}), with(func(f *fields) { f.status = 0 })},
		"no request line":                 {cloudFrontWith(map[int]string{5: "-", 7: "-", 8: "400"}), with(func(f *fields) { f.method, f.target, f.status = "", "", 400 })},
		"query":                           target("/a", "b=c&d=%2520e%252F", "/a?b=c&d=%20e%2F"),
		"path that the client encoded":    target("/caf%25C3%25A9%2520a", "-", "/caf%C3%A9%20a"),
		"path that CloudFront encoded":    target("/caf%C3%A9%20%7Ea", "-", "/caf%C3%A9%20%7Ea"),
		"path with encoded delimiters":    target("/a%253Fb%2523c", "-", "/a%3Fb%23c"),
		"path with a delimiter":           target("/a%23b", "-", "/a%23b"),
		"path that was encoded twice":     target("/a%252520b", "-", "/a%2520b"),
		"path with a percent sign":        target("/100%25", "-", "/100%"),
		"user agent encoded once":         userAgent("a%20%22b%22%20%25%20caf%C3%A9", `a "b" % café`),
		"user agent encoded twice":        userAgent("Mozilla/5.0%2520(compatible;%2520%2522a%2522)", `Mozilla/5.0 (compatible; "a")`),
		"user agent with escapes of its":  userAgent("My%2520App/1%20CFNetwork/1.2", "My%20App/1 CFNetwork/1.2"),
		"both":                            userAgent("My%252520App/1%2520CFNetwork/1.2", "My%20App/1 CFNetwork/1.2"),
		"user agent with no escapes":      userAgent("curl/7.55.1", "curl/7.55.1"),
		"user agent that has broken ones": userAgent("a%2%zz%20%", "a%2%zz %"),
		"no user agent":                   userAgent("-", "-"),
		"X-Forwarded-For":                 forwardedFor("198.51.100.1", "198.51.100.1"),
		"X-Forwarded-For, a list":         forwardedFor("198.51.100.1,%2010.0.0.1", "198.51.100.1, 10.0.0.1"),
		"X-Forwarded-For, a list, twice":  forwardedFor("198.51.100.1,%252010.0.0.1", "198.51.100.1, 10.0.0.1"),
	})
	runMalformed(t, map[string]malformedTest{
		"a tab within the date":  {cloudFrontWith(map[int]string{0: "2019-1\t-04"}), accesslog.FieldTime, 0},
		"no such day":            {cloudFrontWith(map[int]string{0: "2019-02-29"}), accesslog.FieldTime, 0},
		"time without seconds":   {cloudFrontWith(map[int]string{1: "21:02"}), accesslog.FieldTime, 11},
		"no such time":           {cloudFrontWith(map[int]string{1: "24:00:00"}), accesslog.FieldTime, 11},
		"no address":             {cloudFrontWith(map[int]string{4: "GET"}), accesslog.FieldHost, 29},
		"address with a port":    {cloudFrontWith(map[int]string{4: "1.2.3.4:80"}), accesslog.FieldHost, 29},
		"no method":              {cloudFrontWith(map[int]string{5: ""}), accesslog.FieldRequest, 41},
		"no path":                {cloudFrontWith(map[int]string{7: ""}), accesslog.FieldRequest, 75},
		"no status":              {cloudFrontWith(map[int]string{8: "-"}), accesslog.FieldStatus, 87},
		"status of two digits":   {cloudFrontWith(map[int]string{8: "20"}), accesslog.FieldStatus, 87},
		"as before 2015":         {strings.Join(strings.Split(cloudFrontLine, "\t")[:19], "\t"), accesslog.FieldOther, 340},
		"as before 2019":         {strings.Join(strings.Split(cloudFrontLine, "\t")[:26], "\t"), accesslog.FieldOther, 395},
		"spaces instead of tabs": {strings.ReplaceAll(cloudFrontLine, "\t", " "), accesslog.FieldTime, 11},
	})
}
