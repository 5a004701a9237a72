package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// maxBasicHeader bounds the header before anything is computed from it: base64 of the longest name and password.
const maxBasicHeader = 2048

// presentBasic finds the credential of HTTP Basic (RFC 7617). A request with two Authorization headers presents
// none: which of them counts would be anybody's guess.
func presentBasic(h http.Header) (string, bool) {
	const prefix = "Basic "
	values := h["Authorization"]
	if len(values) != 1 || len(values[0]) > maxBasicHeader || len(values[0]) < len(prefix) {
		return "", false
	}
	return values[0], strings.EqualFold(values[0][:len(prefix)], prefix)
}

// parseBasic splits the header that presentBasic returned. The password may contain colons.
func parseBasic(header string) (UserName, []byte, bool) {
	_, encoded, _ := strings.Cut(header, " ")
	decoded, err := base64.StdEncoding.DecodeString(strings.Trim(encoded, " "))
	if err != nil {
		return "", nil, false
	}
	name, password, ok := strings.Cut(string(decoded), ":")
	return UserName(name), []byte(password), ok && name != ""
}

// verdict is the outcome of one verification, shared by all requests that waited for it.
type verdict struct {
	account Account
	ok      bool
	// on is the directory that the verdict is about. On another one it says nothing.
	on *Directory
}

// verifyBasic answers from the cache of verified credentials, else by a verification.
func (a *Authenticator) verifyBasic(ctx context.Context, header string) (Principal, error) {
	key := a.digester.sum(header)
	if account, ok := a.verified.find(a.directory.Load(), key, a.now()); ok {
		return account.principal(), nil
	}
	name, password, ok := parseBasic(header)
	if !ok {
		return Principal{}, ErrUnauthenticated
	}
	return a.verifyTogether(ctx, key, credentials{name, password})
}

// verifyTogether shares one verification with all requests that present the same credential meanwhile.
func (a *Authenticator) verifyTogether(ctx context.Context, key digest, c credentials) (Principal, error) {
	for {
		shared := a.flights.DoChan(string(key[:]), func() (any, error) { return a.login(ctx, key, c) })
		select {
		case <-ctx.Done():
			return Principal{}, fmt.Errorf("verify the credentials: %w", ctx.Err())
		case result := <-shared:
			v, _ := result.Val.(verdict)
			switch {
			case errors.Is(result.Err, context.Canceled), errors.Is(result.Err, context.DeadlineExceeded):
				// The request which did the work has left: the next round does it for this one.
			case result.Err != nil:
				return Principal{}, fmt.Errorf("verify the credentials: %w", result.Err)
			case v.on != a.directory.Load():
				// The accounts have changed meanwhile: the next round asks the new ones.
			case v.ok:
				return v.account.principal(), nil
			default:
				return Principal{}, ErrUnauthenticated
			}
		}
	}
}

type credentials struct {
	name     UserName
	password []byte
}

// login waits for a slot and verifies. Only a right credential is remembered, so that wrong ones can neither fill
// the cache nor become cheaper. The error is that of ctx.
func (a *Authenticator) login(ctx context.Context, key digest, c credentials) (verdict, error) {
	select {
	case <-ctx.Done():
		return verdict{}, ctx.Err()
	case a.slots <- struct{}{}:
	}
	defer func() { <-a.slots }()
	directory := a.directory.Load()
	// The verification of an earlier request may have ended just before this one asked to share it.
	if account, ok := a.verified.find(directory, key, a.now()); ok {
		return verdict{account: account, ok: true, on: directory}, nil
	}
	account, ok := directory.login(c.name, c.password, a.compare)
	if ok {
		a.verified.remember(key, account, a.now())
	}
	return verdict{account: account, ok: ok, on: directory}, nil
}
