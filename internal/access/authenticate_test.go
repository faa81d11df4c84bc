package access_test

import (
	"crypto/sha256"
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/access"
	"footfall/internal/database"
	"footfall/sketch"
)

func TestAuthenticate(t *testing.T) {
	o := newOffice(t)
	text, want := o.key(access.KeySpec{Scope: access.Read})
	other := "ff_" + strings.Repeat("a", 32)
	tests := []struct {
		name   string
		header []string
		want   error
	}{
		{"right", []string{"Bearer " + text}, nil},
		{"schemes have no case", []string{"bEARER " + text}, nil},
		{"more spaces", []string{"Bearer    " + text}, nil},
		{"none", nil, access.ErrKeyMissing},
		{"empty", []string{""}, access.ErrKeyMalformed},
		{"another scheme", []string{"Basic " + text}, access.ErrKeyMalformed},
		{"no scheme", []string{text}, access.ErrKeyMalformed},
		{"no key", []string{"Bearer"}, access.ErrKeyMalformed},
		{"empty key", []string{"Bearer "}, access.ErrKeyMalformed},
		{"no space", []string{"Bearer" + text}, access.ErrKeyMalformed},
		{"no prefix", []string{"Bearer " + strings.TrimPrefix(text, "ff_")}, access.ErrKeyMalformed},
		{"another kind of token", []string{"Bearer eyJhbGciOiJIUzI1NiJ9.e30.x"}, access.ErrKeyMalformed},
		{"two headers", []string{"Bearer " + text, "Bearer " + text}, access.ErrKeyMalformed},
		{"prefix alone", []string{"Bearer ff_"}, access.ErrKeyInvalid},
		{"unknown", []string{"Bearer " + other}, access.ErrKeyInvalid},
		{"in capitals", []string{"Bearer ff_" + strings.ToUpper(text[3:])}, access.ErrKeyInvalid},
		{"cut off", []string{"Bearer " + text[:len(text)-1]}, access.ErrKeyInvalid},
		{"too long", []string{"Bearer " + text + "a"}, access.ErrKeyInvalid},
		{"two keys", []string{"Bearer " + text + " " + text}, access.ErrKeyInvalid},
		{"its ID", []string{"Bearer ff_" + strings.TrimPrefix(want.ID, "key_")}, access.ErrKeyInvalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			key, err := o.Authenticate(test.header)
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if test.want == nil && key.ID != want.ID {
				t.Errorf("key %q, want %q", key.ID, want.ID)
			}
			if test.want != nil && key.ID != "" {
				t.Errorf("a refusal with key %q", key.ID)
			}
		})
	}
}

func TestExpiry(t *testing.T) {
	o := newOffice(t)
	created := o.clock.Now()
	expires := created.Add(90 * 24 * time.Hour)
	text, _ := o.key(access.KeySpec{Scope: access.Read, Expires: expires})
	forever, _ := o.key(access.KeySpec{Scope: access.Read})
	for _, test := range []struct {
		now  time.Time
		want error
	}{
		{created, nil},
		{expires.Add(-time.Nanosecond), nil},
		{expires, access.ErrKeyExpired},
		{expires.Add(time.Nanosecond), access.ErrKeyExpired},
		{expires.AddDate(100, 0, 0), access.ErrKeyExpired},
	} {
		o.clock.set(test.now)
		if _, err := o.Authenticate([]string{"Bearer " + text}); !errors.Is(err, test.want) {
			t.Errorf("at %v: %v, want %v", test.now, err, test.want)
		}
		if _, err := o.Authenticate([]string{"Bearer " + forever}); err != nil {
			t.Errorf("a key that never expires, at %v: %v", test.now, err)
		}
	}
	// An expired key can still be seen and revoked.
	if got := len(o.Keys()); got != 2 {
		t.Errorf("%d keys, want 2", got)
	}
}

