package conformance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// registry is a message registry of DSP8011.
type registry struct {
	RegistryPrefix  string
	RegistryVersion string // three numbers
	Messages        map[string]struct{ NumberOfArgs int }
}

func readRegistries(dir string) (map[string]registry, error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("registry directory: %w", err)
	}
	out := map[string]registry{}
	for _, entry := range names {
		var r registry
		if err := readJSON(filepath.Join(dir, entry.Name()), &r); err != nil {
			return nil, err
		}
		if r.RegistryPrefix != "" { // the folder has the privilege registry, too
			out[r.RegistryPrefix] = r
		}
	}
	if _, ok := out["Base"]; !ok {
		return nil, errors.New("registry directory: no Base registry")
	}
	return out, nil
}

// messageID is prefix, version in two or three numbers, key.
var messageID = regexp.MustCompile(`^([A-Za-z]+)\.([0-9]+\.[0-9]+(?:\.[0-9]+)?)\.([A-Za-z]+)$`)

// arguments returns how many arguments the message has, or why there is no such message. The version
// is that of the registry at hand, with or without the last number.
func (s *Schemas) arguments(id string) (int, error) {
	m := messageID.FindStringSubmatch(id)
	if m == nil {
		return 0, fmt.Errorf("%q is not of the form Registry.x.y.Key", id)
	}
	r := s.registries[m[1]]
	if r.RegistryVersion != m[2] && !strings.HasPrefix(r.RegistryVersion, m[2]+".") {
		return 0, fmt.Errorf("%q is not of a known registry version", id)
	}
	message, ok := r.Messages[m[3]]
	if !ok {
		return 0, fmt.Errorf("%q is not in the registry", id)
	}
	return message.NumberOfArgs, nil
}

// ErrorBody checks the body of an error response: the error schema, message ids that exist, and what
// clients read of each message, Severity next to MessageSeverity included.
func (s *Schemas) ErrorBody(body []byte) error {
	object, err := decode(body)
	if err != nil {
		return err
	}
	if _, ok := object["error"].(map[string]any); !ok {
		return errors.New("no error object")
	}
	errs := []error{s.ValidateObject(object)}
	content, _ := object["error"].(map[string]any)
	if text, _ := content["message"].(string); text == "" {
		errs = append(errs, errors.New("error.message is empty"))
	}
	code, _ := content["code"].(string)
	if _, err := s.arguments(code); err != nil {
		errs = append(errs, fmt.Errorf("error.code: %w", err))
	}
	messages, _ := content["@Message.ExtendedInfo"].([]any)
	if len(messages) == 0 {
		errs = append(errs, errors.New("no @Message.ExtendedInfo"))
	}
	for i, m := range messages {
		message, _ := m.(map[string]any)
		for _, text := range s.messageProblems(message) {
			errs = append(errs, fmt.Errorf("message %d: %s", i, text))
		}
	}
	return errors.Join(errs...)
}

func (s *Schemas) messageProblems(message map[string]any) []string {
	var out []string
	for _, name := range []string{"MessageId", "Message", "Resolution"} {
		if text, _ := message[name].(string); text == "" {
			out = append(out, "no "+name)
		}
	}
	severity, _ := message["MessageSeverity"].(string)
	if !slices.Contains([]string{"OK", "Warning", "Critical"}, severity) || message["Severity"] != severity {
		out = append(out, fmt.Sprintf("MessageSeverity is %q, Severity is %v", severity, message["Severity"]))
	}
	id, _ := message["MessageId"].(string)
	if want, err := s.arguments(id); err != nil {
		out = append(out, "MessageId: "+err.Error())
	} else if args, isArray := message["MessageArgs"].([]any); !isArray || len(args) != want {
		out = append(out, fmt.Sprintf("MessageArgs has %d of %d arguments", len(args), want))
	}
	return out
}

// errorProblems checks an error response with its headers.
func (s *Schemas) errorProblems(a *answer) []string {
	r := &resource{got: a}
	out := slices.Concat(contentType(r), odataVersion(r), cacheControl(r))
	if err := s.ErrorBody(a.body); err != nil {
		out = append(out, strings.Split(err.Error(), "\n")...)
	}
	return out
}
