"""What the schemas of Kubernetes do not know: the manifests fit to each other, to the program and to the rules for containers.

manifests.py PROGRAM FOLDER
"""

import pathlib
import subprocess
import sys

import yaml

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
# the version of the image is that of the workspace
workspace = pathlib.Path("Cargo.toml").read_text().split("[workspace.package]")[1]
version = workspace.split('version = "')[1].split('"')[0]


def check_pods(name, workload):
    """The rules for containers, and the options of the program."""
    spec = workload["spec"]["template"]["spec"]
    assert workload["spec"]["selector"]["matchLabels"] == workload["spec"]["template"]["metadata"]["labels"], name
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] > 0, name
    assert spec["automountServiceAccountToken"] is False, name
    [container] = spec["containers"]
    security = container["securityContext"]
    assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"], name
    assert security["capabilities"] == {"drop": ["ALL"]}, name
    assert {"cpu", "memory"} <= container["resources"]["limits"].keys(), name
    volumes = {volume["name"] for volume in spec.get("volumes", [])}
    volumes |= {claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])}
    assert {mount["name"] for mount in container.get("volumeMounts", [])} == volumes, name
    # variables in arguments are defined
    variables = {variable["name"] for variable in container.get("env", [])}
    used = {part.split(")")[0] for word in container["args"] for part in word.split("$(")[1:]}
    assert used == variables, f"{name}: {used} {variables}"
    if "command" in container:
        return
    assert container["image"] == f"ferric:{version}", name
    # the program knows the options: an unknown one is an error of usage, status 2
    args = [word.replace("$(POD_IP)", "10.0.0.1") for word in container["args"]]
    usage = subprocess.run([program, *args, "--help"], capture_output=True, text=True)
    assert usage.returncode == 0, usage.stderr
    for option in [word for word in container["args"] if word.startswith("--")]:
        assert option in usage.stdout, f"{name}: {option}"


def check_configuration(config_map, workload):
    """The configuration is valid, and its addresses are the ports."""
    text = config_map["data"]["ric.toml"]
    tokens = folder / "tokens"
    tokens.write_text("read 0123456789abcdef\n")
    tokens.chmod(0o640)
    configuration = folder / "ric.toml"
    configuration.write_text(text.replace("/etc/ferric-rest/tokens", str(tokens)))
    check = subprocess.run([program, "config", "check", str(configuration)], capture_output=True, text=True)
    assert check.returncode == 0, check.stderr
    [container] = workload["spec"]["template"]["spec"]["containers"]
    for port in container["ports"]:
        assert f":{port['containerPort']}\"" in text, port
    return text, {mount["mountPath"] for mount in container["volumeMounts"]}


def check(manifests):
    """Returns a function that gives the objects of a kind by their names, and the number of all objects."""
    kustomization = yaml.safe_load((manifests / "kustomization.yaml").read_text())
    objects = [item for name in kustomization["resources"] for item in yaml.safe_load_all((manifests / name).read_text())]
    of_kind = lambda kind: {item["metadata"]["name"]: item for item in objects if item["kind"] == kind}
    assert sorted(path.name for path in manifests.glob("*.yaml")) == sorted([*kustomization["resources"], "kustomization.yaml"])
    assert kustomization["images"][0]["newTag"] == version, kustomization["images"]
    workloads = {**of_kind("Deployment"), **of_kind("StatefulSet")}
    for name, workload in workloads.items():
        check_pods(name, workload)
    # each service leads to ports of the pods that it selects
    for name, service in of_kind("Service").items():
        [workload] = [item for item in workloads.values()
                      if item["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]]
        [container] = workload["spec"]["template"]["spec"]["containers"]
        ports = {port["name"]: port for port in container["ports"]}
        for port in service["spec"]["ports"]:
            target = ports[port["targetPort"]]
            assert (target["containerPort"], target["protocol"]) == (port["port"], port["protocol"]), f"{name}: {port}"
    return of_kind, len(objects)


manifests = pathlib.Path("packaging/kubernetes")
of_kind, count = check(manifests)
ran = of_kind("Deployment")["ferric-ran"]["spec"]["template"]["spec"]["containers"][0]
assert "tcp://ferric-e2:36421" in ran["args"] and "ferric-e2" in of_kind("Service")
_, mounts = check_configuration(of_kind("ConfigMap")["ferric-ric"], of_kind("Deployment")["ferric-ric"])
assert mounts == {"/etc/ferric", "/etc/ferric-rest", "/var/lib/ferric"}, mounts

of_kind, count_of_several = check(manifests / "several")
rics = of_kind("StatefulSet")["ferric-rics"]
text, mounts = check_configuration(of_kind("ConfigMap")["ferric-rics"], rics)
assert mounts == {"/etc/ferric", "/etc/ferric-rest", "/etc/ferric-redis"}, mounts
[redis_port] = of_kind("Service")["ferric-redis"]["spec"]["ports"]
assert text.count(f'url = "redis://ferric-redis:{redis_port["port"]}"') == 2
# the names of the pods are those of the headless service, and the nodes know all of them
assert of_kind("Service")[rics["spec"]["serviceName"]]["spec"]["clusterIP"] == "None"
ran = of_kind("Deployment")["ferric-ran"]["spec"]["template"]["spec"]["containers"][0]
known = [word for word in ran["args"] if word.startswith("tcp://")]
assert known == [f"tcp://ferric-rics-{at}.ferric-rics:36421" for at in range(rics["spec"]["replicas"])], known
[budget] = of_kind("PodDisruptionBudget").values()
assert budget["spec"]["selector"] == rics["spec"]["selector"]
print(f"manifests: {count + count_of_several} objects conform to the schemas and to each other")
