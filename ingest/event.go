package ingest

// event is one page view as it was sent. A nil field was left out or null.
type event struct {
	path      []byte
	visitorID []byte
	ip        []byte
	userAgent []byte
	traffic   []byte
	timestamp []byte

	// Of an envelope; see envelope.go.
	eventType []byte
	payload   []byte // JSON
	anonID    []byte
	foreign   bool // no page view
}

// field returns where the value of a field goes, or nil for a name that means
// nothing here and is ignored.
func (e *event) field(name []byte) *[]byte {
	switch string(name) {
	case "path":
		return &e.path
	case "visitorId":
		return &e.visitorID
	case "ip":
		return &e.ip
	case "userAgent":
		return &e.userAgent
	case "traffic":
		return &e.traffic
	case "timestamp":
		return &e.timestamp
	case "eventType":
		return &e.eventType
	case "payload":
		return &e.payload
	}
	return nil
}
