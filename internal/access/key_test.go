package access_test

import (
	"bytes"
	"encoding/base32"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"footfall/internal/access"
)

func address(s string) netip.Addr { return netip.MustParseAddr(s) }

// All letters and digits, so that a double click takes all but the prefix, and
// 32 characters of 5 bits each: 160 random bits.
var (
	keyText = regexp.MustCompile(`^ff_[a-z2-7]{32}$`)
	keyID   = regexp.MustCompile(`^key_[a-z2-7]{16}$`)
)

func TestKeyText(t *testing.T) {
	o := newOffice(t)
	seen := make(map[string]bool)
	for range 50 {
		text, key := o.key(access.KeySpec{Scope: access.Read})
		if !keyText.MatchString(text) {
			t.Errorf("key %q, want %v", text, keyText)
		}
		if !keyID.MatchString(key.ID) {
			t.Errorf("key ID %q, want %v", key.ID, keyID)
		}
		if seen[text] || seen[key.ID] {
			t.Errorf("key %q or its ID %q was given before", text, key.ID)
		}
		seen[text], seen[key.ID] = true, true
	}
	if got := len(o.Keys()); got != 50 {
		t.Errorf("%d keys, want 50", got)
	}
}

// Every random bit is in the text, and none is in the ID that lists show.
func TestKeyTextIsAllOfTheRandomness(t *testing.T) {
	o := newOffice(t)
	next := byte(0)
	o.random = readerFunc(func(b []byte) (int, error) {
		for i := range b {
			b[i] = next
			next++
		}
		return len(b), nil
	})
	text, key := o.key(access.KeySpec{Scope: access.Read})
	decode := func(s string) []byte {
		b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(s))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	secret := decode(strings.TrimPrefix(text, "ff_"))
	id := decode(strings.TrimPrefix(key.ID, "key_"))
	if len(secret) < 20 {
		t.Errorf("%d random bytes, want at least 20", len(secret))
	}
	drawn := append(secret, id...)
	for i, b := range drawn {
		if int(b) != i {
			t.Fatalf("the text and the ID hold % x, want each byte drawn, once", drawn)
		}
	}
}

