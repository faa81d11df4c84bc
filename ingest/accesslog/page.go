package accesslog

import "bytes"

// IsView reports whether a request is one for content that was answered with
// it: a GET with status 200 to 299, or 304, where the client already had it.
func IsView(method []byte, status int) bool {
	return string(method) == "GET" && (status >= 200 && status <= 299 || status == 304)
}

// IsPage reports whether path, normalised, is a page that someone reads: neither
// an asset, told by the ending of its last segment without regard to case, nor
// /robots.txt. Paths without an ending are pages, and so are .html, .md and .txt.
func IsPage(path []byte) bool {
	if string(path) == "/robots.txt" {
		return false
	}
	segment := path[bytes.LastIndexByte(path, '/')+1:]
	dot := bytes.LastIndexByte(segment, '.')
	return dot < 0 || !isAssetEnding(segment[dot+1:])
}

// isAssetEnding knows the endings of style sheets, scripts, images, fonts, media,
// archives and machine-readable data, without their dot.
func isAssetEnding(ending []byte) bool {
	const longest = len("woff2")
	if len(ending) > longest {
		return false
	}
	// In place, since bytes.ToLower allocates, and bytes.EqualFold would
	// compare with each of them.
	var lower [longest]byte
	for i := range len(ending) {
		c := ending[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	switch string(lower[:len(ending)]) {
	case "css", "js", "mjs", "map",
		"png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico",
		"woff", "woff2", "ttf", "otf", "eot",
		"mp3", "mp4", "webm", "ogg", "wav",
		"zip", "gz", "tgz", "bz2", "xz", "7z", "rar",
		"xml", "json", "rss", "atom":
		return true
	}
	return false
}
