package auth

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

func plain(t testing.TB, text string) Password {
	p, err := PlainPassword(text)
	require.NoError(t, err)
	return p
}

func hashed(t testing.TB, text string, cost int) Password {
	hash, err := bcrypt.GenerateFromPassword([]byte(text), cost)
	require.NoError(t, err)
	p, err := HashedPassword(string(hash))
	require.NoError(t, err)
	return p
}

func directory(t testing.TB, accounts ...Account) *Directory {
	d, err := NewDirectory(accounts...)
	require.NoError(t, err)
	return d
}

func request(t testing.TB, user, password string) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/redfish/v1/Systems", nil)
	r.SetBasicAuth(user, password)
	return r
}

// counted makes an authenticator that counts its bcrypt compares and their work (in rounds).
func counted(t testing.TB, o Options, d *Directory) (a *Authenticator, compares, rounds *atomic.Int64) {
	a, err := NewAuthenticator(o)
	require.NoError(t, err)
	compares, rounds = new(atomic.Int64), new(atomic.Int64)
	a.compare = func(hash, password []byte) error {
		cost, err := bcrypt.Cost(hash)
		require.NoError(t, err)
		compares.Add(1)
		rounds.Add(1 << cost)
		if bytes.Equal(hash, unmatchable(cost)) {
			return bcrypt.ErrMismatchedHashAndPassword // as TestDummyHashTakesTheWholeWork shows
		}
		return bcrypt.CompareHashAndPassword(hash, password)
	}
	a.SetDirectory(d)
	return a, compares, rounds
}

func operator(p Password) Account {
	return Account{Name: "operator1", Password: p, Role: Operator, Grants: NewGrants("lab")}
}

func TestOnlyValidCredentialsAuthenticate(t *testing.T) {
	a, _, _ := counted(t, Options{}, directory(t,
		operator(hashed(t, "pw-A", bcrypt.MinCost)),
		Account{Name: "plain", Password: plain(t, "with:colon"), Role: ReadOnly},
	))
	header := func(values ...string) http.Header { return http.Header{"Authorization": values} }
	basic := func(user, password string) http.Header { return request(t, user, password).Header }
	tests := map[string]struct {
		header http.Header
		user   UserName
	}{
		"hashed password":             {basic("operator1", "pw-A"), "operator1"},
		"plaintext with a colon":      {basic("plain", "with:colon"), "plain"},
		"scheme in other case":        {header("bAsIc b3BlcmF0b3IxOnB3LUE="), "operator1"},
		"wrong password":              {basic("operator1", "pw-B"), ""},
		"empty password":              {basic("operator1", ""), ""},
		"prefix of the password":      {basic("plain", "with"), ""},
		"the other user's password":   {basic("plain", "pw-A"), ""},
		"unknown user":                {basic("nobody", "pw-A"), ""},
		"default root/calvin":         {basic("root", "calvin"), ""},
		"default admin/password":      {basic("admin", "password"), ""},
		"default admin/admin":         {basic("admin", "admin"), ""},
		"empty user":                  {basic("", "pw-A"), ""},
		"user in other case":          {basic("Operator1", "pw-A"), ""},
		"no header":                   {http.Header{}, ""},
		"empty header":                {header(""), ""},
		"scheme alone":                {header("Basic"), ""},
		"not base64":                  {header("Basic ???"), ""},
		"no colon":                    {header("Basic b3BlcmF0b3Ix"), ""},
		"other scheme":                {header("Bearer b3BlcmF0b3IxOnB3LUE="), ""},
		"two headers, the first good": {header("Basic b3BlcmF0b3IxOnB3LUE=", "Basic eDp5"), ""},
		"hash given as the password":  {basic("operator1", a.directory.Load().accounts["operator1"].Password.hash), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := request(t, "", "")
			r.Header = test.header
			for range 2 { // the second time the right ones come from the cache
				p, err := a.Authenticate(r)
				if test.user == "" {
					require.ErrorIs(t, err, ErrUnauthenticated)
					require.Equal(t, Principal{}, p)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, test.user, p.User)
			}
		})
	}
}

func TestNoAccountsRefuseEveryone(t *testing.T) {
	a, err := NewAuthenticator(Options{})
	require.NoError(t, err)
	for _, d := range []*Directory{nil, {}, directory(t)} {
		if d != nil {
			a.SetDirectory(d)
		}
		for _, r := range []*http.Request{request(t, "admin", "admin"), request(t, "admin", ""), request(t, "", "")} {
			_, err := a.Authenticate(r)
			require.ErrorIs(t, err, ErrUnauthenticated)
		}
	}
}

