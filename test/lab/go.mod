module github.com/kubevirt-redfish/kubevirt-redfish/test/lab

go 1.26.0

require gopkg.in/yaml.v3 v3.0.1
