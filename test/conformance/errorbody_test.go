package conformance

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorBody(t *testing.T) {
	message := func(body map[string]any) map[string]any {
		list := body["error"].(map[string]any)["@Message.ExtendedInfo"].([]any)
		return list[0].(map[string]any)
	}
	change := func(name string, value any) func(map[string]any) {
		return func(body map[string]any) { message(body)[name] = value }
	}
	content := func(name string, value any) func(map[string]any) {
		return func(body map[string]any) { body["error"].(map[string]any)[name] = value }
	}
	tests := map[string]struct {
		change func(body map[string]any)
		want   string // empty means correct
	}{
		"correct":                 {func(map[string]any) {}, ""},
		"three version numbers":   {change("MessageId", "Base.1.22.1.ResourceMissingAtURI"), ""},
		"no error":                {func(b map[string]any) { delete(b, "error") }, "no error object"},
		"more than error":         {func(b map[string]any) { b["status"] = 404 }, "additional properties 'status'"},
		"code of no registry":     {content("code", "404"), "error.code"},
		"empty message":           {content("message", ""), "error.message is empty"},
		"no messages":             {content("@Message.ExtendedInfo", []any{}), "no @Message.ExtendedInfo"},
		"messages as an object":   {content("@Message.ExtendedInfo", map[string]any{}), "got object, want array"},
		"another version":         {change("MessageId", "Base.1.8.1.ResourceMissingAtURI"), "not of a known registry version"},
		"another registry":        {change("MessageId", "Ours.1.22.ResourceMissingAtURI"), "not of a known registry version"},
		"unknown key":             {change("MessageId", "Base.1.22.Oops"), "not in the registry"},
		"key alone":               {change("MessageId", "ResourceMissingAtURI"), "not of the form"},
		"too few arguments":       {change("MessageArgs", []any{}), "MessageArgs has 0 of 1 arguments"},
		"too many arguments":      {change("MessageArgs", []any{"a", "b"}), "MessageArgs has 2 of 1 arguments"},
		"arguments null":          {change("MessageArgs", nil), "MessageArgs has 0 of 1 arguments"},
		"no text":                 {change("Message", ""), "no Message"},
		"no resolution":           {func(b map[string]any) { delete(message(b), "Resolution") }, "no Resolution"},
		"only the new severity":   {func(b map[string]any) { delete(message(b), "Severity") }, "Severity is <nil>"},
		"only the old severity":   {func(b map[string]any) { delete(message(b), "MessageSeverity") }, `MessageSeverity is ""`},
		"severities differ":       {change("Severity", "OK"), "Severity is OK"},
		"severity of another set": {change("MessageSeverity", "Fatal"), "value must be one of"},
	}
	schemas := FromEnv(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			body := errorBody("ResourceMissingAtURI", []any{"/x"})
			tt.change(body)
			text, err := json.Marshal(body)
			require.NoError(t, err)
			err = schemas.ErrorBody(text)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestErrorBodyThatIsNoObject(t *testing.T) {
	schemas := FromEnv(t)
	require.ErrorContains(t, schemas.ErrorBody([]byte("404 page not found")), "not valid JSON")
	require.ErrorContains(t, schemas.ErrorBody(nil), "not valid JSON")
}
