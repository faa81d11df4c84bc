package part_test

import (
	"testing"

	"footfall/internal/part"
	"footfall/sketch"
)

func TestPartOfADay(t *testing.T) {
	const day sketch.Day = 20_000
	tests := []struct {
		level part.Level
		run   uint32
		from  sketch.Day
		days  sketch.Day
		text  string
	}{
		{0, 20_000, 20_000, 1, "2024-10-04 of project 7"},
		{1, 2_500, 20_000, 8, "the block [2024-10-04, 2024-10-12) of project 7"},
		{2, 312, 19_968, 64, "the block [2024-09-02, 2024-11-05) of project 7"},
		{3, 39, 19_968, 512, "the block [2024-09-02, 2026-01-27) of project 7"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			id := part.At(7, test.level, day)
			if want := (part.ID{Project: 7, Level: test.level, Run: test.run}); id != want {
				t.Errorf("%+v, expected %+v", id, want)
			}
			if got, want := id.Range(), (sketch.Range{From: test.from, To: test.from + test.days}); got != want {
				t.Errorf("range %v, expected %v", got, want)
			}
			if got := test.level.Days(); got != test.days {
				t.Errorf("%d days, expected %d", got, test.days)
			}
			if got := id.String(); got != test.text {
				t.Errorf("written %q", got)
			}
		})
	}
	if part.MaxLevel != 3 {
		t.Errorf("the highest level is %d: its length is not in the table", part.MaxLevel)
	}
}

func TestGroupOfAPath(t *testing.T) {
	tests := []struct {
		number, group uint32
		slot          uint8
	}{
		{0, 0, 0}, {255, 0, 255}, {256, 1, 0}, {200_000, 781, 64}, {1<<32 - 1, 1<<24 - 1, 255},
	}
	for _, test := range tests {
		group, slot := part.GroupOf(test.number)
		if group != test.group || slot != test.slot {
			t.Errorf("path %d is in group %d, slot %d", test.number, group, slot)
		}
		if got := part.NumberOf(group, slot); got != test.number {
			t.Errorf("path %d is numbered %d", test.number, got)
		}
	}
}
