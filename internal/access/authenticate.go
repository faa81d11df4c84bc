package access

import (
	"crypto/sha256"
	"errors"
	"net/netip"
	"strings"

	"footfall/sketch"
)

// Why a key is turned away. The messages are what a client is told; each tells
// no more than the holder of that key may know.
var (
	ErrKeyMissing   = errors.New("an API key is missing; send it as Authorization: Bearer <key>")
	ErrKeyMalformed = errors.New("the Authorization header is not Bearer followed by an API key")
	ErrKeyInvalid   = errors.New("the API key is unknown or revoked")
	ErrKeyExpired   = errors.New("the API key has expired")
	ErrKeyAddress   = errors.New("the API key may not be used from this address")
	ErrKeyScope     = errors.New("the API key's scope does not cover this request")
	ErrKeyProject   = errors.New("the API key does not cover this project")
)

// Authenticate returns the key that the value of an Authorization header names.
// ErrKeyMissing, ErrKeyMalformed, ErrKeyInvalid and ErrKeyExpired say why not.
//
// A key is looked up by the SHA-256 of its text. The time that takes tells how
// much of the digest matches a stored one, and that helps nobody who does not
// know a text with that digest: no comparison of secrets is left to be timed.
func (r *Registry) Authenticate(header []string) (Key, error) {
	if len(header) == 0 {
		return Key{}, ErrKeyMissing
	}
	scheme, text, found := strings.Cut(header[0], " ")
	text = strings.TrimLeft(text, " ")
	if len(header) > 1 || !found || !strings.EqualFold(scheme, "Bearer") || !strings.HasPrefix(text, keyPrefix) {
		return Key{}, ErrKeyMalformed
	}
	r.mu.RLock()
	key, known := r.keys[sha256.Sum256([]byte(text))]
	r.mu.RUnlock()
	if !known {
		return Key{}, ErrKeyInvalid
	}
	if !key.Expires.IsZero() && !r.now().Before(key.Expires) {
		return Key{}, ErrKeyExpired
	}
	return key, nil
}

// Authorize returns the project that a key is used on. ErrKeyAddress,
// ErrKeyScope and ErrKeyProject say that the key does not cover the request; a
// key of one project learns nothing of another, also not whether it exists. Only
// a key over all projects gets ErrProjectUnknown. When all is well, the day is
// remembered as the key's last use.
func (r *Registry) Authorize(key Key, from netip.Addr, project string, allowed ...Scope) (Project, error) {
	switch {
	case !key.allows(from):
		return Project{}, ErrKeyAddress
	case !key.covers(allowed):
		return Project{}, ErrKeyScope
	case key.Project != "" && key.Project != project:
		return Project{}, ErrKeyProject
	}
	p, found := r.Project(project)
	if !found {
		return Project{}, ErrProjectUnknown
	}
	r.touch(key)
	return p, nil
}

func (k Key) allows(from netip.Addr) bool {
	if len(k.Allow) == 0 {
		return true
	}
	from = from.Unmap()
	for _, prefix := range k.Allow {
		if prefix.Contains(from) {
			return true
		}
	}
	return false
}

func (k Key) covers(allowed []Scope) bool {
	if k.Scope == Admin {
		return true
	}
	for _, scope := range allowed {
		if k.Scope == scope {
			return true
		}
	}
	return false
}

// touch remembers the day of a key's last use: one write a key and day.
func (r *Registry) touch(key Key) {
	today := sketch.DayOf(r.now())
	if key.LastUsed >= today {
		return
	}
	r.changing.Lock()
	defer r.changing.Unlock()
	r.mu.RLock()
	current, known := r.keys[key.sum]
	r.mu.RUnlock()
	if !known || current.LastUsed >= today {
		return // Revoked meanwhile, or another request was first.
	}
	current.LastUsed = today
	if err := r.save(current); err != nil {
		// The request itself is sound; only the note of it is missing.
		r.logger.Warn("The last used day of a key was not kept.", "key", key.ID, "error", err)
	}
}
