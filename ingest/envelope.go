package ingest

import "errors"

// A hosted documentation platform streams its events in envelopes:
//
//	{"eventType": "docs.content.view", "payload": {"event_id": ..., "user_id": ...,
//	  "anon_id": ..., "session_id": ..., "created_at": ..., "path": ...,
//	  "user_agent": ..., "ip": ...}}
//
// The payload is an object, or a JSON string that holds one.

// viewEvent is the type of those that are page views. Others are ignored.
const viewEvent = "docs.content.view"

var errPayloadMissing = errors.New("payload is required with eventType " + viewEvent)

// payloadField returns where the value of a payload's field goes. The event's and
// the session's ID mean nothing here.
func (e *event) payloadField(name []byte) *[]byte {
	switch string(name) {
	case "path":
		return &e.path
	case "user_id":
		return &e.visitorID
	case "anon_id":
		return &e.anonID
	case "ip":
		return &e.ip
	case "user_agent":
		return &e.userAgent
	case "created_at":
		return &e.timestamp
	}
	return nil
}

// open returns the page view in an envelope. Its visitor is the user, else the
// anonymous ID, else the address and user agent.
func (d *decoder) open(envelope *event) (*event, error) {
	if string(envelope.eventType) != viewEvent {
		envelope.foreign = true
		return envelope, nil
	}
	if envelope.payload == nil {
		return nil, errPayloadMissing
	}
	if d.payload == nil {
		d.payload = newDecoder(d.maxLine)
		d.payload.place = (*event).payloadField
	}
	e, err := d.payload.object(envelope.payload)
	if err != nil {
		// Not wrapped: a syntax error is one of the whole body, and this one
		// leaves what follows the envelope readable.
		return nil, errors.New("payload: " + err.Error())
	}
	if len(e.visitorID) == 0 {
		e.visitorID = e.anonID
	}
	if len(e.visitorID) == 0 {
		e.visitorID = nil
	}
	return e, nil
}
