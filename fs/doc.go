// Package fs serves a store as a file system through FUSE. It is the only
// importer of go-fuse, and holds no rule of the log: a node is a thin adapter
// between a file operation and the store, and toErrno makes every errno.
//
//	mount.go      mounting, options, unmounting
//	attr.go       inode numbers, modes, timeouts
//	node_root.go  the root          node_partition.go  a topic-partition
//	node_write.go producing         node_view.go       values and other views
//	node_offset.go, node_time.go    records by offset and by time
//	node_raw.go   segments          node_topics.go     topics
//	node_content.go                 small files made when they are opened
package fs
