"""What the schemas of Kubernetes do not know: the manifests fit to each other, to the program and to the rules for containers.

manifests.py PROGRAM FOLDER
"""

import pathlib
import subprocess
import sys

import yaml

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
manifests = pathlib.Path("packaging/kubernetes")
kustomization = yaml.safe_load((manifests / "kustomization.yaml").read_text())
objects = [item for name in kustomization["resources"] for item in yaml.safe_load_all((manifests / name).read_text())]
of_kind = lambda kind: {item["metadata"]["name"]: item for item in objects if item["kind"] == kind}
assert sorted(path.name for path in manifests.glob("*.yaml")) == sorted([*kustomization["resources"], "kustomization.yaml"])

# the version of the image is that of the workspace
workspace = pathlib.Path("Cargo.toml").read_text().split("[workspace.package]")[1]
version = workspace.split('version = "')[1].split('"')[0]
assert kustomization["images"][0]["newTag"] == version, kustomization["images"]

for name, deployment in of_kind("Deployment").items():
    spec = deployment["spec"]["template"]["spec"]
    assert deployment["spec"]["selector"]["matchLabels"] == deployment["spec"]["template"]["metadata"]["labels"], name
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0, name
    assert spec["automountServiceAccountToken"] is False, name
    [container] = spec["containers"]
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"], name
    assert security["capabilities"] == {"drop": ["ALL"]}, name
    assert {"cpu", "memory"} <= container["resources"]["limits"].keys(), name
    assert container["image"] == f"ferric:{version}", name
    # the program knows the options: an unknown one is an error of usage, status 2
    usage = subprocess.run([program, *container["args"], "--help"], capture_output=True, text=True)
    assert usage.returncode == 0, usage.stderr
    for option in [word for word in container["args"] if word.startswith("--")]:
        assert option in usage.stdout, f"{name}: {option}"
    volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
    assert {mount["name"] for mount in container.get("volumeMounts", [])} == volumes.keys(), name

# each service leads to ports of the deployment that it selects
for name, service in of_kind("Service").items():
    [deployment] = [item for item in of_kind("Deployment").values()
                    if item["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port for port in container["ports"]}
    for port in service["spec"]["ports"]:
        target = ports[port["targetPort"]]
        assert (target["containerPort"], target["protocol"]) == (port["port"], port["protocol"]), f"{name}: {port}"
ran = of_kind("Deployment")["ferric-ran"]["spec"]["template"]["spec"]["containers"][0]
assert "tcp://ferric-e2:36421" in ran["args"] and "ferric-e2" in of_kind("Service")

# the configuration is valid, and its addresses are the ports
text = of_kind("ConfigMap")["ferric-ric"]["data"]["ric.toml"]
tokens = folder / "tokens"
tokens.write_text("read 0123456789abcdef\n")
tokens.chmod(0o640)
configuration = folder / "ric.toml"
configuration.write_text(text.replace("/etc/ferric-rest/tokens", str(tokens)))
check = subprocess.run([program, "config", "check", str(configuration)], capture_output=True, text=True)
assert check.returncode == 0, check.stderr
ric = of_kind("Deployment")["ferric-ric"]["spec"]["template"]["spec"]
for port in ric["containers"][0]["ports"]:
    assert f":{port['containerPort']}\"" in text, port
mounts = {mount["mountPath"] for mount in ric["containers"][0]["volumeMounts"]}
assert mounts == {"/etc/ferric", "/etc/ferric-rest", "/var/lib/ferric"}, mounts
print(f"manifests: {len(objects)} objects conform to the schemas and to each other")