func TestAuthorize(t *testing.T) {
	o := newOffice(t)
	docs := o.project("docs")
	o.project("wiki")
	home, away := address("10.1.2.3"), address("192.0.2.1")
	allow := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	forRead, forIngest := []access.Scope{access.Read}, []access.Scope{access.Ingest}
	tests := []struct {
		name    string
		spec    access.KeySpec
		from    netip.Addr
		project string
		scopes  []access.Scope
		want    error
	}{
		{"read reads", access.KeySpec{Scope: access.Read, Project: "docs"}, away, "docs", forRead, nil},
		{"ingest ingests", access.KeySpec{Scope: access.Ingest, Project: "docs"}, away, "docs", forIngest, nil},
		{"admin reads", access.KeySpec{Scope: access.Admin, Project: "docs"}, away, "docs", forRead, nil},
		{"admin ingests", access.KeySpec{Scope: access.Admin, Project: "docs"}, away, "docs", forIngest, nil},
		{"admin over all projects", access.KeySpec{Scope: access.Admin}, away, "docs", forRead, nil},
		{"from an allowed address", access.KeySpec{Scope: access.Read, Project: "docs", Allow: allow}, home, "docs", forRead, nil},

		{"read does not ingest", access.KeySpec{Scope: access.Read, Project: "docs"}, away, "docs", forIngest, access.ErrKeyScope},
		{"ingest does not read", access.KeySpec{Scope: access.Ingest, Project: "docs"}, away, "docs", forRead, access.ErrKeyScope},
		{"no scope is enough", access.KeySpec{Scope: access.Read, Project: "docs"}, away, "docs", nil, access.ErrKeyScope},
		{"another project", access.KeySpec{Scope: access.Admin, Project: "docs"}, away, "wiki", forRead, access.ErrKeyProject},
		{"another project that is not there", access.KeySpec{Scope: access.Admin, Project: "docs"}, away, "blog", forRead, access.ErrKeyProject},
		{"a project without a name", access.KeySpec{Scope: access.Admin, Project: "docs"}, away, "", forRead, access.ErrKeyProject},
		{"all projects, one not there", access.KeySpec{Scope: access.Read}, away, "blog", forRead, access.ErrProjectUnknown},
		{"address not allowed", access.KeySpec{Scope: access.Read, Project: "docs", Allow: allow}, away, "docs", forRead, access.ErrKeyAddress},
		{"no address", access.KeySpec{Scope: access.Read, Project: "docs", Allow: allow}, netip.Addr{}, "docs", forRead, access.ErrKeyAddress},

		// What a key may not know comes first: scope and address tell nothing of
		// the projects, and only a key over all of them gets to a 404.
		{"scope before unknown project", access.KeySpec{Scope: access.Ingest}, away, "blog", forRead, access.ErrKeyScope},
		{"address before unknown project", access.KeySpec{Scope: access.Admin, Allow: allow}, away, "blog", forRead, access.ErrKeyAddress},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text, _ := o.key(test.spec)
			key, err := o.Authenticate([]string{"Bearer " + text})
			if err != nil {
				t.Fatal(err)
			}
			project, err := o.Authorize(key, test.from, test.project, test.scopes...)
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			if test.want == nil && project != docs {
				t.Errorf("project %+v, want %+v", project, docs)
			}
			if test.want != nil && project != (access.Project{}) {
				t.Errorf("a refusal with project %+v", project)
			}
		})
	}
}

