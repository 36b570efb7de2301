package dump

import "fmt"

// Messages decodes the key and the value of a record of an internal topic to
// text. The value is "" when there is none to print.
type Messages func(offset int64, key, value []byte) (keyText, valueText string, err error)

// message prints a record as its decoder has it.
func (d *dumper) message(r *record, prefix string) error {
	key, value, err := d.Messages(r.offset, r.key, r.value)
	if err != nil {
		return fmt.Errorf("decode the record at offset %d: %w", r.offset, err)
	}
	out := &d.out
	out.b = append(append(append(out.b, prefix...), "key: "...), key...)
	if value != "" {
		out.b = append(append(out.b, " payload: "...), value...)
	}
	return nil
}
