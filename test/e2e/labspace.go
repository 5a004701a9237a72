package e2e

import (
	"context"
	_ "embed"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	virtv1 "kubevirt.io/api/core/v1"

	"github.com/kubevirt-redfish/kubevirt-redfish/auth"
	"github.com/kubevirt-redfish/kubevirt-redfish/manifests"
)

// Rights are what a product may do on the lab: the name of a ClusterRole.
type Rights string

const (
	// OurRights are those of manifests.
	OurRights Rights = "kubevirt-redfish-role"
	// DocumentedRights are those of installations that change the image alone.
	DocumentedRights Rights = "documented"
)

//go:embed testdata/documented-clusterrole.yaml
var documentedRole string

// manifest is one of our own.
func manifest(name string) string {
	text, err := manifests.Files.ReadFile("rbac/" + name + ".yaml")
	if err != nil {
		panic(err) // embedded
	}
	return string(text)
}

// Space is a namespace of one test on the lab, with the machines and the service account of the product.
type Space struct {
	*Lab
	// Name of the namespace; it is also that of the chassis with all its machines.
	Name string
	// Account reaches the lab as the product does: with the token of its service account.
	Account *rest.Config

	rights    Rights
	vms, vmis watched
}

// NewSpace makes a namespace until the test ends. Without a lab the test is skipped.
func NewSpace(t *testing.T, rights Rights) *Space {
	t.Helper()
	if lab == nil {
		t.Skip("needs a real control plane: make test-lab")
	}
	namespaces := lab.kube.CoreV1().Namespaces()
	made, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	s := &Space{Lab: lab, Name: made.Name, rights: rights}
	t.Cleanup(func() {
		if !s.own {
			require.NoError(t, namespaces.Delete(context.WithoutCancel(t.Context()), s.Name, metav1.DeleteOptions{}))
		}
	})
	s.install(t)
	s.Account = s.login(t)
	s.awaitRights(t, ofMachines(s.Name), ofSecrets(s.Name))
	s.vms = s.watch(t, "virtualmachines", &virtv1.VirtualMachine{})
	s.vmis = s.watch(t, "virtualmachineinstances", &virtv1.VirtualMachineInstance{})
	return s
}

// install applies our manifests as they are but for the namespace, and for the role under other rights.
func (s *Space) install(t *testing.T) {
	t.Helper()
	for _, text := range []string{s.moved(manifest("serviceaccount")), s.moved(manifest("own")), s.bindingIn(s.Name)} {
		require.NoError(t, s.apply(t.Context(), text))
	}
}

// bindingIn gives the account the rights in the namespace.
func (s *Space) bindingIn(namespace string) string {
	text := strings.Replace(s.moved(manifest("bind-namespace")), string(OurRights), string(s.rights), 1)
	return strings.Replace(text, "metadata:\n", "metadata:\n  namespace: "+namespace+"\n", 1)
}

// moved is a manifest with the test's namespace in the place of ours.
func (s *Space) moved(text string) string {
	return strings.ReplaceAll(text, "namespace: kubevirt-redfish", "namespace: "+s.Name)
}

// login is the service account with a token.
func (s *Space) login(t *testing.T) *rest.Config {
	t.Helper()
	request, err := s.kube.CoreV1().ServiceAccounts(s.Name).CreateToken(t.Context(), "kubevirt-redfish", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	account := rest.AnonymousClientConfig(s.admin)
	account.BearerToken = request.Status.Token
	return account
}

// awaitRights waits until the API server has taken note of the bindings.
func (s *Space) awaitRights(t *testing.T, needed ...authorizationv1.ResourceAttributes) {
	t.Helper()
	client, err := kubernetes.NewForConfig(s.Account)
	require.NoError(t, err)
	for _, right := range needed {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		require.Eventually(t, func() bool {
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed
		}, 30*time.Second, 50*time.Millisecond, "%s may not %s", right.Resource, right.Verb)
	}
}

// ofMachines and ofSecrets are rights from each of the two bindings.
func ofMachines(namespace string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "watch", Group: "kubevirt.io", Resource: "virtualmachines"}
}

func ofSecrets(namespace string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "create", Resource: "secrets"}
}

// watched are the objects of one kind in a namespace as a watch keeps them: asking the API server again and
// again would keep the lab from its work.
type watched struct {
	namespace string
	store     clientcache.Store
}

// get is the object of that name; nil when there is none.
func (w watched) get(name string) any {
	object, _, _ := w.store.GetByKey(w.namespace + "/" + name) // a store in memory has no errors
	return object
}

func (s *Space) watch(t *testing.T, resource string, kind runtime.Object) watched {
	t.Helper()
	store, controller := clientcache.NewInformerWithOptions(clientcache.InformerOptions{
		ListerWatcher: clientcache.NewListWatchFromClient(s.virt.KubevirtV1().RESTClient(), resource, s.Name, fields.Everything()),
		ObjectType:    kind, Handler: clientcache.ResourceEventHandlerFuncs{},
	})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); controller.RunWithContext(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	require.True(t, clientcache.WaitForCacheSync(t.Context().Done(), controller.HasSynced))
	return watched{s.Name, store}
}

// Serve starts a product for the machines of the namespace, as its service account.
func (s *Space) Serve(t *testing.T) *Product {
	t.Helper()
	p := Start(t, Config{
		Cluster: s.Account,
		Chassis: []auth.Chassis{{Name: auth.ChassisName(s.Name), Namespace: s.Name}},
		Users:   []auth.Account{User(t, Admin, auth.Administrator, auth.AllChassis)},
	})
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for line := range strings.Lines(p.Log.String()) {
			if !strings.Contains(line, `"method":"GET"`) {
				t.Log(line)
			}
		}
	})
	return p
}

// reset posts ComputerSystem.Reset. Unlike [Product.Reset] it says nothing about the time, which other tests take.
func (s *Space) reset(t *testing.T, p *Product, id, how string) Answer {
	t.Helper()
	return p.Do(t, Admin, http.MethodPost, "/redfish/v1/Systems/"+id+"/Actions/ComputerSystem.Reset", map[string]string{"ResetType": how})
}

// patchNode applies a merge patch.
func (l *Lab) patchNode(ctx context.Context, name, patch string) error {
	_, err := l.kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err //nolint:wrapcheck // says what it is about
}
