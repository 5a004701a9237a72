package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDuplicateKeysAreFoundInEveryObject(t *testing.T) {
	tests := map[string]struct {
		body string
		want []string
	}{
		"none":                 {`{"a":{"a":1},"b":[{"a":1},{"a":2}]}`, nil},
		"at the top":           {`{"a":1,"b":2,"a":3}`, []string{"/a stands twice"}},
		"in an object":         {`{"a":{"b":1,"b":1}}`, []string{"/a/b stands twice"}},
		"in an array":          {`{"a":[1,{"b":1,"b":[]}],"c":1}`, []string{"/a/1/b stands twice"}},
		"after a nested one":   {`{"a":{},"b":[],"a":1}`, []string{"/a stands twice"}},
		"written another way":  {`{"a":1,"\u0061":2}`, []string{"/a stands twice"}},
		"three times":          {`{"a":1,"a":2,"a":3}`, []string{"/a stands twice", "/a stands twice"}},
		"before it breaks off": {`{"a":1,"a":2,`, []string{"/a stands twice"}},
		"no JSON":              {`not found`, nil},
		"nothing":              {``, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, duplicateKeys([]byte(tt.body)))
		})
	}
}
