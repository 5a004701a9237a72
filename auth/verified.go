package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"io"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// digest identifies a credential within this process and is of no use outside it.
type digest [sha256.Size]byte

// digester computes HMAC-SHA256 under a key that lives as long as the process.
type digester struct{ pool sync.Pool }

// digestState is kept in the pool: making an HMAC costs seven allocations, resetting one none.
type digestState struct {
	mac hash.Hash
	buf []byte
	sum digest
}

func newDigester(random io.Reader) (*digester, error) {
	key := make([]byte, sha256.Size)
	if _, err := io.ReadFull(random, key); err != nil {
		return nil, err
	}
	return &digester{pool: sync.Pool{New: func() any {
		return &digestState{mac: hmac.New(sha256.New, key), buf: make([]byte, 0, maxBasicHeader)}
	}}}, nil
}

func (d *digester) sum(text string) digest {
	state := d.pool.Get().(*digestState)
	state.buf = append(state.buf[:0], text...)
	state.mac.Reset()
	state.mac.Write(state.buf)
	clear(state.buf)
	state.mac.Sum(state.sum[:0])
	sum := state.sum
	d.pool.Put(state)
	return sum
}

// verifiedCache remembers which credentials have been verified, and against which password. It holds neither rights
// nor the credential.
type verifiedCache struct {
	entries *lru.Cache[digest, *verifiedEntry]
	life    time.Duration
}

type verifiedEntry struct {
	name     UserName
	password Password
	used     atomic.Int64 // unix nanoseconds
}

func newVerifiedCache(size int, life time.Duration) *verifiedCache {
	entries, err := lru.New[digest, *verifiedEntry](size)
	if err != nil {
		panic("auth: the size of the credential cache must be positive")
	}
	return &verifiedCache{entries: entries, life: life}
}

// find returns the account as it is in the directory now, if the credential was verified against the password that
// the account still has. Every use prolongs the life of the entry.
func (c *verifiedCache) find(d *Directory, key digest, now time.Time) (Account, bool) {
	entry, ok := c.entries.Get(key)
	if !ok {
		return Account{}, false
	}
	account, known := d.accounts[entry.name]
	expired := now.UnixNano()-entry.used.Load() > int64(c.life)
	if !known || expired || account.Password != entry.password {
		c.entries.Remove(key)
		return Account{}, false
	}
	entry.used.Store(now.UnixNano())
	return account, true
}

func (c *verifiedCache) remember(key digest, account Account, now time.Time) {
	entry := &verifiedEntry{name: account.Name, password: account.Password}
	entry.used.Store(now.UnixNano())
	c.entries.Add(key, entry)
}
