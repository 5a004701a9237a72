package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const maxBody = 3 << 20 // the API server's limit

// readJSON reads a request body as JSON. YAML and, for built-in kinds, protobuf are translated.
func readJSON(q *request) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(nil, q.http.Body, maxBody))
	if err != nil {
		return nil, apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	kind, _, err := mime.ParseMediaType(q.http.Header.Get("Content-Type"))
	if err != nil || len(b) == 0 {
		return b, nil //nolint:nilerr // no content type means JSON
	}
	switch kind {
	case "application/json", "application/merge-patch+json", "application/json-patch+json", "application/strategic-merge-patch+json":
		return b, nil
	case "application/yaml":
		if b, err = yaml.YAMLToJSON(b); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return b, nil
	case runtime.ContentTypeProtobuf:
		return fromProtobuf(b)
	}
	return nil, unsupportedMedia(kind)
}

func unsupportedMedia(kind string) error {
	return apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", noResource, "",
		fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: application/json, application/yaml; got %q", kind), 0, false)
}

func fromProtobuf(b []byte) ([]byte, error) {
	obj, gvk, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(b, nil, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	obj.GetObjectKind().SetGroupVersionKind(*gvk)
	if b, err = json.Marshal(obj); err != nil {
		return nil, fmt.Errorf("translate protobuf: %w", err)
	}
	return b, nil
}
