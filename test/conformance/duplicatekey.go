package conformance

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// duplicateKeys lists the members that stand twice in one object of body. Text that is no JSON has none.
func duplicateKeys(body []byte) []string {
	var found []string
	scanKeys(json.NewDecoder(bytes.NewReader(body)), "", &found)
	return found
}

// scanKeys reads one value from d and reports whether it could.
func scanKeys(d *json.Decoder, at string, found *[]string) bool {
	start, err := d.Token()
	if err != nil {
		return false
	}
	switch start {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			token, _ := d.Token()
			key, ok := token.(string)
			if seen[key] {
				*found = append(*found, at+"/"+key+" stands twice")
			}
			seen[key] = true
			if !ok || !scanKeys(d, at+"/"+key, found) {
				return false
			}
		}
	case json.Delim('['):
		for i := 0; d.More(); i++ {
			if !scanKeys(d, at+"/"+strconv.Itoa(i), found) {
				return false
			}
		}
	default:
		return true
	}
	_, err = d.Token()
	return err == nil
}
