package sim

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DefaultUser may do everything.
const DefaultUser = "admin"

// User is somebody who may use the API.
type User struct {
	Name  string
	Token string
	// Rights is what the user may do; nil means everything.
	Rights []Right
}

// Right is one rule of RBAC. "*" matches everything.
type Right struct {
	Groups    []string
	Resources []string // with the subresource after a slash
	Verbs     []string
	// Namespaces limits the right; empty means all, and cluster-scoped objects.
	Namespaces []string
}

type users struct {
	all []User
}

func (u *users) authenticate(r *http.Request) (string, error) {
	if user, ok := u.byToken(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); ok {
		return user.Name, nil
	}
	return "", apierrors.NewUnauthorized("Unauthorized")
}

func (u *users) byToken(token string) (User, bool) {
	for _, user := range u.all {
		if token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(user.Token)) == 1 {
			return user, true
		}
	}
	return User{}, false
}

// attributes is what a right is asked about.
type attributes struct {
	user, verb, group, resource, namespace string
}

func (u *users) allowed(a attributes) bool {
	for _, user := range u.all {
		if user.Name == a.user {
			return user.Rights == nil || slices.ContainsFunc(user.Rights, func(r Right) bool { return r.allows(a) })
		}
	}
	return false
}

func (r Right) allows(a attributes) bool {
	has := func(list []string, v string) bool { return slices.Contains(list, "*") || slices.Contains(list, v) }
	return has(r.Groups, a.group) && has(r.Resources, a.resource) && has(r.Verbs, a.verb) &&
		(len(r.Namespaces) == 0 || has(r.Namespaces, a.namespace))
}

// authorize checks the right for a request. Anybody known may ask for KubeVirt's version, as on a cluster.
func (u *users) authorize(q *request) error {
	if reviews[q.resource] != nil && strings.HasPrefix(q.resource, "self") {
		return nil
	}
	if q.isVersion() || u.allowed(attributes{q.user, q.verb, q.group, q.target(), q.namespace}) {
		return nil
	}
	return forbidden(q)
}

// forbidden is the answer of Kubernetes' RBAC.
func forbidden(q *request) error {
	where := "at the cluster scope"
	if q.namespace != "" {
		where = fmt.Sprintf("in the namespace %q", q.namespace)
	}
	gr := schema.GroupResource{Group: q.group, Resource: q.resource}
	about := gr.String()
	if q.name != "" {
		about += fmt.Sprintf(" %q", q.name)
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{Group: q.group, Kind: q.resource, Name: q.name},
		Message: fmt.Sprintf("%s is forbidden: User %q cannot %s resource %q in API group %q %s", about, q.user, q.verb, q.target(), q.group, where),
	}}
}