func TestAllowedAddresses(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	tests := []struct {
		allow   string
		from    string
		allowed bool
	}{
		{"192.0.2.7", "192.0.2.7", true},
		{"192.0.2.7", "192.0.2.8", false},
		{"192.0.2.7", "::ffff:192.0.2.7", true},
		{"::ffff:192.0.2.7", "192.0.2.7", true},
		{"::ffff:192.0.2.7", "::ffff:192.0.2.7", true},
		{"::ffff:10.0.0.0/104", "10.255.0.1", true},
		{"::ffff:10.0.0.0/104", "11.0.0.1", false},
		{"10.0.0.0/8", "10.255.255.255", true},
		{"10.0.0.0/8", "11.0.0.0", false},
		{"10.9.9.9/8", "10.0.0.1", true},
		{"10.0.0.0/8", "::ffff:10.0.0.1", true},
		{"10.0.0.0/8", "a00::1", false},
		{"2001:db8::/32", "2001:db8:ffff::1", true},
		{"2001:db8::/32", "2001:db9::1", false},
		{"2001:db8::/32", "32.1.13.184", false},
		{"::/1", "192.0.2.7", false},
		{"10.0.0.0/8 2001:db8::/32", "2001:db8::1", true},
		{"10.0.0.0/8 2001:db8::/32", "10.0.0.1", true},
		{"10.0.0.0/8 2001:db8::/32", "192.0.2.1", false},
		{"", "192.0.2.1", true},
		{"", "2001:db8::1", true},
	}
	for _, test := range tests {
		t.Run(test.allow+" from "+test.from, func(t *testing.T) {
			spec := access.KeySpec{Scope: access.Read, Project: "docs"}
			for _, s := range strings.Fields(test.allow) {
				prefix, err := access.ParseAllow(s)
				if err != nil {
					t.Fatal(err)
				}
				spec.Allow = append(spec.Allow, prefix)
			}
			_, key := o.key(spec)
			_, err := o.Authorize(key, address(test.from), "docs", access.Read)
			if allowed := err == nil; allowed != test.allowed || (!allowed && !errors.Is(err, access.ErrKeyAddress)) {
				t.Errorf("%v, want allowed %v", err, test.allowed)
			}
		})
	}
}

// version is the database's version of a stored key: each write raises it.
func (o *office) version(text string) uint64 {
	o.t.Helper()
	var version uint64
	err := o.db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(database.APIKeyKey(sha256.Sum256([]byte(text))))
		if err != nil {
			return err
		}
		version = item.Version()
		return nil
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return version
}

func TestLastUsedIsWrittenOnceADay(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	text, _ := o.key(access.KeySpec{Scope: access.Ingest, Project: "docs"})
	use := func(project string) {
		t.Helper()
		key, err := o.Authenticate([]string{"Bearer " + text})
		if err != nil {
			t.Fatal(err)
		}
		// Refusals are used for what they leave behind.
		_, _ = o.Authorize(key, address("192.0.2.1"), project, access.Ingest)
	}
	expect := func(day sketch.Day) {
		t.Helper()
		if got := o.Keys()[0].LastUsed; got != day {
			t.Errorf("last used on %v, want %v", got, day)
		}
	}
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	today := sketch.DayOf(o.clock.Now())

	created := o.version(text)
	use("wiki")
	expect(0)
	if got := o.version(text); got != created {
		t.Error("a refused request was written as a use")
	}

	use("docs")
	expect(today)
	first := o.version(text)
	if first == created {
		t.Error("the first use was not written")
	}
	o.clock.set(midnight.Add(-time.Nanosecond))
	for range 5 {
		use("docs")
	}
	expect(today)
	if got := o.version(text); got != first {
		t.Error("a use on the same day was written again")
	}

	o.clock.set(midnight)
	use("docs")
	expect(today + 1)
	if got := o.version(text); got == first {
		t.Error("the first use of the next day was not written")
	}
	o.reopen()
	expect(today + 1)
}

// A use that is noted while its key is revoked must not bring the key back.
func TestRevokeWhileInUse(t *testing.T) {
	o := newOffice(t)
	o.project("docs")
	for range 10 {
		text, created := o.key(access.KeySpec{Scope: access.Read, Project: "docs"})
		key, err := o.Authenticate([]string{"Bearer " + text})
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		for range 4 {
			running.Go(func() {
				if _, err := o.Authorize(key, address("192.0.2.1"), "docs", access.Read); err != nil {
					t.Error(err)
				}
			})
		}
		if err := o.RevokeKey(created.ID); err != nil {
			t.Error(err)
		}
		running.Wait()
		if _, err := o.Authenticate([]string{"Bearer " + text}); !errors.Is(err, access.ErrKeyInvalid) {
			t.Fatalf("a revoked key: %v, want ErrKeyInvalid", err)
		}
	}
	o.reopen()
	if got := o.Keys(); len(got) != 0 {
		t.Errorf("revoked keys came back: %v", got)
	}
}
