package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// judgeEvents is (*decoder).events as the JSON decoder alone has it: nothing is
// plain. It takes the shortest way, not the fastest.
func judgeEvents(body []byte, lines bool, take func(int, *event, error)) error {
	rest := bytes.Trim(body, space)
	if len(rest) == 0 {
		return errNoEvents
	}
	d := newDecoder(64 << 10)
	if rest[0] == '[' && !lines {
		return judgeArray(d, body, take)
	}
	d.reset(rest)
	if err := d.json.SkipValue(); !lines && err == nil && len(d.rest(rest)) == 0 {
		e, err := judgeObject(d, rest)
		take(0, e, err)
		return nil
	}
	index := 0
	for line := range bytes.Lines(rest) {
		if line = bytes.Trim(line, space); len(line) > 0 {
			e, err := judgeObject(d, line)
			take(index, e, err)
			index++
		}
	}
	return nil
}

func judgeArray(d *decoder, body []byte, take func(int, *event, error)) error {
	d.reset(body)
	fail := func(err error) error {
		return fmt.Errorf("the body is not a JSON array of events: %w", d.syntax(err))
	}
	if _, err := d.json.ReadToken(); err != nil {
		return fail(err)
	}
	index := 0
	for ; d.json.PeekKind() != ']'; index++ {
		e, err := judgeNext(d)
		if _, broken := errors.AsType[*syntaxError](err); broken {
			return fail(err)
		}
		take(index, e, err)
	}
	if _, err := d.json.ReadToken(); err != nil {
		return fail(err)
	}
	if len(d.rest(body)) > 0 {
		return fail(errors.New("text follows the array"))
	}
	if index == 0 {
		return errNoEvents
	}
	return nil
}

func judgeObject(d *decoder, text []byte) (*event, error) {
	d.reset(text)
	e, err := judgeNext(d)
	if err == nil && len(d.rest(text)) > 0 {
		return nil, errors.New("text follows the event's JSON object")
	}
	return e, err
}

