package database

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewCollector returns Badger's own metrics. Badger keeps them in expvar under
// names of its own, summed over all databases of the process; here they have
// names as Prometheus asks for.
func NewCollector() prometheus.Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("footfall_badger_"+name, help, labels, nil)
	}
	return collectors.NewExpvarCollector(map[string]*prometheus.Desc{
		"badger_read_bytes_lsm":             describe("read_bytes", "Bytes read from tables."),
		"badger_write_bytes_l0":             describe("flushed_bytes", "Bytes written from memtables to level 0."),
		"badger_write_bytes_compaction":     describe("compacted_bytes", "Bytes written by compactions.", "level"),
		"badger_write_bytes_user":           describe("written_bytes", "Bytes of keys and values written."),
		"badger_get_num_user":               describe("gets", "Reads of single keys."),
		"badger_get_num_lsm":                describe("table_gets", "Reads of single keys that went to tables.", "level"),
		"badger_hit_num_lsm_bloom_filter":   describe("bloom_filter_hits", "Reads that a bloom filter kept from a table.", "level"),
		"badger_get_num_memtable":           describe("memtable_gets", "Reads of single keys that went to memtables."),
		"badger_put_num_user":               describe("puts", "Writes of single keys."),
		"badger_iterator_num_user":          describe("iterators", "Iterators made."),
		"badger_size_bytes_lsm":             describe("table_bytes", "Bytes of tables on disk.", "directory"),
		"badger_size_bytes_vlog":            describe("value_log_bytes", "Bytes of the value log on disk.", "directory"),
		"badger_write_pending_num_memtable": describe("pending_writes", "Writes that wait.", "directory"),
		"badger_compaction_current_num_lsm": describe("compacting_tables", "Tables being compacted."),
		"badger_get_with_result_num_user":   describe("gets_found", "Reads of single keys that found something."),
	})
}
