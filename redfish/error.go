package redfish

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
)

// Error is a failure told to the client as one registry message. Err is for the log only.
type Error struct {
	Status  int
	Message MessageID
	Args    []string
	// Detail is a second, free-text sentence for the client, as the reason of a refusal; often empty.
	Detail string
	// RetryAfter is sent as Retry-After, in seconds, when not zero.
	RetryAfter int
	Err        error
}

// Error is the text for the log.
func (e *Error) Error() string {
	text := strconv.Itoa(e.Status) + " " + string(e.Message)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Refusal is an error of a platform whose Reason may be told to the client.
type Refusal struct {
	Kind   error // one of the Err values of this package
	Reason string
	Err    error
}

// Error is the text for the log.
func (r *Refusal) Error() string {
	text := r.Kind.Error() + ": " + r.Reason
	if r.Err != nil {
		text += ": " + r.Err.Error()
	}
	return text
}

// Unwrap gives the kind and the cause.
func (r *Refusal) Unwrap() []error {
	if r.Err == nil {
		return []error{r.Kind}
	}
	return []error{r.Kind, r.Err}
}

// retrySeconds is the Retry-After of failures of the platform: longer than a leader election of an API
// server, shorter than the patience of installers.
const retrySeconds = 5

func unavailable(err error) *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Message: MsgServiceTemporarilyUnavailable,
		Args: []string{strconv.Itoa(retrySeconds)}, RetryAfter: retrySeconds, Err: err,
	}
}

// asError maps any error to what the client is told. It is the only place where that is decided.
func asError(uri string, err error) *Error {
	told := classify(uri, err)
	if refusal := (*Refusal)(nil); told.Detail == "" && errors.As(err, &refusal) {
		told.Detail = refusal.Reason
	}
	return told
}

func classify(uri string, err error) *Error {
	var known *Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, auth.ErrUnauthenticated):
		return &Error{Status: http.StatusUnauthorized, Message: MsgAccessUnauthorized, Err: err}
	case errors.Is(err, ErrNotFound):
		return &Error{Status: http.StatusNotFound, Message: MsgResourceMissingAtURI, Args: []string{uri}, Err: err}
	case errors.Is(err, ErrConflict):
		return &Error{Status: http.StatusConflict, Message: MsgGeneralError, Err: err}
	case errors.As(err, &tooLarge):
		return &Error{Status: http.StatusRequestEntityTooLarge, Message: MsgPayloadTooLarge, Err: err}
	case errors.Is(err, ErrNotReady), errors.Is(err, ErrUnavailable), errors.Is(err, ErrForbidden),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return unavailable(err)
	default:
		return &Error{Status: http.StatusInternalServerError, Message: MsgInternalError, Err: err}
	}
}

// errorBody is the error response of DSP0266, section "Error responses".
type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Code    string    `json:"code"`
	Message string    `json:"message"`
	Info    []Message `json:"@Message.ExtendedInfo"`
}

func (e *Error) body() errorBody {
	m := newMessage(e.Message, e.Args)
	info := []Message{m}
	if e.Detail != "" {
		reason := newMessage(MsgGeneralError, nil)
		reason.Message = e.Detail
		reason.MessageSeverity, reason.Severity = HealthWarning, HealthWarning
		info = append(info, reason)
	}
	return errorBody{Error: errorDetail{Code: m.MessageID, Message: m.Message, Info: info}}
}