func judgeNext(d *decoder) (*event, error) {
	if err := d.read(); err != nil {
		return nil, err
	}
	switch {
	case d.event.eventType == nil:
		return &d.event, nil
	case string(d.event.eventType) != viewEvent:
		d.event.foreign = true
		return &d.event, nil
	case d.event.payload == nil:
		return nil, errPayloadMissing
	}
	payload := newDecoder(64 << 10)
	payload.place = (*event).payloadField
	e, err := judgeObject(payload, d.event.payload)
	if err != nil {
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

// checkJudgement holds a decoder to judgeEvents: the same events with the same
// fields, or the same words for what is wrong.
func checkJudgement(t interface{ Fatalf(string, ...any) }, tb testing.TB, d *decoder, body []byte, lines bool) {
	sent := slices.Clone(body)
	got, gotErr := tell(tb, d.events, body, lines)
	want, wantErr := tell(tb, judgeEvents, body, lines)
	if fmt.Sprint(gotErr) != fmt.Sprint(wantErr) || !slices.Equal(got, want) {
		t.Fatalf("of %q (lines %v):\n%+v, %v\nwant\n%+v, %v", body, lines, got, gotErr, want, wantErr)
	}
	if !bytes.Equal(sent, body) {
		t.Fatalf("%q became %q", sent, body)
	}
}

const plainEvent = `{"path":"/caf` + "é\u2028" + `/install","visitorId":"","userAgent":"x","ip":"::1", "traffic" : "ai"	,"timestamp":"2026-03-01T12:00:00Z","page":"x"}`

// Whatever else an event may be, one for each way.
var otherEvents = []string{
	`{}`, `{"path":"\/a"}`, `{"path":null}`, `{"path":1}`, `{"path":"/","path":"/"}`, `{"\u0070ath":"/"}`, `{"page":1,"page":2}`, `{"page":"1","page":"2"}`,
	"{\"path\":\"\xff\"}", "{\"page\":\"\xff\"}", "{\"\xff\":\"x\"}", "{\"path\":\"\xed\xa0\x80\"}", "{\"path\":\"a\tb\"}", "{\"path\":\"\x00\"}", `{"path":"\ud800"}`, `{"path":"\x61"}`,
	"{\n\"path\":\"/\"}", `{"path":"/",}`, `{,}`, `{"path"}`, `{"path":}`, `{"path" "/"}`, `{"path":"/" "ip":"::1"}`, `{"path":"/"`, `{"path":"/`, `{"path`, `{`, `{"path":"/"}x`, `{"path":"/"}{}`, `{"path":"/"}]`,
	`{"payload":"{}"}`, `{"payload":{}}`, `{"eventType":"docs.site.view"}`, `{"eventType":"docs.content.view"}`, `{"eventType":"docs.content.view"}x`,
	`{"eventType":"docs.content.view","payload":""}`, `{"eventType":"docs.content.view","payload":"x"}`, `{"eventType":"docs.content.view","payload":"{}"}`,
	`{"eventType":"docs.content.view","payload":{"path":"/","user_id":"","anon_id":"a","session_id":"s"}}`,
	`{"eventType":"docs.content.view","payload":"{\"path\":\"/\",\"path\":\"/\"}"}`,
	`{"eventType":"docs.content.view","payload":"{\"path\":\"/\"}\n"}`, `{"eventType":"docs.content.view","payload":"{\"path\":\"/\"}\n{}"}`,
	`5`, `null`, `"x"`, `[]`, `[{}]`, `x`, "\x00", "\ufeff{}", `//`, `NaN`,
}

// What must not need the JSON decoder: the fast way is open to it.
func TestWhatIsPlain(t *testing.T) {
	d := newDecoder(64 << 10)
	for _, line := range []string{
		plainEvent, `{"path":""}`, "{\t\"path\" : \"/\" , \"ip\":\"::1\" }\t \r", `{"path":"/docs/日本語/👣/ö"}`, "{\"path\":\"/\u007f\u0080\"}",
		`{"path":"/","page":"x","":"x"}`, `{"path":"/0123456","ip":"01234567","traffic":"012345678"}`,
	} {
		for _, text := range []string{line, line + "\n", line + "\n" + plainEvent} {
			if length := d.plainLine([]byte(text)); length != len(line) {
				t.Errorf("%d bytes of %q, want %d", length, text, len(line))
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range append([]string{plainEvent}, otherEvents...) {
		for _, body := range []string{seed, plainEvent + "\r\n\n" + seed + "\n", "[" + plainEvent + ",\n" + seed + " ]\n", seed + "\n" + plainEvent} {
			f.Add([]byte(body), false)
			f.Add([]byte(body), true)
		}
	}
	d := newDecoder(64 << 10)
	f.Fuzz(func(t *testing.T, body []byte, lines bool) { checkJudgement(t, t, d, body, lines) })
}

// Each text that is one edit away from a good body.
func TestOneByteIsWrong(t *testing.T) {
	// The bytes that mean something, and their neighbours.
	const edits = "\x00\x08\t\n\r\x1f !\"#,/0:[\\]a{}\x7f\x80\xa9\xc3\xed\xff"
	const object = `{"path":"/an/uninteresting/page","visitorId":"é","traffic":"ai"}`
	d := newDecoder(64 << 10)
	for _, body := range []string{object, object + "\r\n" + object + "\n", " [" + object + " ,\n" + object + "]"} {
		for _, lines := range []bool{false, true} {
			for i := range len(body) + 1 {
				checkJudgement(t, t, d, []byte(body[:i]), lines)
				for c := range len(edits) {
					inserted := body[:i] + edits[c:c+1] + body[i:]
					checkJudgement(t, t, d, []byte(inserted), lines)
					if i < len(body) {
						checkJudgement(t, t, d, []byte(inserted[:i+1]+inserted[i+2:]), lines)
					}
				}
				if i < len(body) {
					checkJudgement(t, t, d, []byte(body[:i]+body[i+1:]), lines)
				}
			}
		}
	}
}

// Bytes at random seldom make an event; these are made of events and their parts.
func TestPlainEventsAreJudgedAsAll(t *testing.T) {
	whole := rapid.SampledFrom(append(slices.Repeat([]string{plainEvent}, len(otherEvents)), otherEvents...))
	part := rapid.SampledFrom([]string{
		"{", "}", "[", "]", ",", ":", " ", "\t", "\r", "\n", `"`, `\`, "\x00", "é", "\xff", "1", "null",
		`"path"`, `"visitorId"`, `"/"`, `""`, `"\u0070ath"`, `"path":"/"`, `"ip":"::1"`, `"x":"y"`, `"x":{"y":[]}`,
		`"eventType":"docs.content.view"`, `"payload":{"path":"/"}`, `"payload":"{\"path\":\"/\"}"`,
	})
	made := rapid.Custom(func(t *rapid.T) string {
		return "{" + strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "") + "}"
	})
	gap := rapid.SampledFrom([]string{"\n", "\n", "\n", ",", ",", ",", "\r\n", " \n\t\n", " , ", ",\n", ",,", " ", ""})
	end := rapid.SampledFrom([]string{"", "", "", "\n", " ", "]", "]\n", "],", "[", "]]", "{"})
	d := newDecoder(64 << 10)
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.SampledFrom([]string{"", "", "[", "[", " ", "\n[", "[[", "]", "{"}).Draw(rt, "begin")
		between := gap.Draw(rt, "usual gap")
		for i, e := range rapid.SliceOfN(rapid.OneOf(whole, whole, whole, made), 0, 6).Draw(rt, "events") {
			if i > 0 {
				body += rapid.OneOf(rapid.Just(between), rapid.Just(between), gap).Draw(rt, "gap")
			}
			body += e
		}
		body += end.Draw(rt, "end")
		checkJudgement(rt, t, d, []byte(body), rapid.Bool().Draw(rt, "lines"))
	})
}
