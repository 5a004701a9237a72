package redfish

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// maxBody is the largest request body in bytes; the largest legitimate one, a certificate, is far smaller.
const maxBody = 128 << 10

// parameters are the members of an action's request body.
type parameters struct {
	action string
	values map[string]json.RawMessage
}

// parameters reads the body of an action. No body at all counts as an empty object, with any content type,
// because common clients send actions without parameters so. Unknown parameters are refused.
func (c *call) parameters(action string, known ...string) (parameters, error) {
	values, err := c.object()
	if err != nil {
		return parameters{}, err
	}
	for name := range values {
		if !slices.Contains(known, name) && !strings.Contains(name, "@") {
			return parameters{}, &Error{Status: http.StatusBadRequest, Message: MsgActionParameterUnknown, Args: []string{action, shorten(name, longestValue)}}
		}
	}
	return parameters{action: action, values: values}, nil
}

// required is the string value of a parameter that must be there.
func (p parameters) required(name string) (string, error) {
	raw, ok := p.values[name]
	if !ok {
		return "", &Error{Status: http.StatusBadRequest, Message: MsgActionParameterMissing, Args: []string{p.action, name}}
	}
	var value *string
	if err := json.Unmarshal(raw, &value); err != nil || value == nil {
		return "", &Error{Status: http.StatusBadRequest, Message: MsgActionParameterValueTypeError, Args: []string{shorten(string(raw), longestValue), name, p.action}, Err: err}
	}
	return *value, nil
}

const (
	// longestValue of a client is shown in full, in bytes.
	longestValue = 64
	// longestPath likewise: every URI of the service is shorter.
	longestPath = 1024
)

// shorten keeps what a client sends from filling an error body or the log.
func shorten(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}

// object reads the request body as a JSON object; nil for an empty one.
func (c *call) object() (map[string]json.RawMessage, error) {
	text, err := io.ReadAll(http.MaxBytesReader(c.ResponseWriter, c.r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, err //nolint:wrapcheck // classified by its type
	case err != nil: // broken off, too slow or badly framed: the client's doing
		return nil, &Error{Status: http.StatusBadRequest, Message: MsgMalformedJSON, Err: err}
	}
	if len(text) == 0 {
		return nil, nil
	}
	if !isJSON(c.r.Header.Get("Content-Type")) {
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Message: MsgUnrecognizedRequestBody}
	}
	if !json.Valid(text) {
		return nil, &Error{Status: http.StatusBadRequest, Message: MsgMalformedJSON}
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return nil, &Error{Status: http.StatusBadRequest, Message: MsgUnrecognizedRequestBody, Err: err}
	}
	return members, nil
}

// isJSON accepts application/json with any parameters, and a missing type: hand-written scripts leave it out.
func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == "application/json"
}
