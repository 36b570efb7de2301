// Package interop holds the tests of klogfs against a real Apache Kafka: the
// broker reads what klogfs wrote, and klogfs what the broker writes.
package interop
