package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/store"
)

const (
	bookmarkInterval    = 10 * time.Second
	defaultWatchTimeout = 30 * time.Minute
	initialEventsEnd    = "k8s.io/initial-events-end"
)

// watcher streams the changes of one kind to one client.
type watcher struct {
	api  *api
	q    *request
	sel  selection
	form form
	out  *json.Encoder
	rc   *http.ResponseController

	seen    uint64 // everything up to here is in pending or sent
	pending []delayed
}

// delayed is an event that a watch-lag fault may hold back.
type delayed struct {
	store.Event
	due time.Time
}

func (a *api) watch(w http.ResponseWriter, q *request) error {
	sel, err := selectionOf(q)
	if err != nil {
		return err
	}
	seconds, err := intParam(q, "timeoutSeconds")
	if err != nil {
		return err
	}
	timeout := defaultWatchTimeout
	if seconds > 0 {
		timeout = time.Duration(seconds) * time.Second
	}
	if q.query.Get("sendInitialEvents") != "" && q.query.Get("resourceVersionMatch") != string(metav1.ResourceVersionMatchNotOlderThan) {
		return apierrors.NewBadRequest("resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
	}
	s := &watcher{api: a, q: q, sel: sel, form: formOf(q, a.store), out: json.NewEncoder(w), rc: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	if err := s.run(timeout); err != nil {
		a.log.Debug("watch ended", "resource", q.resource, "err", err)
	}
	return nil
}

func (s *watcher) run(timeout time.Duration) error {
	if err := s.start(); err != nil {
		return err
	}
	end := s.api.wall.NewTimer(timeout)
	defer end.Stop()
	bookmarks := s.api.wall.NewTicker(bookmarkInterval)
	defer bookmarks.Stop()
	dropped := s.api.faults.dropped(s.q.resource)
	mark := false
	for {
		changed, err := s.fetch()
		if err != nil {
			return s.sendError(err)
		}
		wake, err := s.flush()
		if err != nil {
			return err
		}
		if mark {
			if err := s.bookmark(false); err != nil {
				return err
			}
		}
		mark = false
		select {
		case <-changed:
		case <-wake:
		case <-bookmarks.C():
			mark = true
		case <-dropped:
			panic(http.ErrAbortHandler)
		case <-end.C():
			return nil
		case <-s.q.http.Context().Done():
			return nil
		}
	}
}

// start sends what exists, when the client asked for it, and sets where to go on.
func (s *watcher) start() error {
	rv := s.q.query.Get("resourceVersion")
	initial := s.q.query.Get("sendInitialEvents") == "true"
	if !initial && rv != "" && rv != "0" {
		if _, err := fmt.Sscanf(rv, "%d", &s.seen); err != nil {
			return s.sendError(apierrors.NewBadRequest("invalid resource version: " + rv))
		}
		return s.rc.Flush()
	}
	snap := s.api.store.List(s.q.typ)
	s.seen = snap.Revision
	if s.q.query.Get("sendInitialEvents") != "false" {
		for _, o := range snap.Objects {
			if s.sel.matches(o) {
				if err := s.send(watch.Added, o); err != nil {
					return err
				}
			}
		}
	}
	if initial {
		if err := s.bookmark(true); err != nil {
			return err
		}
	}
	return s.rc.Flush()
}

func (s *watcher) fetch() (<-chan struct{}, error) {
	events, upTo, changed, err := s.api.store.Changes(s.q.typ, s.seen)
	if err != nil {
		return nil, err
	}
	due := s.api.wall.Now().Add(s.api.faults.watchLag(s.q))
	for _, e := range events {
		s.pending = append(s.pending, delayed{e, due})
	}
	s.seen = max(s.seen, upTo)
	return changed, nil
}

// flush sends what is due and returns a channel that fires when more will be; nil when nothing waits.
func (s *watcher) flush() (<-chan time.Time, error) {
	sent := false
	for len(s.pending) > 0 {
		e := s.pending[0]
		if wait := e.due.Sub(s.api.wall.Now()); wait > 0 {
			return s.api.wall.After(wait), s.flushIf(sent)
		}
		s.pending = s.pending[1:]
		if how, o := s.visible(e.Event); o != nil {
			sent = true
			if err := s.send(how, o); err != nil {
				return nil, err
			}
		}
	}
	return nil, s.flushIf(sent)
}

func (s *watcher) flushIf(sent bool) error {
	if !sent {
		return nil
	}
	return s.rc.Flush()
}

// visible translates an event for the selection: an object that enters it is added, one that leaves it is deleted.
func (s *watcher) visible(e store.Event) (watch.EventType, *store.Object) {
	now := e.Type != watch.Deleted && s.sel.matches(e.Object)
	before := e.Previous != nil && s.sel.matches(e.Previous)
	switch {
	case now && before:
		return watch.Modified, e.Object
	case now:
		return watch.Added, e.Object
	case before:
		return watch.Deleted, e.Object
	}
	return "", nil
}

type frame struct {
	Type   watch.EventType `json:"type"`
	Object json.RawMessage `json:"object"`
}

func (s *watcher) send(how watch.EventType, o *store.Object) error {
	b, err := s.form.object(o)
	if err != nil {
		return err
	}
	return s.out.Encode(frame{how, b})
}

// bookmark tells the client how far it is. While events are held back there is nothing true to tell.
func (s *watcher) bookmark(initialEnd bool) error {
	if (s.q.query.Get("allowWatchBookmarks") != "true" && !initialEnd) || len(s.pending) > 0 {
		return nil
	}
	meta := map[string]any{"resourceVersion": store.FormatRevision(s.seen), "creationTimestamp": nil}
	if initialEnd {
		meta["annotations"] = map[string]string{initialEventsEnd: "true"}
	}
	b, err := json.Marshal(map[string]any{"apiVersion": s.q.typ.APIVersion(), "kind": s.q.typ.Kind, "metadata": meta})
	if err != nil {
		return fmt.Errorf("encode bookmark: %w", err)
	}
	if err := s.out.Encode(frame{watch.Bookmark, b}); err != nil {
		return err
	}
	return s.rc.Flush()
}

func (s *watcher) sendError(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	st := status.Status()
	st.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	b, err := json.Marshal(&st)
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	if err := s.out.Encode(frame{watch.Error, b}); err != nil {
		return err
	}
	return s.rc.Flush()
}
