package redfish

import (
	"fmt"
	"strconv"
)

// MessageID is the key of a message of the Base registry.
type MessageID string

// The messages of the Base registry that the service answers with.
const (
	MsgGeneralError                  MessageID = "GeneralError"
	MsgMalformedJSON                 MessageID = "MalformedJSON"
	MsgUnrecognizedRequestBody       MessageID = "UnrecognizedRequestBody"
	MsgPayloadTooLarge               MessageID = "PayloadTooLarge"
	MsgActionNotSupported            MessageID = "ActionNotSupported"
	MsgActionParameterMissing        MessageID = "ActionParameterMissing"
	MsgActionParameterUnknown        MessageID = "ActionParameterUnknown"
	MsgActionParameterValueTypeError MessageID = "ActionParameterValueTypeError"
	MsgActionParameterValueNotInList MessageID = "ActionParameterValueNotInList"
	MsgActionParameterValueConflict  MessageID = "ActionParameterValueConflict"
	MsgQueryParameterUnsupported     MessageID = "QueryParameterUnsupported"
	MsgResourceMissingAtURI          MessageID = "ResourceMissingAtURI"
	MsgOperationNotAllowed           MessageID = "OperationNotAllowed"
	MsgHeaderInvalid                 MessageID = "HeaderInvalid"
	MsgInsufficientPrivilege         MessageID = "InsufficientPrivilege"
	MsgAccessUnauthorized            MessageID = "AccessUnauthorized"
	MsgServiceTemporarilyUnavailable MessageID = "ServiceTemporarilyUnavailable"
	MsgInternalError                 MessageID = "InternalError"
)

// baseRegistry is the version of the Base registry whose ids and argument counts are used.
const baseRegistry = "Base.1.22"

// message is the text of one id: format takes the arguments as strings, in order.
type message struct {
	args       int
	severity   Health
	format     string
	resolution string
}

// messages holds the wording of every id in use.
var messages = map[MessageID]message{
	MsgGeneralError:                  {0, HealthCritical, "The request failed.", "See the other messages for the reason."},
	MsgMalformedJSON:                 {0, HealthCritical, "The request body is not well-formed JSON.", "Correct the body and send it again."},
	MsgUnrecognizedRequestBody:       {0, HealthWarning, "The request body is not what this URI takes: a JSON object, sent as application/json.", "Send a JSON object with Content-Type application/json."},
	MsgPayloadTooLarge:               {0, HealthCritical, "The request body is larger than the service accepts.", "Send a smaller body."},
	MsgActionNotSupported:            {1, HealthCritical, "There is no action %s on this resource.", "Use an action that the resource lists under Actions."},
	MsgActionParameterMissing:        {2, HealthCritical, "Action %s needs the parameter %s.", "Add the parameter and send the request again."},
	MsgActionParameterUnknown:        {2, HealthWarning, "Action %s has no parameter %s.", "Remove the parameter and send the request again."},
	MsgActionParameterValueTypeError: {3, HealthWarning, "The value %s of parameter %s of action %s has the wrong JSON type.", "Send a value of the type that the schema gives."},
	MsgActionParameterValueNotInList: {3, HealthWarning, "The value %s of parameter %s of action %s is not one of the allowable values.", "Use a value of the AllowableValues annotation of the action."},
	MsgActionParameterValueConflict:  {2, HealthWarning, "Parameter %s cannot be %s in the present state of the resource.", "Wait until the state has changed, then send the request again."},
	MsgQueryParameterUnsupported:     {1, HealthWarning, "The query parameter %s is not supported.", "Leave the query parameter out."},
	MsgResourceMissingAtURI:          {1, HealthCritical, "There is no resource at %s.", "Follow the links from the service root."},
	MsgOperationNotAllowed:           {0, HealthCritical, "This resource does not allow the method.", "Use a method of the Allow header."},
	MsgHeaderInvalid:                 {1, HealthCritical, "The header %s has a value that is not supported.", "Correct the header and send the request again."},
	MsgInsufficientPrivilege:         {0, HealthCritical, "The account's role does not allow this.", "Use an account with the privilege, or have the role changed."},
	MsgAccessUnauthorized:            {0, HealthCritical, "Valid credentials are needed.", "Send the credentials of an account."},
	MsgServiceTemporarilyUnavailable: {1, HealthCritical, "The service cannot do this at the moment; try again in %s seconds.", "Wait for the time given, then send the request again."},
	MsgInternalError:                 {0, HealthCritical, "The service failed on this request and goes on.", "Report it with the request id of the answer."},
}

// Message is one member of @Message.ExtendedInfo. Severity repeats MessageSeverity because older clients
// read only that.
type Message struct {
	ODataType       schema   `json:"@odata.type"`
	MessageID       string   `json:"MessageId"`
	Message         string   `json:"Message"`
	MessageArgs     []string `json:"MessageArgs"`
	MessageSeverity Health   `json:"MessageSeverity"`
	Severity        Health   `json:"Severity,omitempty"`
	Resolution      string   `json:"Resolution"`
	RelatedProps    []string `json:"RelatedProperties,omitempty"`
}

// newMessage words a message. A wrong number of arguments is a defect of the caller and panics in tests and
// production alike, where it becomes a 500.
func newMessage(id MessageID, args []string) Message {
	m, known := messages[id]
	if !known || m.args != len(args) {
		panic(fmt.Sprintf("message %s with %d arguments", id, len(args)))
	}
	quoted := make([]any, len(args))
	for i, arg := range args {
		quoted[i] = strconv.Quote(arg)
	}
	text := fmt.Sprintf(m.format, quoted...)
	if args == nil {
		args = []string{}
	}
	return Message{
		ODataType: schemaMessage, MessageID: baseRegistry + "." + string(id), Message: text, MessageArgs: args,
		MessageSeverity: m.severity, Severity: m.severity, Resolution: m.resolution,
	}
}