func TestKeyTextIsNotStored(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	var secrets [][]byte
	for range 2 {
		text, _ := o.key(access.KeySpec{Scope: access.Ingest, Project: "docs", Name: "find me"})
		key, err := o.Authenticate([]string{"Bearer " + text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Authorize(key, address("192.0.2.1"), "docs", access.Ingest); err != nil {
			t.Fatal(err)
		}
		random := strings.TrimPrefix(text, "ff_")
		raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(random))
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, []byte(random), []byte(strings.ToUpper(random)), raw)
	}
	search := func(when string) (found bool) {
		err := filepath.WalkDir(o.dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			file, err := os.Open(path)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			// Badger preallocates much more than the few kilobytes it holds here.
			content, err := io.ReadAll(io.LimitReader(file, 1<<20))
			if err != nil {
				return err
			}
			found = found || bytes.Contains(content, []byte("find me"))
			for _, secret := range secrets {
				if bytes.Contains(content, secret) {
					t.Errorf("%s: %s holds a key", when, path)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	// Before tables are compressed: what is looked for can be found.
	if !search("while open") {
		t.Error("not even the keys' name was found; the search sees nothing")
	}
	o.reopen()
	search("after a reopen")
	for _, secret := range secrets {
		if bytes.Contains(o.log.Bytes(), secret) {
			t.Error("the log holds a key")
		}
	}
}

func TestCreateKeyRefuses(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	now := o.clock.Now()
	tests := []struct {
		name string
		spec access.KeySpec
		want error
	}{
		{"no scope", access.KeySpec{}, access.ErrScope},
		{"unknown scope", access.KeySpec{Scope: "write"}, access.ErrScope},
		{"scope in capitals", access.KeySpec{Scope: "Admin"}, access.ErrScope},
		{"expired", access.KeySpec{Scope: access.Read, Expires: now.Add(-time.Second)}, access.ErrExpires},
		{"expires now", access.KeySpec{Scope: access.Read, Expires: now}, access.ErrExpires},
		{"unknown project", access.KeySpec{Scope: access.Read, Project: "wiki"}, access.ErrProjectUnknown},
		{"long name", access.KeySpec{Scope: access.Read, Name: strings.Repeat("x", 101)}, access.ErrName},
		{"long name beyond ASCII", access.KeySpec{Scope: access.Read, Name: strings.Repeat("é", 101)}, access.ErrName},
		{"name of two lines", access.KeySpec{Scope: access.Read, Name: "a\nb"}, access.ErrName},
		{"name with an escape sequence", access.KeySpec{Scope: access.Read, Name: "a\x1b[31m"}, access.ErrName},
		{"name with a C1 control", access.KeySpec{Scope: access.Read, Name: "a\u009b31m"}, access.ErrName},
		{"name that turns the text around", access.KeySpec{Scope: access.Read, Name: "a\u202eb"}, access.ErrName},
		{"name that is no UTF-8", access.KeySpec{Scope: access.Read, Name: "a\xff"}, access.ErrName},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, _, err := o.CreateKey(test.spec)
			if !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			if text != "" || len(o.Keys()) != 0 {
				t.Errorf("a key was made: %q, %v", text, o.Keys())
			}
		})
	}
}

func TestCreateKeyTakes(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	expires := o.clock.Now().Add(90 * 24 * time.Hour)
	for _, spec := range []access.KeySpec{
		{Scope: access.Admin},
		{Scope: access.Read, Project: "docs", Expires: expires},
		{Scope: access.Ingest, Name: strings.Repeat("x", 100)},
		{Scope: access.Ingest, Name: strings.Repeat("é", 100)},
		{Scope: access.Read, Name: "build server №2 (Zürich)", Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
	} {
		_, key := o.key(spec)
		if key.Scope != spec.Scope || key.Project != spec.Project || key.Name != spec.Name || !key.Expires.Equal(spec.Expires) {
			t.Errorf("made %+v of %+v", key, spec)
		}
		if !key.Created.Equal(o.clock.Now()) || key.LastUsed != 0 {
			t.Errorf("created %v, last used %v", key.Created, key.LastUsed)
		}
	}
}

func TestParseScope(t *testing.T) {
	for _, s := range []string{"admin", "read", "ingest"} {
		if scope, err := access.ParseScope(s); err != nil || string(scope) != s {
			t.Errorf("%s: %q, %v", s, scope, err)
		}
	}
	for _, s := range []string{"", "ADMIN", "read ", "write", "read,ingest"} {
		if _, err := access.ParseScope(s); !errors.Is(err, access.ErrScope) {
			t.Errorf("%q: %v, want ErrScope", s, err)
		}
	}
}

func TestParseAllow(t *testing.T) {
	taken := map[string]string{
		"192.0.2.7":              "192.0.2.7/32",
		"10.0.0.0/8":             "10.0.0.0/8",
		"10.1.2.3/8":             "10.0.0.0/8",
		"0.0.0.0/1":              "0.0.0.0/1",
		"2001:db8::1":            "2001:db8::1/128",
		"2001:db8::1/32":         "2001:db8::/32",
		"::/1":                   "::/1",
		"::ffff:192.0.2.7":       "192.0.2.7/32",
		"::ffff:10.1.2.3/104":    "10.0.0.0/8",
		"::ffff:192.0.2.128/121": "192.0.2.128/25",
	}
	for s, want := range taken {
		if got, err := access.ParseAllow(s); err != nil || got.String() != want {
			t.Errorf("%s: %v, %v, want %s", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", " ", "localhost", "10.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.256", "10.0.0.0/8 ", "10.0.0.0-10.0.0.9",
		"2001:db8::/129", "fe80::1%eth0", "10.0.0.1:80",
		// Every address: no bound at all.
		"0.0.0.0/0", "10.0.0.0/0", "::/0", "2001:db8::/0", "::ffff:0.0.0.0/96", "::ffff:10.0.0.0/96",
		// A part of it are all IPv4 addresses, as IPv6 has them.
		"::ffff:10.0.0.0/95",
	} {
		if got, err := access.ParseAllow(s); !errors.Is(err, access.ErrAllow) {
			t.Errorf("%q: %v, %v, want ErrAllow", s, got, err)
		}
	}
}

func TestKeysAreListedByProjectThenCreation(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	o.project("wiki")
	want := make(map[string]string)
	for i, made := range []struct{ project, place string }{
		{"wiki", "3"}, {"docs", "1"}, {"", "0"}, {"wiki", "4"}, {"docs", "2"},
	} {
		o.clock.set(newClock().now.Add(time.Duration(i) * time.Minute))
		_, key := o.key(access.KeySpec{Scope: access.Read, Project: made.project})
		want[made.place] = key.ID
	}
	for i, key := range o.Keys() {
		if place := string(rune('0' + i)); key.ID != want[place] {
			t.Errorf("place %s: a key of project %q, created %v", place, key.Project, key.Created)
		}
	}
}

func TestRevoke(t *testing.T) {
	o := newOffice(t)
	revoked, key := o.key(access.KeySpec{Scope: access.Admin})
	kept, _ := o.key(access.KeySpec{Scope: access.Admin})
	if err := o.RevokeKey(key.ID); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		if _, err := o.Authenticate([]string{"Bearer " + revoked}); !errors.Is(err, access.ErrKeyInvalid) {
			t.Errorf("%s: the revoked key: %v, want ErrKeyInvalid", when, err)
		}
		if _, err := o.Authenticate([]string{"Bearer " + kept}); err != nil {
			t.Errorf("%s: the other key: %v", when, err)
		}
		if got := len(o.Keys()); got != 1 {
			t.Errorf("%s: %d keys, want 1", when, got)
		}
	}
	check("at once")
	o.reopen()
	check("after a reopen")
	for _, id := range []string{key.ID, "", "key_missing", kept} {
		if err := o.RevokeKey(id); !errors.Is(err, access.ErrKeyUnknown) {
			t.Errorf("revoking %q: %v, want ErrKeyUnknown", id, err)
		}
	}
	check("after revoking others")
}