func TestEveryAttemptCostsTheSameWork(t *testing.T) {
	const most = 7
	d := directory(t,
		Account{Name: "dear", Password: hashed(t, "right-1", most), Role: Operator},
		Account{Name: "cheap", Password: hashed(t, "right-2", bcrypt.MinCost), Role: Operator},
	)
	a, compares, rounds := counted(t, Options{}, d)
	tests := map[string]struct{ user, password string }{
		"dear, right":  {"dear", "right-1"},
		"dear, wrong":  {"dear", "wrong"},
		"cheap, right": {"cheap", "right-2"},
		"cheap, wrong": {"cheap", "wrong"},
		"unknown user": {"nobody", "right-1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			rounds.Store(0)
			_, _ = a.Authenticate(request(t, test.user, test.password))
			require.EqualValues(t, 1<<most, rounds.Load())
		})
	}

	t.Run("with a plaintext account, one compare of the default cost", func(t *testing.T) {
		a.SetDirectory(directory(t, operator(plain(t, "pw-A")), Account{Name: "h", Password: hashed(t, "x", bcrypt.DefaultCost), Role: ReadOnly}))
		for _, r := range []*http.Request{
			request(t, "operator1", "pw-A"), request(t, "operator1", "pw-B"), request(t, "nobody", "pw-A"), request(t, "h", "y"),
		} {
			compares.Store(0)
			rounds.Store(0)
			_, _ = a.Authenticate(r)
			require.EqualValues(t, 1, compares.Load())
			require.EqualValues(t, 1<<bcrypt.DefaultCost, rounds.Load())
		}
	})
}

func TestDummyHashTakesTheWholeWork(t *testing.T) {
	for cost := bcrypt.MinCost; cost <= bcrypt.MinCost+1; cost++ {
		require.ErrorIs(t, bcrypt.CompareHashAndPassword(unmatchable(cost), []byte("x")), bcrypt.ErrMismatchedHashAndPassword)
	}
}

func TestWrongPasswordsAreNeverRemembered(t *testing.T) {
	a, compares, _ := counted(t, Options{CacheSize: 1}, directory(t, operator(hashed(t, "pw-A", bcrypt.MinCost))))
	_, err := a.Authenticate(request(t, "operator1", "pw-A"))
	require.NoError(t, err)
	for range 3 {
		_, err := a.Authenticate(request(t, "operator1", "guess"))
		require.ErrorIs(t, err, ErrUnauthenticated)
	}
	require.EqualValues(t, 4, compares.Load(), "each guess is paid for")
	_, err = a.Authenticate(request(t, "operator1", "pw-A"))
	require.NoError(t, err)
	require.EqualValues(t, 4, compares.Load(), "guesses do not push out the verified credential")
}

func TestDirectoryChangesActAtOnce(t *testing.T) {
	hash := hashed(t, "pw-A", bcrypt.MinCost)
	tests := map[string]struct {
		after Directory
		want  *Principal
	}{
		"user removed":     {*directory(t, Account{Name: "other", Password: hash, Role: Operator}), nil},
		"all removed":      {Directory{}, nil},
		"password changed": {*directory(t, operator(hashed(t, "pw-B", bcrypt.MinCost))), nil},
		"same password, now in plaintext": {
			*directory(t, operator(plain(t, "pw-A"))),
			&Principal{User: "operator1", Role: Operator, Grants: NewGrants("lab")},
		},
		"role and grants changed": {
			*directory(t, Account{Name: "operator1", Password: hash, Role: ReadOnly, Grants: NewGrants("other")}),
			&Principal{User: "operator1", Role: ReadOnly, Grants: NewGrants("other")},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, _, _ := counted(t, Options{}, directory(t, operator(hash)))
			_, err := a.Authenticate(request(t, "operator1", "pw-A"))
			require.NoError(t, err)
			a.SetDirectory(&test.after)
			p, err := a.Authenticate(request(t, "operator1", "pw-A"))
			if test.want == nil {
				require.ErrorIs(t, err, ErrUnauthenticated)
				return
			}
			require.NoError(t, err)
			require.Equal(t, *test.want, p)
		})
	}
}

func TestVerdictOnOldAccountsIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _ := counted(t, Options{}, directory(t, operator(hashed(t, "pw-A", bcrypt.MinCost))))
		real, hold := a.compare, make(chan struct{})
		a.compare = func(hash, password []byte) error { <-hold; return real(hash, password) }
		results := make(chan error, 2)
		try := func() { _, err := a.Authenticate(request(t, "operator1", "pw-B")); results <- err }
		go try()
		synctest.Wait()
		a.SetDirectory(directory(t, operator(hashed(t, "pw-B", bcrypt.MinCost))))
		go try() // joins the verification that still reads the old accounts
		synctest.Wait()
		close(hold)
		require.NoError(t, <-results)
		require.NoError(t, <-results)
	})
}

func TestVerifiedCredentialExpiresWhenUnused(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	a, compares, _ := counted(t, Options{Now: func() time.Time { return now }, CacheLife: time.Minute},
		directory(t, operator(hashed(t, "pw-A", bcrypt.MinCost))))
	for _, step := range []struct {
		pause time.Duration
		total int64
	}{{0, 1}, {50 * time.Second, 1}, {50 * time.Second, 1}, {61 * time.Second, 2}} {
		now = now.Add(step.pause)
		_, err := a.Authenticate(request(t, "operator1", "pw-A"))
		require.NoError(t, err)
		require.Equal(t, step.total, compares.Load())
	}
}

func TestFirstRequestsOfOneCredentialVerifyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, compares, _ := counted(t, Options{}, directory(t, operator(hashed(t, "pw-A", bcrypt.MinCost))))
		real, hold := a.compare, make(chan struct{})
		a.compare = func(hash, password []byte) error { <-hold; return real(hash, password) }
		var group sync.WaitGroup
		var granted atomic.Int64
		for range 64 {
			group.Go(func() {
				if p, err := a.Authenticate(request(t, "operator1", "pw-A")); err == nil && p.User == "operator1" {
					granted.Add(1)
				}
			})
		}
		synctest.Wait()
		close(hold)
		group.Wait()
		require.EqualValues(t, 64, granted.Load())
		require.EqualValues(t, 1, compares.Load())
	})
}

func TestVerificationThatHasJustEndedIsNotRepeated(t *testing.T) {
	a, compares, _ := counted(t, Options{}, directory(t, operator(hashed(t, "pw-A", bcrypt.MinCost))))
	r := request(t, "operator1", "pw-A")
	_, err := a.Authenticate(r)
	require.NoError(t, err)
	// A request that looked into the cache before, and asks to share the verification only now.
	p, err := a.verifyTogether(t.Context(), a.digester.sum(r.Header.Get("Authorization")), credentials{"operator1", []byte("pw-A")})
	require.NoError(t, err)
	require.Equal(t, UserName("operator1"), p.User)
	require.EqualValues(t, 1, compares.Load())
}

func TestBcryptLeavesACoreFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _ := counted(t, Options{}, directory(t, operator(hashed(t, "pw-A", bcrypt.MinCost))))
		var running atomic.Int64
		hold := make(chan struct{})
		a.compare = func(_, _ []byte) error { running.Add(1); <-hold; return bcrypt.ErrMismatchedHashAndPassword }
		var group sync.WaitGroup
		for i := range 20 {
			group.Go(func() { _, _ = a.Authenticate(request(t, "operator1", string(rune('a'+i)))) })
		}
		synctest.Wait()
		require.EqualValues(t, max(1, runtime.GOMAXPROCS(0)-1), running.Load())
		close(hold)
		group.Wait()
		require.EqualValues(t, 20, running.Load())
	})
}

func TestLeavingWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, compares, _ := counted(t, Options{}, directory(t, operator(hashed(t, "pw-A", bcrypt.MinCost))))
		for range cap(a.slots) { // all slots are taken by others
			a.slots <- struct{}{}
		}
		leader, leave := context.WithCancel(t.Context())
		type outcome struct {
			who string
			err error
		}
		results := make(chan outcome)
		try := func(who string, ctx context.Context) {
			_, err := a.Authenticate(request(t, "operator1", "pw-A").WithContext(ctx))
			results <- outcome{who, err}
		}
		go try("leader", leader)
		synctest.Wait()
		go try("follower", t.Context())
		synctest.Wait()

		leave()
		first := <-results
		require.Equal(t, "leader", first.who)
		require.ErrorIs(t, first.err, context.Canceled)
		require.NotErrorIs(t, first.err, ErrUnauthenticated)
		require.Zero(t, compares.Load(), "nobody verifies for a caller that has left")

		<-a.slots
		require.Equal(t, outcome{"follower", nil}, <-results)
		require.EqualValues(t, 1, compares.Load())
		for range cap(a.slots) - 1 {
			<-a.slots
		}
	})
}
