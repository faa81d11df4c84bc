package forge

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/google/go-github/v84/github"
)

// unnamedPause is how long GitHub wants to be left alone after a secondary limit
// without a time
// (docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api).
const unnamedPause = time.Minute

// longest bounds a time that a forge names, which might overflow otherwise.
const longest = 24 * time.Hour

// limitOf says whether an answer refuses a request for the number of those
// before, and after which time the forge takes another. GitHub's primary limit
// shows in a header; its secondary ones in the address of their documentation,
// which go-github knows, or in Retry-After.
func limitOf(a answer, err error) (bool, time.Duration) {
	if a.status != http.StatusForbidden && a.status != http.StatusTooManyRequests {
		return false, 0
	}
	var secondary *github.AbuseRateLimitError
	switch {
	case a.header.Get("Retry-After") != "":
		return true, retryAfter(a.header)
	case a.header.Get("X-RateLimit-Remaining") == "0":
		seconds, err := strconv.ParseInt(a.header.Get("X-RateLimit-Reset"), 10, 64)
		if err != nil {
			return true, unnamedPause
		}
		return true, bounded(time.Until(time.Unix(seconds, 0)))
	case errors.As(err, &secondary), a.status == http.StatusTooManyRequests:
		return true, unnamedPause
	}
	return false, 0
}

// retryAfter reads the header of this name, seconds or a date (RFC 9110, section
// 10.2.3). What is neither counts as none.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return bounded(time.Duration(min(seconds, int64(longest/time.Second))) * time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return bounded(time.Until(at))
	}
	return 0
}

func bounded(d time.Duration) time.Duration { return min(max(d, 0), longest) }
