package ingest

// event is one page view as it was sent. A nil field was left out or null.
type event struct {
	path      []byte
	visitorID []byte
	ip        []byte
	userAgent []byte
	traffic   []byte
	timestamp []byte
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
	}
	return nil
}
