package api

import "strings"

// maxKeyBytes bounds an idempotency key.
const maxKeyBytes = 255

var errIdempotencyKey = BadRequest("Idempotency-Key must be one key of 1 to 255 visible ASCII characters, with or without quotes")

// IdempotencyKey reads the Idempotency-Key header: a string with quotes, as the
// draft has it (draft-ietf-httpapi-idempotency-key-header-07, a string of RFC 9651
// section 3.3.3), or the same without, as most clients send it. found is false
// where the header was left out. The error is a 400.
func IdempotencyKey(values []string) (key string, found bool, err error) {
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
		key = values[0]
	default:
		return "", false, errIdempotencyKey
	}
	if strings.HasPrefix(key, `"`) {
		var ok bool
		if key, ok = unquoteKey(key); !ok {
			return "", false, errIdempotencyKey
		}
	}
	if len(key) == 0 || len(key) > maxKeyBytes {
		return "", false, errIdempotencyKey
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return "", false, errIdempotencyKey
		}
	}
	return key, true, nil
}

// unquoteKey reads a string of RFC 9651 section 3.3.3. ok is false for what is none:
// a quote within it that is not escaped, or a backslash that escapes nothing.
func unquoteKey(quoted string) (key string, ok bool) {
	var text strings.Builder
	for i := 1; i < len(quoted); i++ {
		switch c := quoted[i]; c {
		case '"':
			return text.String(), i == len(quoted)-1
		case '\\':
			if i++; i == len(quoted) || quoted[i] != '"' && quoted[i] != '\\' {
				return "", false
			}
			text.WriteByte(quoted[i])
		default:
			text.WriteByte(c)
		}
	}
	return "", false
}
