package kubevirt

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
)

const (
	// pageSize bounds the memory of a list: a page of this many objects of 12 KiB is some 3 MiB of JSON.
	pageSize = 250
	// pagesAtOnce bounds the memory of a start: the lists of all namespaces begin at the same time. Two are
	// enough to decode one page while the server makes another.
	pagesAtOnce = 2
	// pageTimeout bounds one page of a list, so that a stuck server is noticed.
	pageTimeout = time.Minute
)

// source lists and watches one resource of one namespace and decodes it straight into records.
type source[W any, R record, P wire[W, R]] struct {
	client rest.Interface
	path   string
	// pages holds a value for each page that is under way, of all sources together.
	pages chan struct{}
	// contact is told of each answer of the server: nil for a good one.
	contact func(err error)
}

// page is one page of a list. It makes records a runtime.Object that a reflector can take apart.
type page[R record] struct {
	metav1.ListMeta
	Items []R
}

func (p *page[R]) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (p *page[R]) DeepCopyObject() runtime.Object   { return p }

// listWatch is the source as a reflector takes it.
func (s *source[W, R, P]) listWatch() clientcache.ListerWatcher {
	return pagedOnly{&clientcache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}}
}

// pagedOnly says that the first state comes as pages, not as a stream of events: a stream is decoded twice and
// costs more than double the CPU, and small pages need no more memory.
type pagedOnly struct{ *clientcache.ListWatch }

// IsWatchListSemanticsUnSupported is asked by the reflector.
func (pagedOnly) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source[W, R, P]) list(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	select {
	case s.pages <- struct{}{}:
		defer func() { <-s.pages }()
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // the reflector looks at its kind
	}
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	request := s.client.Get().AbsPath(s.path).Param("limit", strconv.Itoa(pageSize))
	if opts.Continue != "" {
		request.Param("continue", opts.Continue)
	} else if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		// With version 0 a server answers from its cache in a single page of any size.
		request.Param("resourceVersion", opts.ResourceVersion)
	}
	text, err := answer(request.Do(ctx))
	if err != nil {
		s.contact(err)
		return nil, err //nolint:wrapcheck // the reflector looks at its kind
	}
	var wirePage struct {
		Metadata metav1.ListMeta `json:"metadata"`
		Items    []W             `json:"items"`
	}
	if err := json.Unmarshal(text, &wirePage); err != nil {
		s.contact(err)
		return nil, fmt.Errorf("decoding %s: %w", s.path, err)
	}
	out := &page[R]{ListMeta: wirePage.Metadata, Items: make([]R, 0, len(wirePage.Items))}
	for i := range wirePage.Items {
		kept, err := P(&wirePage.Items[i]).record()
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, kept)
	}
	s.contact(nil)
	return out, nil
}

func (s *source[W, R, P]) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	request := s.client.Get().AbsPath(s.path).Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", opts.ResourceVersion)
	if opts.TimeoutSeconds != nil {
		request.Param("timeoutSeconds", strconv.FormatInt(*opts.TimeoutSeconds, 10))
	}
	stream, err := request.Stream(ctx)
	s.contact(err)
	if err != nil {
		return nil, err //nolint:wrapcheck // the reflector looks at its kind
	}
	events := &eventDecoder[W, R, P]{stream: stream, json: json.NewDecoder(stream)}
	return watch.NewStreamWatcher(events, apierrors.NewClientErrorReporter(500, "watch", "ClientWatchDecoding")), nil
}

// eventDecoder reads the events of a watch.
type eventDecoder[W any, R record, P wire[W, R]] struct {
	stream io.ReadCloser
	json   *json.Decoder
}

// Decode blocks until there is an event.
func (d *eventDecoder[W, R, P]) Decode() (watch.EventType, runtime.Object, error) {
	var frame struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := d.json.Decode(&frame); err != nil {
		return "", nil, err //nolint:wrapcheck // io.EOF is recognised by the caller
	}
	if frame.Type == watch.Error {
		var status metav1.Status
		if err := json.Unmarshal(frame.Object, &status); err != nil {
			return "", nil, fmt.Errorf("decoding a watch error: %w", err)
		}
		return watch.Error, &status, nil
	}
	var object W
	if err := json.Unmarshal(frame.Object, &object); err != nil {
		return "", nil, fmt.Errorf("decoding a watch event: %w", err)
	}
	kept, err := P(&object).record()
	return frame.Type, kept, err
}

// Close ends the watch.
func (d *eventDecoder[W, R, P]) Close() { _ = d.stream.Close() }

// resourceIn and namespaceIn take apart the path of a source.
func resourceIn(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func namespaceIn(path string) string {
	_, rest, _ := strings.Cut(path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	return namespace
}
