// Command virt is KubeVirt's virt-api and virt-controller in one binary, chosen by the first argument.
package main

import (
	"fmt"
	"os"

	"kubevirt.io/client-go/log"
	"kubevirt.io/kubevirt/pkg/service"
	virtapi "kubevirt.io/kubevirt/pkg/virt-api"
	virtcontroller "kubevirt.io/kubevirt/pkg/virt-controller/watch"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: virt virt-api|virt-controller [flags]")
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	switch name := os.Args[0]; name {
	case "virt-api":
		log.InitializeLogging(name)
		app := virtapi.NewVirtApi()
		service.Setup(app)
		app.Execute()
	case "virt-controller":
		virtcontroller.Execute()
	default:
		fmt.Fprintln(os.Stderr, "virt: no program called", name)
		os.Exit(2)
	}
}
