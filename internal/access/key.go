package access

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// What a change of keys may answer.
var (
	// ErrScope: the scope is none of admin, read and ingest.
	ErrScope = errors.New("scope must be admin, read or ingest")
	// ErrAllow: an address range is not one, or allows every address.
	ErrAllow = errors.New("allow takes addresses and CIDR ranges, and not all addresses at once")
	// ErrExpires: the expiry lies in the past.
	ErrExpires = errors.New("a key must expire in the future")
	// ErrName: the name is too long or holds control characters.
	ErrName = errors.New("a key's name has at most 100 printable characters")
	// ErrKeyUnknown: there is no key of this ID.
	ErrKeyUnknown = errors.New("there is no such key")
)

// Scope is what a key allows.
type Scope string

// The scopes. Admin includes the other two.
const (
	Admin  Scope = "admin"
	Read   Scope = "read"
	Ingest Scope = "ingest"
)

// ParseScope reads a scope. Anything but the three words is an ErrScope.
func ParseScope(s string) (Scope, error) {
	switch scope := Scope(s); scope {
	case Admin, Read, Ingest:
		return scope, nil
	}
	return "", fmt.Errorf("scope %q: %w", s, ErrScope)
}

// Key is an API key without its text.
type Key struct {
	ID      string
	Name    string
	Scope   Scope
	Project string // ID of the project; empty means all projects
	Created time.Time
	Expires time.Time // zero means never
	// LastUsed is the UTC day of the last request the key was good for; 0 means
	// never used.
	LastUsed sketch.Day
	Allow    []netip.Prefix // empty means any address

	sum [sha256.Size]byte
}

// KeySpec is what a new key is to be.
type KeySpec struct {
	Name    string
	Scope   Scope
	Project string
	Expires time.Time
	Allow   []netip.Prefix
}

// storedKey is a key as the database holds it, under the SHA-256 of its text.
type storedKey struct {
	ID       string         `json:"id"`
	Name     string         `json:"name,omitempty"`
	Scope    Scope          `json:"scope"`
	Project  string         `json:"project,omitempty"`
	Created  time.Time      `json:"created"`
	Expires  time.Time      `json:"expires,omitzero"`
	LastUsed sketch.Day     `json:"lastUsed,omitempty"`
	Allow    []netip.Prefix `json:"allow,omitempty"`
}

// ParseAllow reads an address or a CIDR range. One that holds every address is
// refused with ErrAllow: it would say that there is a bound where there is none.
func ParseAllow(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		addr, addrErr := netip.ParseAddr(s)
		if addrErr != nil || addr.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("allow %q: %w", s, ErrAllow)
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	if addr := prefix.Addr(); addr.Is4In6() {
		// A client's address is told as IPv4, which an IPv6 range never contains.
		prefix = netip.PrefixFrom(addr.Unmap(), max(prefix.Bits()-96, 0))
	}
	if prefix.Bits() == 0 {
		return netip.Prefix{}, fmt.Errorf("allow %q: %w", s, ErrAllow)
	}
	return prefix.Masked(), nil
}

// encoding of the random parts of keys and their IDs: letters and digits that
// can not be mistaken in a double click.
var encoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

const (
	keyPrefix   = "ff_"
	keyBytes    = 20 // 160 random bits
	keyIDPrefix = "key_"
	keyIDBytes  = 10
)

// CreateKey makes a key, synced to disk when it returns. The text is returned
// here and never again. ErrScope, ErrExpires, ErrName and ErrProjectUnknown say
// why not.
func (r *Registry) CreateKey(spec KeySpec) (text string, key Key, err error) {
	if _, err := ParseScope(string(spec.Scope)); err != nil {
		return "", Key{}, err
	}
	now := r.now().UTC().Truncate(time.Second)
	if !spec.Expires.IsZero() && !spec.Expires.After(now) {
		return "", Key{}, ErrExpires
	}
	if !validName(spec.Name) {
		return "", Key{}, ErrName
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	if spec.Project != "" {
		if _, found := r.Project(spec.Project); !found {
			return "", Key{}, fmt.Errorf("project %q: %w", spec.Project, ErrProjectUnknown)
		}
	}
	var secret [keyBytes]byte
	var id [keyIDBytes]byte
	if err := errors.Join(r.random(secret[:]), r.random(id[:])); err != nil {
		return "", Key{}, fmt.Errorf("making a key: %w", err)
	}
	text = keyPrefix + encoding.EncodeToString(secret[:])
	key = Key{
		ID:      keyIDPrefix + encoding.EncodeToString(id[:]),
		Name:    spec.Name,
		Scope:   spec.Scope,
		Project: spec.Project,
		Created: now,
		Expires: spec.Expires.UTC().Truncate(time.Second),
		Allow:   slices.Clone(spec.Allow),
		sum:     sha256.Sum256([]byte(text)),
	}
	if err := r.save(key); err != nil {
		return "", Key{}, fmt.Errorf("creating a key: %w", err)
	}
	return text, key, nil
}

func validName(name string) bool {
	unprintable := func(c rune) bool { return !unicode.IsPrint(c) }
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= 100 && !strings.ContainsFunc(name, unprintable)
}

// Keys returns all keys by project, then by creation.
func (r *Registry) Keys() []Key {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.keys), func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
}

// RevokeKey removes the key of this ID. It takes effect before RevokeKey
// returns.
func (r *Registry) RevokeKey(id string) error {
	r.changing.Lock()
	defer r.changing.Unlock()
	for _, key := range r.Keys() {
		if key.ID != id {
			continue
		}
		err := r.db.Update(func(txn *badger.Txn) error { return txn.Delete(database.APIKeyKey(key.sum)) })
		if err != nil {
			return fmt.Errorf("revoking key %s: %w", id, err)
		}
		r.mu.Lock()
		delete(r.keys, key.sum)
		r.mu.Unlock()
		return nil
	}
	return fmt.Errorf("key %q: %w", id, ErrKeyUnknown)
}

// save writes a key to the database and puts it into memory. The caller holds
// r.changing.
func (r *Registry) save(key Key) error {
	stored := storedKey{
		ID: key.ID, Name: key.Name, Scope: key.Scope, Project: key.Project,
		Created: key.Created, Expires: key.Expires, LastUsed: key.LastUsed, Allow: key.Allow,
	}
	err := r.db.Update(func(txn *badger.Txn) error {
		return database.SetJSON(txn, database.APIKeyKey(key.sum), database.KindKey, stored)
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.keys[key.sum] = key
	r.mu.Unlock()
	return nil
}
