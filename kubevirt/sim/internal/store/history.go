package store

import "k8s.io/apimachinery/pkg/watch"

// Event is one change of one object.
type Event struct {
	Type     watch.EventType
	Object   *Object
	Previous *Object // nil for watch.Added
	Revision uint64
}

// history is the bounded list of the last events of one kind, oldest first.
type history struct {
	limit   int
	events  []Event
	dropped uint64 // the revision of the newest event that is no longer kept
	changed chan struct{}
}

func newHistory(limit int) *history {
	return &history{limit: limit, changed: make(chan struct{})}
}

func (h *history) add(e Event) {
	if len(h.events) >= 2*h.limit {
		kept := h.events[len(h.events)-h.limit:]
		h.dropped = h.events[len(h.events)-h.limit-1].Revision
		h.events = append(make([]Event, 0, 2*h.limit), kept...)
	}
	h.events = append(h.events, e)
	close(h.changed)
	h.changed = make(chan struct{})
}

// after returns the events after a revision; false when some of them are no longer kept.
func (h *history) after(revision uint64) ([]Event, bool) {
	if revision < h.dropped {
		return nil, false
	}
	lo, hi := 0, len(h.events)
	for lo < hi {
		if mid := (lo + hi) / 2; h.events[mid].Revision <= revision {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return h.events[lo:len(h.events):len(h.events)], true
}

// expire forgets everything that happened until now.
func (h *history) expire() {
	if n := len(h.events); n > 0 {
		h.dropped = h.events[n-1].Revision
		h.events = nil
	}
}
