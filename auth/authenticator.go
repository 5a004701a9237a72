package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/sync/singleflight"
)

// ErrUnauthenticated is the answer to everything that is not a valid credential. Which part of it was wrong is
// not told to the caller.
var ErrUnauthenticated = errors.New("not authenticated")

// Options of an [Authenticator]. The zero value is right for a server.
type Options struct {
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Rand is read once, for the key of this process; default crypto/rand.
	Rand io.Reader
	// CacheSize is how many verified credentials are remembered; default 1024.
	CacheSize int
	// CacheLife is how long an unused verified credential is remembered; default 5 minutes, which outlasts the
	// polls of common clients (60 s), so that these never pay for bcrypt again.
	CacheLife time.Duration
}

// Authenticator turns the credentials of requests into callers. Its accounts can be replaced while it is in use.
type Authenticator struct {
	directory atomic.Pointer[Directory]
	schemes   []scheme

	now      func() time.Time
	digester *digester
	verified *verifiedCache
	flights  singleflight.Group
	// slots bounds bcrypt to the cores but one, so that verified callers are served while others log in.
	slots   chan struct{}
	compare compareFunc
}

// scheme is one way to present a credential. Its position in the table is its precedence: the first scheme whose
// credential is in the request decides alone.
type scheme struct {
	// present returns the raw credential and whether the request carries one of this kind.
	present func(http.Header) (string, bool)
	// verify returns ErrUnauthenticated for a wrong credential, and another error when it could not be told.
	verify func(context.Context, string) (Principal, error)
}

// NewAuthenticator refuses everyone until SetDirectory. It fails only when no key can be read from Options.Rand.
func NewAuthenticator(o Options) (*Authenticator, error) {
	o = o.withDefaults()
	digester, err := newDigester(o.Rand)
	if err != nil {
		return nil, fmt.Errorf("read the key of the credential cache: %w", err)
	}
	a := &Authenticator{
		now:      o.Now,
		digester: digester,
		verified: newVerifiedCache(o.CacheSize, o.CacheLife),
		slots:    make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
		compare:  bcrypt.CompareHashAndPassword,
	}
	a.schemes = []scheme{
		{present: presentBasic, verify: a.verifyBasic},
	}
	a.directory.Store(&Directory{})
	return a, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.CacheSize <= 0 {
		o.CacheSize = 1024
	}
	if o.CacheLife <= 0 {
		o.CacheLife = 5 * time.Minute
	}
	return o
}

// SetDirectory replaces the accounts. Requests that start afterwards are judged by the new ones: a removed user is
// out, a changed password must be verified again, and roles and grants are the new ones at once.
func (a *Authenticator) SetDirectory(d *Directory) { a.directory.Store(d) }

// Authenticate says who makes the request. It returns [ErrUnauthenticated] for a missing or wrong credential, and
// the error of the request's context when that ended before the credential could be verified. A credential seen
// for the first time blocks for one bcrypt verification and the ones queued before it.
func (a *Authenticator) Authenticate(r *http.Request) (Principal, error) {
	for i := range a.schemes {
		if credential, ok := a.schemes[i].present(r.Header); ok {
			return a.schemes[i].verify(r.Context(), credential)
		}
	}
	return Principal{}, ErrUnauthenticated
}
