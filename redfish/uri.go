package redfish

import (
	"net/http"

	"github.com/gorilla/mux"
	lru "github.com/hashicorp/golang-lru/v2"
)

// uris finds the route of a URI. Clients ask for the same URIs again and again, and the router costs a tenth of
// a request's own time and allocations, so that what it has found is kept.
type uris struct {
	router *mux.Router
	known  *lru.Cache[string, place]
}

// place is a route and the variables of a URI on it. Neither is ever changed.
type place struct {
	route *route
	vars  map[string]string
}

const (
	// knownURIs bounds how many are kept: as many as pages, since most of these are polled URIs, too.
	knownURIs = keptPages
	// longestKnown keeps clients from filling the memory with long ones.
	longestKnown = 256
)

func newURIs(table []route) *uris {
	known, err := lru.New[string, place](knownURIs)
	if err != nil {
		panic(err) // only for a size below one
	}
	u := &uris{router: mux.NewRouter().SkipClean(true), known: known}
	for i := range table {
		u.router.Handle(table[i].path, &table[i])
	}
	return u
}

// find returns false for a URI that no route has. Which one it is does not depend on the method.
func (u *uris) find(r *http.Request) (place, bool) {
	path := r.URL.Path
	if p, ok := u.known.Get(path); ok {
		return p, true
	}
	var match mux.RouteMatch
	if !u.router.Match(r, &match) || match.MatchErr != nil {
		return place{}, false
	}
	p := place{match.Handler.(*route), match.Vars}
	if len(path) <= longestKnown {
		u.known.Add(path, p)
	}
	return p, true
}
