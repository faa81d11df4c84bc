package agentjobs

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"github.com/dgraph-io/badger/v4"

	"footfall/internal/access"
	"footfall/internal/api"
	"footfall/internal/database"
)

// receiptLifetime is how long an idempotency key is remembered.
const receiptLifetime = 48 * time.Hour

// receipt is what a request with an idempotency key was answered.
type receipt struct {
	Body    [sha256.Size]byte `json:"body"`
	Answer  []byte            `json:"answer"`
	Created time.Time         `json:"created"`
}

// once is a request that may have an idempotency key.
type once struct {
	js      *Jobs
	project access.Project
	sum     [sha256.Size]byte // of what the key is for; zero without a key
	keyed   bool
	body    [sha256.Size]byte
}

var (
	errKeyReused  = &api.Error{Status: http.StatusUnprocessableEntity, Message: "Idempotency-Key was used with another body in the last 48 hours"}
	errKeyRunning = &api.Error{Status: http.StatusConflict, Message: "the first request with this Idempotency-Key is still being answered", RetryAfter: time.Second}
)

// newOnce reads the idempotency key of a request. A key is for one project, one
// route and one job.
func (js *Jobs) newOnce(r *http.Request, project access.Project, route, id string, body []byte) (*once, error) {
	key, keyed, err := api.IdempotencyKey(r.Header.Values("Idempotency-Key"))
	if err != nil {
		return nil, err
	}
	return &once{
		js: js, project: project, keyed: keyed,
		sum:  sha256.Sum256([]byte(project.ID + "\n" + route + "\n" + id + "\n" + key)),
		body: sha256.Sum256(body),
	}, nil
}

// begin returns the answer that the first request got, nil where this is the first.
// Then end is to be called.
func (o *once) begin() (answer []byte, end func(), err error) {
	if !o.keyed {
		return nil, func() {}, nil
	}
	o.js.mu.Lock()
	defer o.js.mu.Unlock()
	if o.js.requests[o.sum] {
		return nil, nil, errKeyRunning
	}
	var first receipt
	var found bool
	err = o.js.db.View(func(txn *badger.Txn) error {
		found, err = database.GetJSON(txn, database.JobReceiptKey(o.project.Number, o.sum), database.KindJobReceipt, &first)
		return err
	})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("looking for an idempotency key: %w", err)
	case found && o.js.options.Now().Before(first.Created.Add(receiptLifetime)):
		if first.Body != o.body {
			return nil, nil, errKeyReused
		}
		return first.Answer, nil, nil
	}
	o.js.requests[o.sum] = true
	return nil, func() {
		o.js.mu.Lock()
		defer o.js.mu.Unlock()
		delete(o.js.requests, o.sum)
	}, nil
}

// keep keeps the answer beside what the request changed, in one step.
func (o *once) keep(txn *badger.Txn, j *job) error {
	if !o.keyed {
		return nil
	}
	return database.SetJSON(txn, database.JobReceiptKey(o.project.Number, o.sum), database.KindJobReceipt,
		receipt{Body: o.body, Answer: api.Encode(j.told()), Created: o.js.time()})
}

// removeReceipts forgets the idempotency keys of a project whose time is over.
func (js *Jobs) removeReceipts(project access.Project, now time.Time) error {
	var over [][]byte
	err := js.db.View(func(txn *badger.Txn) error {
		return database.Each(txn, database.JobReceiptPrefix(project.Number), database.KindJobReceipt, func(key, payload []byte) error {
			var r receipt
			if err := database.DecodeJSON(key, payload, &r); err != nil {
				return err
			}
			if len(over) < 1000 && !now.Before(r.Created.Add(receiptLifetime)) {
				over = append(over, append([]byte(nil), key...))
			}
			return nil
		})
	})
	if err != nil || len(over) == 0 {
		return err
	}
	return js.db.Update(func(txn *badger.Txn) error {
		for _, key := range over {
			if err := txn.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
}
