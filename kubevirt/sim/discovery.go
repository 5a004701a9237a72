package sim

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/resource"
	"github.com/kubevirt-redfish/kubevirt-redfish/kubevirt/sim/internal/virt"
)

// kubernetesVersion is the version that the simulator says it is.
var kubernetesVersion = version.Info{Major: "1", Minor: "34", GitVersion: "v1.34.4", Platform: "linux/amd64"}

var storedVerbs = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// unstored are the resources beside the resource table.
var unstored = map[schema.GroupVersion][]metav1.APIResource{
	{Group: "authorization.k8s.io", Version: "v1"}: {
		{Name: "selfsubjectaccessreviews", SingularName: "selfsubjectaccessreview", Kind: "SelfSubjectAccessReview", Verbs: metav1.Verbs{"create"}},
		{Name: "subjectaccessreviews", SingularName: "subjectaccessreview", Kind: "SubjectAccessReview", Verbs: metav1.Verbs{"create"}},
	},
	{Group: "authentication.k8s.io", Version: "v1"}: {
		{Name: "tokenreviews", SingularName: "tokenreview", Kind: "TokenReview", Verbs: metav1.Verbs{"create"}},
	},
	{Group: virt.SubresourceGroup, Version: "v1"}: virt.APIResources(),
}

// discover answers everything that is no resource URL.
func (a *api) discover(w http.ResponseWriter, r *http.Request) error {
	path := strings.TrimSuffix(r.URL.Path, "/")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "/version":
		a.writeJSON(w, http.StatusOK, kubernetesVersion)
	case path == "/healthz", path == "/livez", path == "/readyz":
		a.writeBytes(w, http.StatusOK, []byte("ok"))
	case path == "/api":
		a.writeJSON(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "/apis":
		a.writeJSON(w, http.StatusOK, groupList())
	case len(parts) == 2 && parts[0] == "api":
		return a.resourceList(w, schema.GroupVersion{Version: parts[1]})
	case len(parts) == 2 && parts[0] == "apis":
		return a.group(w, parts[1])
	case len(parts) == 3 && parts[0] == "apis":
		return a.resourceList(w, schema.GroupVersion{Group: parts[1], Version: parts[2]})
	case strings.HasPrefix(path, openAPIRoot):
		return a.openAPI(w, path)
	default:
		return notServed()
	}
	return nil
}

func groupList() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	seen := map[schema.GroupVersion]bool{}
	add := func(gv schema.GroupVersion) {
		if gv.Group != "" && !seen[gv] {
			seen[gv] = true
			v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		}
	}
	for _, t := range resource.All {
		add(t.GVK().GroupVersion())
	}
	for gv := range unstored {
		add(gv)
	}
	slices.SortFunc(list.Groups, func(a, b metav1.APIGroup) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (a *api) group(w http.ResponseWriter, name string) error {
	for _, g := range groupList().Groups {
		if g.Name == name {
			g.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}
			a.writeJSON(w, http.StatusOK, g)
			return nil
		}
	}
	return notServed()
}

func (a *api) resourceList(w http.ResponseWriter, gv schema.GroupVersion) error {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: gv.String(), APIResources: unstored[gv]}
	for _, t := range resource.All {
		if t.GVK().GroupVersion() != gv {
			continue
		}
		r := metav1.APIResource{Name: t.Plural, SingularName: t.Singular, Namespaced: !t.ClusterScoped, Kind: t.Kind,
			Verbs: storedVerbs, ShortNames: t.ShortNames, Categories: t.Categories}
		list.APIResources = append(list.APIResources, r)
		if t.Status {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: t.Plural + "/status", Namespaced: r.Namespaced, Kind: t.Kind, Verbs: metav1.Verbs{"get", "patch", "update"}})
		}
	}
	if len(list.APIResources) == 0 {
		return notServed()
	}
	a.writeJSON(w, http.StatusOK, list)
	return nil
}
