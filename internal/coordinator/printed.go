package coordinator

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
)

// What Kafka's dump tool prints of some values is not what its JSON converters
// make of them: the state of a transaction has its name, and what the members
// of a group of consumers sent is decoded.

// stateNames are the states of a transaction, by number.
var stateNames = []string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

// nameState puts the name of a transaction's state in the place of its number;
// one that there is not stays, as text. Nothing before it is text, so the first
// place is the field's.
func nameState(json string) string {
	const field = `"transactionStatus":`
	before, rest, _ := strings.Cut(json, field)
	name, after, _ := strings.Cut(rest, ",")
	if state, err := strconv.Atoi(name); err == nil && state >= 0 && state < len(stateNames) {
		name = stateNames[state]
	}
	return before + field + `"` + name + `",` + after
}

// The types that schemas.txt has for what members send.
const (
	consumers    = "consumer"
	subscription = 0
	assignment   = 1
	newestMember = 3

	groupMetadata = 2
)

// decodeMembers puts the subscriptions and assignments of the members of a
// group of consumers in the place of their bytes. What can't be decoded stays.
// A quote within a string is escaped, so only fields are found.
func decodeMembers(json string) string {
	if !strings.Contains(json, `"protocolType":"consumer"`) {
		return json
	}
	json = decodeField(json, `"subscription":`, subscription)
	return decodeField(json, `"assignment":`, assignment)
}

func decodeField(json, name string, typ int16) string {
	var dst []byte
	for {
		before, rest, ok := strings.Cut(json, name+`"`)
		if !ok {
			return string(append(dst, json...))
		}
		text, after, _ := strings.Cut(rest, `"`)
		dst = append(append(dst, before...), name...)
		if decoded, ok := memberJSON(typ, text); ok {
			dst = append(dst, decoded...)
		} else {
			dst = append(append(append(dst, '"'), text...), '"')
		}
		json = after
	}
}

func memberJSON(typ int16, text string) ([]byte, bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	version, ok := prefix(b)
	if !ok {
		return nil, false
	}
	known := min(max(version, 0), newestMember)
	r := reader{b: b[2:]}
	dst := schemas()[recordKind{consumers, typ, true, known}].appendJSON(nil, &r)
	// Kafka reads a version below the oldest as that, and one above the newest
	// as that too, unless there are partitions in it.
	tooNew := version > newestMember && bytes.Contains(dst, []byte(`{"topic":`))
	return dst, !r.bad && !tooNew
}
