package sketch_test

import (
	"errors"
	"strings"
	"testing"

	"footfall/sketch"
)

func TestTraffic(t *testing.T) {
	tests := []struct {
		text    string
		traffic sketch.Traffic
		stored  uint8
	}{
		{"human", sketch.Human, 0},
		{"ai", sketch.AI, 1},
	}
	for _, test := range tests {
		got, err := sketch.ParseTraffic(test.text)
		if err != nil || got != test.traffic {
			t.Errorf("ParseTraffic(%q) is %v, %v", test.text, got, err)
		}
		if test.traffic.String() != test.text {
			t.Errorf("%d is written %q, expected %q", test.traffic, test.traffic, test.text)
		}
		if uint8(test.traffic) != test.stored {
			t.Errorf("%s is stored as %d, which must stay %d", test.text, test.traffic, test.stored)
		}
	}
}

func TestParseTrafficRefusesOtherWords(t *testing.T) {
	for _, text := range []string{"", "AI", "Human", " ai", "ai ", "bot", "humans", "0"} {
		_, err := sketch.ParseTraffic(text)
		if !errors.Is(err, sketch.ErrTraffic) {
			t.Errorf("ParseTraffic(%q): %v, expected ErrTraffic", text, err)
			continue
		}
		if !strings.Contains(err.Error(), `"`+text+`"`) {
			t.Errorf("ParseTraffic(%q): %q does not name the word", text, err)
		}
	}
}
