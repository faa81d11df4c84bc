package service

import (
	"context"
	"fmt"
	"time"

	"footfall/bench/client"
)

const (
	blocksDue    = "footfall_blocks_due"
	settleWithin = 3 * time.Minute
	settlePoll   = time.Second
	idle         = settlePoll / 20 // of processor time between two looks; a look takes some of it
)

// Settle waits until the server has merged all days that are over into blocks and
// is idle, and returns how long that took: up to a minute passes before it writes a
// checkpoint, which comes before. That no block is due does not suffice, since a
// server may not know it yet while it writes a checkpoint.
func (s *Server) Settle(ctx context.Context) (time.Duration, error) {
	started := time.Now()
	before, err := s.Process().Usage()
	for err == nil {
		if err := client.Wait(ctx, settlePoll); err != nil {
			return 0, err
		}
		metrics, err := s.Metrics(ctx)
		if err != nil {
			return 0, err
		}
		now, err := s.Process().Usage()
		if err != nil {
			return 0, err
		}
		took, ran := time.Since(started), now.CPU-before.CPU
		if metrics[blocksDue] == 0 && ran <= idle {
			return took, nil
		}
		if took > settleWithin {
			return took, fmt.Errorf("%.0f blocks are due and %v of processor time went into the last second, %v after the last page view",
				metrics[blocksDue], ran, settleWithin)
		}
		before = now
	}
	return 0, err
}
