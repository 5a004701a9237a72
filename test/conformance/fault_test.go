package conformance

import (
	"net/http"
	"strings"
)

const accountURI = "/redfish/v1/AccountService/Accounts/1"

func set(uri, name string, value any) func(*service) {
	return func(s *service) { s.items[uri].body[name] = value }
}

func both(first, second func(*service)) func(*service) {
	return func(s *service) { first(s); second(s) }
}

func without(body map[string]any, name string) map[string]any {
	delete(body, name)
	return body
}

// redundancy is an object with an @odata.id that is a part of the system, no resource.
func redundancy() map[string]any {
	return map[string]any{
		"@odata.id": systemURI + "#/Redundancy/0", "MemberId": "0", "Name": "Redundancy", "Mode": "N+m",
		"MinNumNeeded": 1, "RedundancySet": []any{}, "ActiveRedundancySet": []any{ref(systemURI)}, "Status": map[string]any{"State": "Enabled"},
	}
}

func action(name string, value any) func(*service) {
	return func(s *service) {
		actions := s.items[systemURI].body["Actions"].(map[string]any)
		actions["#ComputerSystem.Reset"].(map[string]any)[name] = value
	}
}

// other adds a read-only resource to which an OEM member of the root leads.
func other(uri, odataType string, body map[string]any) func(*service) {
	return func(s *service) {
		s.items[uri] = newItem("GET, HEAD", uri, odataType, body)
		s.items[root].body["Oem"] = map[string]any{"Test": ref(uri)}
	}
}

// onRead changes the headers of the answers to GET and HEAD of one resource.
func onRead(uri string, change func(http.Header)) func(*service) {
	return func(s *service) {
		s.header = func(r *http.Request, h http.Header) {
			if canonical(r.URL.Path) == uri && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
				change(h)
			}
		}
	}
}

// instead gives another answer to one method on exactly one path.
func instead(method, path string, answer func(*service, http.ResponseWriter, *http.Request)) func(*service) {
	return func(s *service) {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != method || r.URL.Path != path {
				return false
			}
			answer(newService(), w, r)
			return true
		}
	}
}

func asMethod(method string) func(*service, http.ResponseWriter, *http.Request) {
	return func(correct *service, w http.ResponseWriter, r *http.Request) {
		changed := r.Clone(r.Context())
		changed.Method = method
		correct.ServeHTTP(w, changed)
	}
}

func asPath(path string) func(*service, http.ResponseWriter, *http.Request) {
	return func(correct *service, w http.ResponseWriter, r *http.Request) {
		changed := r.Clone(r.Context())
		changed.URL.Path = path
		correct.ServeHTTP(w, changed)
	}
}

func noContent(_ *service, w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}

func redirect(_ *service, w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, strings.TrimSuffix(r.URL.Path, "/"), http.StatusMovedPermanently)
}

func ignoreIfNoneMatch(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != systemURI || r.Header.Get("If-None-Match") == "" {
		return false
	}
	changed := r.Clone(r.Context())
	changed.Header.Del("If-None-Match")
	newService().ServeHTTP(w, changed)
	return true
}

func systemTag() string {
	_, tag := newService().items[systemURI].encode()
	return tag
}

func notModifiedWith(tag, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != systemURI || r.Header.Get("If-None-Match") == "" {
			return false
		}
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		_, _ = w.Write([]byte(body))
		return true
	}
}

func headWithoutLink(r *http.Request, h http.Header) {
	if r.Method == http.MethodHead && r.URL.Path == systemURI {
		h.Del("Link")
	}
}

func deleteWithoutAllow(r *http.Request, h http.Header) {
	if r.Method == http.MethodDelete && r.URL.Path == systemURI {
		h.Del("Allow")
	}
}

func deleteWithoutCacheControl(r *http.Request, h http.Header) {
	if r.Method == http.MethodDelete && r.URL.Path == systemURI {
		h.Del("Cache-Control")
	}
}
