package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/database"
	"footfall/sketch"
)

// knownReceipts is how many receipts of a project are kept.
type knownReceipts struct {
	loaded   bool
	refusals uint64 // as of which, and of
	sweeps   uint64 // which, the count was read
	count    int    // those that expired and were not removed yet included
	swept    time.Time
}

// inFlight is the error of a batch whose receipt is that of another one, which
// waits to be durable.
type inFlight struct{ batch *pending }

func (e *inFlight) Error() string { return "a batch of the same idempotency key is being written" }

// FindReceipt returns the receipt that a project's batch left under the SHA-256 of
// an idempotency key. found is false where there is none within its lifetime.
func (s *Store) FindReceipt(ctx context.Context, project sketch.ProjectNumber, key [32]byte) (receipt sketch.Receipt, found bool, err error) {
	if err := s.awaitFolded(ctx, s.queue.acknowledged()); err != nil {
		return sketch.Receipt{}, false, err
	}
	stored, err := s.receipt(project, key)
	if err != nil || stored == nil || stored.Expired(s.now()) {
		return sketch.Receipt{}, false, err
	}
	return *stored, true, nil
}

// receipt returns the folded receipt of a key, also one that has expired, or nil.
func (s *Store) receipt(project sketch.ProjectNumber, key [32]byte) (receipt *sketch.Receipt, err error) {
	s.mu.Lock()
	for _, o := range []*overlay{s.active, s.flushing} {
		if o == nil || o.projects[project] == nil {
			continue
		}
		if receipt = o.projects[project].receipts[key]; receipt != nil {
			s.mu.Unlock()
			return receipt, nil
		}
	}
	s.mu.Unlock()
	err = s.db.View(func(txn *badger.Txn) error {
		under := database.ReceiptKey(project, key)
		payload, stored, err := database.Get(txn, under, database.KindReceipt)
		if err != nil || !stored {
			return err
		}
		if receipt, err = decodeReceipt(payload); err != nil {
			return &sketch.CorruptionError{Key: under, Reason: err.Error()}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the receipt of an idempotency key: %w", err)
	}
	return receipt, nil
}

// checkReceipt refuses a batch whose idempotency key was used, and one whose key
// would be one too many. The caller holds the project.
func (s *Store) checkReceipt(ctx context.Context, p *project, b sketch.Batch) error {
	if b.Receipt == nil {
		return nil
	}
	if first := s.queue.receipt(b.Project, b.Receipt.Key); first != nil {
		return &inFlight{batch: first}
	}
	stored, err := s.receipt(b.Project, b.Receipt.Key)
	if err != nil {
		return err
	}
	if stored != nil && !stored.Expired(s.now()) {
		return sketch.ErrRepeated
	}
	k := &p.receipts
	if err := s.countReceipts(ctx, b.Project, k); err != nil {
		return err
	}
	if k.count >= s.limits.Receipts && s.now().Sub(k.swept).Abs() >= time.Minute {
		k.swept = s.now()
		if err := s.checkpoint(); err != nil { // Those in the overlay count too.
			return err
		}
		if err := s.sweepOne(b.Project); err != nil {
			return err
		}
		k.loaded = false
		if err := s.countReceipts(ctx, b.Project, k); err != nil {
			return err
		}
	}
	if k.count >= s.limits.Receipts {
		return sketch.ErrTooManyReceipts
	}
	return nil
}

// countReceipts counts the receipts of a project, unless it is known.
func (s *Store) countReceipts(ctx context.Context, project sketch.ProjectNumber, k *knownReceipts) error {
	refusals, sweeps := s.refusals.Load(), s.sweeps.Load()
	if k.loaded && k.refusals == refusals && k.sweeps == sweeps {
		return nil
	}
	var gathered [][32]byte
	txn, err := s.settled(ctx, project, func(p *projectOverlay) {
		for key := range p.receipts {
			gathered = append(gathered, key)
		}
	})
	if err != nil {
		return err
	}
	defer txn.Discard()
	count := 0
	err = database.EachKey(txn, database.ReceiptPrefix(project), func([]byte) error {
		count++
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range gathered {
		if _, err := txn.Get(database.ReceiptKey(project, key)); errors.Is(err, badger.ErrKeyNotFound) {
			count++
		}
	}
	k.loaded, k.refusals, k.sweeps, k.count = true, refusals, sweeps, count
	return nil
}

// sweepInterval is how often expired receipts are removed.
const sweepInterval = time.Hour

// sweepReceipts removes the receipts in Badger that have expired. None is removed
// while a checkpoint is written, which may write the same key anew.
func (s *Store) sweepReceipts() error {
	s.checkpointTurn.Lock()
	defer s.checkpointTurn.Unlock()
	s.swept = s.now()
	defer s.sweeps.Add(1)
	txn := s.db.Snapshot()
	defer txn.Discard()
	numbers, err := storedProjects(txn)
	if err != nil {
		return fmt.Errorf("removing expired receipts: %w", err)
	}
	for _, project := range numbers {
		if err := s.sweepProject(txn, project); err != nil {
			return fmt.Errorf("removing expired receipts of project %d: %w", project, err)
		}
	}
	return nil
}

// sweepOne is sweepReceipts for one project.
func (s *Store) sweepOne(project sketch.ProjectNumber) error {
	s.checkpointTurn.Lock()
	defer s.checkpointTurn.Unlock()
	txn := s.db.Snapshot()
	defer txn.Discard()
	if err := s.sweepProject(txn, project); err != nil {
		return fmt.Errorf("removing expired receipts of project %d: %w", project, err)
	}
	return nil
}

func (s *Store) sweepProject(txn *badger.Txn, project sketch.ProjectNumber) error {
	const chunk = 5_000 // Far below what one transaction takes.
	var expired [][]byte
	remove := func() error {
		err := s.db.Update(func(txn *badger.Txn) error {
			for _, key := range expired {
				if err := txn.Delete(key); err != nil {
					return fmt.Errorf("deleting key %q: %w", key, err)
				}
			}
			return nil
		})
		expired = expired[:0]
		return err
	}
	err := database.Each(txn, database.ReceiptPrefix(project), database.KindReceipt, func(key, payload []byte) error {
		receipt, err := decodeReceipt(payload)
		if err != nil {
			return &sketch.CorruptionError{Key: key, Reason: err.Error()}
		}
		if !receipt.Expired(s.now()) {
			return nil
		}
		if expired = append(expired, slices.Clone(key)); len(expired) == chunk {
			return remove()
		}
		return nil
	})
	if err != nil || len(expired) == 0 {
		return err
	}
	return remove()
}

// sweepWhenDue removes expired receipts once an interval.
func (s *Store) sweepWhenDue() {
	s.checkpointTurn.Lock()
	elapsed := s.now().Sub(s.swept)
	due := elapsed >= sweepInterval || elapsed < 0 // Or the clock was set back.
	s.checkpointTurn.Unlock()
	if !due {
		return
	}
	if err := s.sweepReceipts(); err != nil {
		s.logger.Error("Expired idempotency keys could not be removed.", "error", err)
	}
}
