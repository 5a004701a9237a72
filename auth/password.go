package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// MaxHashCost bounds the bcrypt cost of an account: every attempt to log in costs as much as the most expensive
// account, so one exaggerated hash (a cost of 15 takes about 2.4 s) would slow down everybody.
const MaxHashCost = 15

// maxPasswordBytes bounds a plaintext password, so that a legitimate Authorization header is bounded too.
const maxPasswordBytes = 1024

// Password is what an account is verified against. The zero value matches nothing. Two passwords are equal (==) when
// they were made from the same text, or from the same hash. It never prints what it holds.
type Password struct {
	// digest stands for the plaintext: fixed in length, so that comparing it tells nothing about the text.
	digest [sha256.Size]byte
	hash   string
	cost   int
}

// PlainPassword is the password with exactly this text, of 1 to 1024 bytes.
func PlainPassword(text string) (Password, error) {
	if text == "" {
		return Password{}, errors.New("the password is empty")
	}
	if len(text) > maxPasswordBytes {
		return Password{}, fmt.Errorf("the password is longer than %d bytes", maxPasswordBytes)
	}
	return Password{digest: sha256.Sum256([]byte(text))}, nil
}

// HashedPassword is the password behind a bcrypt hash ($2a$, $2b$ or $2y$).
func HashedPassword(hash string) (Password, error) {
	if !IsHash(hash) {
		return Password{}, errors.New("not a bcrypt hash ($2a$, $2b$ or $2y$ and 60 characters)")
	}
	cost, err := bcrypt.Cost([]byte(hash))
	if err != nil {
		return Password{}, errors.New("not a valid bcrypt hash")
	}
	if cost > MaxHashCost {
		return Password{}, fmt.Errorf("the bcrypt cost %d is above %d", cost, MaxHashCost)
	}
	return Password{hash: hash, cost: cost}, nil
}

// HashPassword makes the bcrypt hash that [HashedPassword] takes. bcrypt reads 72 bytes, longer texts are refused.
func HashPassword(text string) (string, error) {
	if text == "" {
		return "", errors.New("the password is empty")
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(text), bcrypt.DefaultCost)
	if err != nil {
		return "", fmt.Errorf("hash the password: %w", err)
	}
	return string(hash), nil
}

// IsHash reports whether the text has the form of a bcrypt hash.
func IsHash(text string) bool {
	const length = 60
	return len(text) == length &&
		(strings.HasPrefix(text, "$2a$") || strings.HasPrefix(text, "$2b$") || strings.HasPrefix(text, "$2y$"))
}

// String hides the password from every %s and %v.
func (Password) String() string { return "[hidden]" }

// GoString hides the password from %#v.
func (Password) GoString() string { return "auth.Password{[hidden]}" }

// LogValue hides the password from slog.
func (Password) LogValue() slog.Value { return slog.StringValue("[hidden]") }

// compareFunc is bcrypt.CompareHashAndPassword; tests count its calls.
type compareFunc func(hash, password []byte) error

// matches compares in the work of 1<<cost bcrypt rounds, whatever kind of password p is and whether it matches.
//
// A hash of cost c takes 1<<c rounds; what is missing to 1<<cost is the sum of 1<<i for i from c to cost-1, spent on
// hashes that nothing matches. So a hash cheaper than the others (htpasswd makes cost 5) cannot be told by its time.
func (p Password) matches(text []byte, cost int, compare compareFunc) bool {
	if p.hash == "" {
		given := sha256.Sum256(text) // of no text is it the zero digest that stands for "no password"
		_ = compare(unmatchable(cost), text)
		return subtle.ConstantTimeCompare(given[:], p.digest[:]) == 1
	}
	err := compare([]byte(p.hash), text)
	for c := p.cost; c < cost; c++ {
		_ = compare(unmatchable(c), text)
	}
	return err == nil
}

// unmatchable is a well-formed hash of the cost for which nobody knows a password. Its result is ignored anyway.
func unmatchable(cost int) []byte {
	const saltAndSum = 22 + 31
	return fmt.Appendf(nil, "$2a$%02d$%s", cost, strings.Repeat(".", saltAndSum))
}
