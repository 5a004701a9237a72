package sim

import (
	"encoding/json"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// reviews are the kinds that are answered and not stored.
var reviews = map[string]func(*api, *request, []byte) (any, error){
	"selfsubjectaccessreviews": (*api).selfSubjectAccessReview,
	"subjectaccessreviews":     (*api).subjectAccessReview,
	"tokenreviews":             (*api).tokenReview,
}

func (a *api) review(w http.ResponseWriter, q *request) error {
	b, err := readJSON(q)
	if err != nil {
		return err
	}
	answer, err := reviews[q.resource](a, q, b)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	a.writeJSON(w, http.StatusCreated, answer)
	return nil
}

func (a *api) selfSubjectAccessReview(q *request, b []byte) (any, error) {
	var r authorizationv1.SelfSubjectAccessReview
	err := json.Unmarshal(b, &r)
	r.Status = a.decide(q.user, r.Spec.ResourceAttributes)
	return &r, err
}

func (a *api) subjectAccessReview(_ *request, b []byte) (any, error) {
	var r authorizationv1.SubjectAccessReview
	err := json.Unmarshal(b, &r)
	r.Status = a.decide(r.Spec.User, r.Spec.ResourceAttributes)
	return &r, err
}

// decide includes the denials among the faults, so that a review and the request agree.
func (a *api) decide(user string, r *authorizationv1.ResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	if r == nil {
		return authorizationv1.SubjectAccessReviewStatus{Allowed: true} // non-resource URLs
	}
	q := &request{user: user, verb: r.Verb, group: r.Group, resource: r.Resource, subresource: r.Subresource, namespace: r.Namespace}
	allowed := a.users.allowed(attributes{user, q.verb, q.group, q.target(), q.namespace}) && !a.faults.denied(q)
	return authorizationv1.SubjectAccessReviewStatus{Allowed: allowed}
}

func (a *api) tokenReview(_ *request, b []byte) (any, error) {
	var r authenticationv1.TokenReview
	err := json.Unmarshal(b, &r)
	if user, ok := a.users.byToken(r.Spec.Token); ok {
		r.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: user.Name}}
	}
	r.Spec.Token = ""
	return &r, err
}
