package sketch

import "time"

// Receipt is what the sender of a batch was answered, kept with the batch under
// the sender's idempotency key (draft-ietf-httpapi-idempotency-key-header), so
// that the same batch may be sent again and counts once.
type Receipt struct {
	Key  [32]byte // SHA-256 of the idempotency key
	Body [32]byte // SHA-256 of what was sent
	// Taken is when the batch was taken, in Unix seconds.
	Taken int64
	// Answer is what to answer again. The store does not look into it.
	Answer []byte
}

// ReceiptLifetime is how long a receipt is kept.
const ReceiptLifetime = 48 * time.Hour

// ReceiptsPerProject is how many receipts of a project are kept within their
// lifetime. A batch with one key more is refused; none is forgotten early.
const ReceiptsPerProject = 1_000_000

// Expired reports whether the receipt's lifetime is over.
func (r *Receipt) Expired(now time.Time) bool {
	return now.Sub(time.Unix(r.Taken, 0)) >= ReceiptLifetime
}
