package database

import (
	"encoding/binary"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"footfall/sketch"
)

// JobID is the ID of an agent job, a UUID of version 7 (RFC 9562 section 5.7):
// so jobs sort by when they were created.
type JobID [16]byte

// AllJobsPrefix begins the keys of the agent jobs of any project.
func AllJobsPrefix() []byte { return []byte{prefixJobs} }

// JobsPrefix begins the keys of the agent jobs of one project: its settings, jobs,
// messages, logs and receipts.
func JobsPrefix(project sketch.ProjectNumber) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixJobs}, uint64(project))
}

// JobsProject returns the project whose agent jobs a key belongs to.
func JobsProject(key []byte) (sketch.ProjectNumber, error) {
	if len(key) < 9 || key[0] != prefixJobs {
		return 0, fmt.Errorf("key %q names no project", key)
	}
	return sketch.ProjectNumber(binary.BigEndian.Uint64(key[1:])), nil
}

// JobSettingsKey is the key of what the operator set for a project's agent jobs.
func JobSettingsKey(project sketch.ProjectNumber) []byte {
	return append(JobsPrefix(project), jobSettings)
}

// JobPrefix begins the keys of a project's jobs.
func JobPrefix(project sketch.ProjectNumber) []byte {
	return append(JobsPrefix(project), jobRecord)
}

// JobKey is the key of a job.
func JobKey(project sketch.ProjectNumber, id JobID) []byte {
	return append(JobPrefix(project), id[:]...)
}

// JobMessagePrefix begins the keys of a job's messages.
func JobMessagePrefix(project sketch.ProjectNumber, id JobID) []byte {
	return append(append(JobsPrefix(project), jobMessage), id[:]...)
}

// JobMessageKey is the key of a message by its number in its job.
func JobMessageKey(project sketch.ProjectNumber, id JobID, number uint32) []byte {
	return binary.BigEndian.AppendUint32(JobMessagePrefix(project, id), number)
}

// JobLogPrefix begins the keys of a job's log.
func JobLogPrefix(project sketch.ProjectNumber, id JobID) []byte {
	return append(append(JobsPrefix(project), jobLog), id[:]...)
}

// JobLogKey is the key of some lines of a job's log by the number of the first.
func JobLogKey(project sketch.ProjectNumber, id JobID, line uint32) []byte {
	return binary.BigEndian.AppendUint32(JobLogPrefix(project, id), line)
}

// JobLogLine returns the number of the first line in the key of some.
func JobLogLine(key []byte) (uint32, error) {
	const header = 1 + 8 + 1 + 16
	if len(key) != header+4 {
		return 0, fmt.Errorf("key %q names no lines of a log", key)
	}
	return binary.BigEndian.Uint32(key[header:]), nil
}

// JobReceiptPrefix begins the keys of the receipts of a project's requests for
// agent jobs.
func JobReceiptPrefix(project sketch.ProjectNumber) []byte {
	return append(JobsPrefix(project), jobReceipt)
}

// JobReceiptKey is the key of the receipt under the SHA-256 of what it is for.
func JobReceiptKey(project sketch.ProjectNumber, sum [32]byte) []byte {
	return append(JobReceiptPrefix(project), sum[:]...)
}

// EachJobsProject calls visit with the prefix of every project that has keys of
// agent jobs. Each costs one seek. The prefix may be kept.
func EachJobsProject(txn *badger.Txn, visit func(prefix []byte) error) error {
	opts := badger.DefaultIteratorOptions
	opts.Prefix = AllJobsPrefix()
	opts.PrefetchValues = false
	cursor := txn.NewIterator(opts)
	defer cursor.Close()
	for cursor.Rewind(); cursor.Valid(); {
		project, err := JobsProject(cursor.Item().Key())
		if err != nil {
			return err
		}
		if err := visit(JobsPrefix(project)); err != nil {
			return err
		}
		cursor.Seek(JobsPrefix(project + 1))
	}
	return nil
}
