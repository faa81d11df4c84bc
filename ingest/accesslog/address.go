package accesslog

import "bytes"

// isAddressList reports whether b is a list of IP addresses as X-Forwarded-For
// has it: separated by commas, with or without spaces.
func isAddressList(b []byte) bool {
	for {
		address, rest, more := bytes.Cut(b, []byte(","))
		if !isAddress(bytes.Trim(address, " ")) {
			return false
		}
		if !more {
			return true
		}
		b = rest
	}
}

// isAddress reports whether b looks like an IPv4 or IPv6 address without a port.
// It tells addresses from other fields, durations and host names among them; it
// does not check groups of IPv6. (netip.ParseAddr does, but allocates.)
func isAddress(b []byte) bool {
	colons := bytes.Count(b, []byte(":"))
	if colons == 0 {
		return isIPv4(b)
	}
	if colons < 2 {
		return false
	}
	for _, c := range b {
		if c != ':' && c != '.' && hexDigit(c) > 15 {
			return false
		}
	}
	return true
}

func isIPv4(b []byte) bool {
	octet, digits, dots := 0, 0, 0
	for _, c := range b {
		switch {
		case isDigit(c):
			octet = octet*10 + int(c-'0')
			digits++
		case c == '.' && digits > 0:
			octet, digits = 0, 0
			dots++
		default:
			return false
		}
		if octet > 255 || digits > 3 {
			return false
		}
	}
	return dots == 3 && digits > 0
}

// withoutPort returns the address that stands before a colon and a port, without
// the brackets that IPv6 may have there. What has no port it returns as it is.
func withoutPort(b []byte) []byte {
	colon := bytes.LastIndexByte(b, ':')
	if colon < 0 || colon == len(b)-1 || digitCount(b[colon+1:]) < len(b)-colon-1 {
		return b
	}
	b = b[:colon]
	if len(b) > 2 && b[0] == '[' && b[len(b)-1] == ']' {
		b = b[1 : len(b)-1]
	}
	return b
}

// present returns the value of a header as a log has it: nil where that is
// nothing or the "-" that stands for nothing.
func present(value []byte) []byte {
	if len(value) == 0 || string(value) == "-" {
		return nil
	}
	return value
}
