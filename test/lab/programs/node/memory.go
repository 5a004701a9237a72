package node

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// memory keeps what no object says: when something was first seen and what was asked of a guest over virt-handler's endpoint.
type memory struct {
	mu   sync.Mutex
	seen map[types.UID]map[string]time.Time
	ask  map[types.UID]string
}

// age is the time since what was first asked about, 0 the first time.
func (m *memory) age(uid types.UID, what string) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = map[types.UID]map[string]time.Time{}
	}
	if m.seen[uid] == nil {
		m.seen[uid] = map[string]time.Time{}
	}
	since, ok := m.seen[uid][what]
	if !ok {
		m.seen[uid][what] = time.Now()
		return 0
	}
	return time.Since(since)
}

// restart makes the next age of what 0.
func (m *memory) restart(uid types.UID, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen[uid], what)
}

// asked keeps a command for a guest; the empty one takes it away.
func (m *memory) asked(uid types.UID, command string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ask == nil {
		m.ask = map[types.UID]string{}
	}
	m.ask[uid] = command
}

func (m *memory) command(uid types.UID) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ask[uid]
}

func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.seen, uid)
	delete(m.ask, uid)
}
