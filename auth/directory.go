package auth

import (
	"errors"
	"fmt"

	"golang.org/x/crypto/bcrypt"
)

// Account is a user who can log in, and what that user may do.
type Account struct {
	Name     UserName
	Password Password
	Role     Role
	Grants   Grants
}

// Directory is an immutable set of accounts. A change is a new Directory. The zero value has no account and
// refuses everyone.
type Directory struct {
	accounts map[UserName]Account
	// cost is the work of every verification: that of the most expensive account.
	cost int
}

// NewDirectory refuses accounts without a name or a password, with an unknown role, and two of one name. It reports
// all of them together.
func NewDirectory(accounts ...Account) (*Directory, error) {
	d := &Directory{accounts: make(map[UserName]Account, len(accounts)), cost: bcrypt.MinCost}
	var problems []error
	for _, account := range accounts {
		if err := account.validate(); err != nil {
			problems = append(problems, err)
		}
		if _, twice := d.accounts[account.Name]; twice {
			problems = append(problems, fmt.Errorf("account %q: the name is used twice", account.Name))
		}
		d.accounts[account.Name] = account
		d.cost = max(d.cost, account.Password.work())
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return d, nil
}

func (a *Account) validate() error {
	switch {
	case a.Name == "":
		return errors.New("an account has no name")
	case a.Password == Password{}:
		return fmt.Errorf("account %q: no password", a.Name)
	case !a.Role.Valid():
		return fmt.Errorf("account %q: unknown role %q", a.Name, a.Role)
	}
	return nil
}

// work is the bcrypt cost that the password asks for. Plaintext asks for the default, so that guessing it costs
// as much as guessing a hashed one.
func (p Password) work() int {
	if p.hash == "" {
		return bcrypt.DefaultCost
	}
	return p.cost
}

// login is the account with these credentials. It always spends the work of one verification, for an unknown name
// too.
func (d *Directory) login(name UserName, password []byte, compare compareFunc) (Account, bool) {
	account := d.accounts[name]
	ok := account.Password.matches(password, max(d.cost, bcrypt.MinCost), compare)
	return account, ok
}

// principal is the caller behind the account, as it is now.
func (a *Account) principal() Principal {
	return Principal{User: a.Name, Role: a.Role, Grants: a.Grants}
}
