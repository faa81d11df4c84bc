package workload_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"footfall/bench/workload"
	"footfall/sketch"
)

// firstDay is 2026-01-01, a Thursday.
const firstDay sketch.Day = 20454

// The bytes of a seed are the same on every machine, for every version of Go,
// and from now on: published results name the seed they were measured with.
func TestGolden(t *testing.T) {
	t.Run("access log", func(t *testing.T) {
		sum := sha256.New()
		if _, err := newAccessLog(t, workload.AccessLogConfig{Seed: 42, From: firstDay, Days: 9, Lines: 3_000}).Write(sum); err != nil {
			t.Fatal(err)
		}
		checkSum(t, sum.Sum(nil), "0454b7019b0da54601c8aca8124ce386f2057bea8b3d5ac8dc72793a056cec86")
	})
	t.Run("events", func(t *testing.T) {
		sum := sha256.New()
		if _, err := newEvents(t, workload.EventsConfig{Seed: 42, From: firstDay, Events: 3_000}).WriteTo(sum); err != nil {
			t.Fatal(err)
		}
		checkSum(t, sum.Sum(nil), "435ad08a84b3918600f8a073fc53667b5c321747f6cd910df1a9eecc14ac2eb4")
	})
}

func checkSum(t *testing.T, got []byte, want string) {
	t.Helper()
	if hex.EncodeToString(got) != want {
		t.Errorf("SHA-256 of the output is %x, want %s", got, want)
	}
}

func newAccessLog(t testing.TB, config workload.AccessLogConfig) *workload.AccessLog {
	t.Helper()
	log, err := workload.NewAccessLog(config)
	if err != nil {
		t.Fatalf("NewAccessLog: %v", err)
	}
	return log
}

func newEvents(t testing.TB, config workload.EventsConfig) *workload.Events {
	t.Helper()
	events, err := workload.NewEvents(config)
	if err != nil {
		t.Fatalf("NewEvents: %v", err)
	}
	return events
}
