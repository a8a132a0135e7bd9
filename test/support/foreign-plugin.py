"""An eviction plugin without the kit: grpcio of Debian, and messages from the numbers in docs/eviction-plugin-protocol.md alone.

Arguments: the folder of sockets, and a folder of its own. With ENDPOINT=1 questions are answered at a socket in the latter. LOGIN is USER:PASSWORD.
It prints a line for each question, and ends with its standard input.
"""

import base64
import os
import sys
from concurrent import futures

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

TYPES = {"string": 9, "bool": 8, "int64": 3, "uint64": 4, "double": 1, "int32": 5}
MESSAGES = {
    "InfoRequest": [],
    "PluginInfo": ["string type 1", "string name 2", "string endpoint 3", "string* supported_versions 4"],
    "RegistrationStatus": ["bool plugin_registered 1", "string error 2"],
    "RegistrationStatusResponse": [],
    # Of a pod, only what is needed is named: the rest is kept as it came.
    "Meta": ["string name 1", "string namespace 3", "string uid 5"],
    "Pod": ["Meta metadata 1"],
    "Empty": [],
    "GetTokenResponse": ["string token 1"],
    "Pods": ["Pod* active_pods 1"],
    "DeletionOptions": ["int64 grace_period_seconds 1"],
    "EvictPod": ["Pod pod 1", "string reason 2", "DeletionOptions deletion_options 3", "bool force_evict 4"],
    "Condition": ["int32 condition_type 1", "string* effects 2", "string condition_name 3", "bool met_condition 4"],
    "GetEvictPodsResponse": ["EvictPod* evict_pods 1", "Condition condition 2"],
    "ThresholdMetResponse": [
        "double threshold_value 1",
        "double observed_value 2",
        "int32 met_type 4",
        "string eviction_scope 5",
        "Pod* candidate_pods 8",
    ],
    "Record": ["string uid 1", "bool has_pdb 2"],
    "GetTopEvictionPodsRequest": [
        "Pod* active_pods 1",
        "uint64 topN 2",
        "string eviction_scope 3",
        "Record* candidate_eviction_records 4",
    ],
    "GetTopEvictionPodsResponse": ["Pod* target_pods 1"],
}


def classes():
    file = descriptor_pb2.FileDescriptorProto(name="plugin.proto", package="p", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field in fields:
            kind, field_name, number = field.split()
            one = message.field.add(name=field_name, number=int(number), label=3 if kind.endswith("*") else 1)
            kind = kind.rstrip("*")
            if kind in TYPES:
                one.type = TYPES[kind]
            else:
                one.type, one.type_name = 11, ".p." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName("p." + name)) for name in MESSAGES}


M = classes()
REGISTRY, OWN = sys.argv[1:3]
SOCKET = os.path.join(REGISTRY, "foreign.sock")
ENDPOINT = os.path.join(OWN, "questions.sock") if os.environ.get("ENDPOINT") else ""
NOT_MET, SOFT_MET = 0, 1


def say(*words):
    print(*words, flush=True)


def info(_request, _context):
    versions = ["v1alpha1"]
    return M["PluginInfo"](type="EvictionPlugin", name="foreign", endpoint=ENDPOINT, supported_versions=versions)


def status(request, _context):
    say("registered" if request.plugin_registered else "refused " + request.error)
    return M["RegistrationStatusResponse"]()


def token(_request, context):
    say("token")
    login = os.environ.get("LOGIN", "")
    if not login:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "it has no token")
    return M["GetTokenResponse"](token="Basic " + base64.b64encode(login.encode()).decode())


def evict_pods(request, _context):
    gone = [pod for pod in request.active_pods if pod.metadata.name.startswith("unwanted")]
    options = M["DeletionOptions"](grace_period_seconds=1)
    one = lambda pod: M["EvictPod"](pod=pod, reason="in another language", force_evict=True, deletion_options=options)
    condition = M["Condition"](condition_name="Crowded", effects=["NoSchedule"], met_condition=True)
    return M["GetEvictPodsResponse"](evict_pods=[one(pod) for pod in gone], condition=condition)


def threshold(request, _context):
    candidates = [pod for pod in request.active_pods if pod.metadata.name.startswith("candidate")]
    # Without candidates, a threshold that is met would be one for all pods.
    met = SOFT_MET if candidates else NOT_MET
    answer = M["ThresholdMetResponse"](threshold_value=1, observed_value=2, met_type=met, eviction_scope="memory")
    answer.candidate_pods.extend(candidates)
    return answer


def top_pods(request, _context):
    names = ",".join(sorted(pod.metadata.name for pod in request.active_pods))
    say("candidates", request.topN, request.eviction_scope, names, len(request.candidate_eviction_records))
    return M["GetTopEvictionPodsResponse"](target_pods=request.active_pods)


def service(name, methods):
    handlers = {
        method: grpc.unary_unary_rpc_method_handler(
            work, request_deserializer=M[request].FromString, response_serializer=lambda answer: answer.SerializeToString()
        )
        for method, (work, request) in methods.items()
    }
    return grpc.method_handlers_generic_handler(name, handlers)


server = grpc.server(futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers(
    (
        service(
            "pluginregistration.Registration",
            {"GetInfo": (info, "InfoRequest"), "NotifyRegistrationStatus": (status, "RegistrationStatus")},
        ),
        service(
            "evictionplugin.v1alpha1.EvictionPlugin",
            {
                "GetToken": (token, "Empty"),
                "GetEvictPods": (evict_pods, "Pods"),
                "ThresholdMet": (threshold, "Pods"),
                "GetTopEvictionPods": (top_pods, "GetTopEvictionPodsRequest"),
            },
        ),
    )
)
os.makedirs(REGISTRY, mode=0o750, exist_ok=True)
for path in filter(None, [ENDPOINT, SOCKET]):
    if os.path.exists(path):
        os.unlink(path)
    server.add_insecure_port("unix:" + path)
server.start()
sys.stdin.read()
server.stop(0)
