// Package storetest is the conformance suite of stores: the laws that every store
// of page views keeps, seen through the four methods that the rest of Footfall
// calls.
//
// What a ranking must say is counted here once more, the plain way (truth.go),
// so that no store is measured by itself.
package storetest
