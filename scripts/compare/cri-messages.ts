/**
 * Requests of runtime.v1 with all their fields, including those that Statelet does not use: Statelet's own descriptions would
 * hide differences in them. Field numbers as in `api.proto` of k8s.io/cri-api.
 */
import protobuf from 'protobufjs';

const { root } = protobuf.parse(
  `
  syntax = "proto3";
  package runtime.v1;

  message Int64Value { int64 value = 1; }
  message KeyValue { string key = 1; string value = 2; }
  message IDMapping { uint32 host_id = 1; uint32 container_id = 2; uint32 length = 3; }
  message ImageSpec {
    string image = 1; map<string, string> annotations = 2; string user_specified_image = 18; string runtime_handler = 19;
  }
  message AuthConfig {
    string username = 1; string password = 2; string auth = 3; string server_address = 4; string identity_token = 5;
    string registry_token = 6;
  }

  enum NamespaceMode { POD = 0; CONTAINER = 1; NODE = 2; TARGET = 3; }
  message UserNamespace { NamespaceMode mode = 1; repeated IDMapping uids = 2; repeated IDMapping gids = 3; }
  message NamespaceOption {
    NamespaceMode network = 1; NamespaceMode pid = 2; NamespaceMode ipc = 3; string target_id = 4;
    UserNamespace userns_options = 5;
  }
  message SELinuxOption { string user = 1; string role = 2; string type = 3; string level = 4; }
  message SecurityProfile {
    enum ProfileType { RuntimeDefault = 0; Unconfined = 1; Localhost = 2; }
    ProfileType profile_type = 1; string localhost_ref = 2;
  }
  enum SupplementalGroupsPolicy { Merge = 0; Strict = 1; }
  message HugepageLimit { string page_size = 1; uint64 limit = 2; }
  message LinuxContainerResources {
    int64 cpu_period = 1; int64 cpu_quota = 2; int64 cpu_shares = 3; int64 memory_limit_in_bytes = 4;
    int64 oom_score_adj = 5; string cpuset_cpus = 6; string cpuset_mems = 7; repeated HugepageLimit hugepage_limits = 8;
    map<string, string> unified = 9; int64 memory_swap_limit_in_bytes = 10;
  }

  message LinuxSandboxSecurityContext {
    NamespaceOption namespace_options = 1; SELinuxOption selinux_options = 2; Int64Value run_as_user = 3;
    bool readonly_rootfs = 4; repeated int64 supplemental_groups = 5; bool privileged = 6; string seccomp_profile_path = 7;
    Int64Value run_as_group = 8; SecurityProfile seccomp = 9; SecurityProfile apparmor = 10;
    SupplementalGroupsPolicy supplemental_groups_policy = 11;
  }
  message LinuxPodSandboxConfig {
    string cgroup_parent = 1; LinuxSandboxSecurityContext security_context = 2; map<string, string> sysctls = 3;
    LinuxContainerResources overhead = 4; LinuxContainerResources resources = 5;
  }
  message DNSConfig { repeated string servers = 1; repeated string searches = 2; repeated string options = 3; }
  enum Protocol { TCP = 0; UDP = 1; SCTP = 2; }
  message PortMapping { Protocol protocol = 1; int32 container_port = 2; int32 host_port = 3; string host_ip = 4; }
  message PodSandboxMetadata { string name = 1; string uid = 2; string namespace = 3; uint32 attempt = 4; }
  message PodSandboxConfig {
    PodSandboxMetadata metadata = 1; string hostname = 2; string log_directory = 3; DNSConfig dns_config = 4;
    repeated PortMapping port_mappings = 5; map<string, string> labels = 6; map<string, string> annotations = 7;
    LinuxPodSandboxConfig linux = 8;
  }

  enum MountPropagation { PROPAGATION_PRIVATE = 0; PROPAGATION_HOST_TO_CONTAINER = 1; PROPAGATION_BIDIRECTIONAL = 2; }
  message Mount {
    string container_path = 1; string host_path = 2; bool readonly = 3; bool selinux_relabel = 4;
    MountPropagation propagation = 5; repeated IDMapping uidMappings = 6; repeated IDMapping gidMappings = 7;
    bool recursive_read_only = 8; ImageSpec image = 9; string image_sub_path = 10;
  }
  message Device { string container_path = 1; string host_path = 2; string permissions = 3; }
  message CDIDevice { string name = 1; }
  message Capability {
    repeated string add_capabilities = 1; repeated string drop_capabilities = 2; repeated string add_ambient_capabilities = 3;
  }
  message LinuxContainerSecurityContext {
    Capability capabilities = 1; bool privileged = 2; NamespaceOption namespace_options = 3;
    SELinuxOption selinux_options = 4; Int64Value run_as_user = 5; string run_as_username = 6; bool readonly_rootfs = 7;
    repeated int64 supplemental_groups = 8; string apparmor_profile = 9; string seccomp_profile_path = 10;
    bool no_new_privs = 11; Int64Value run_as_group = 12; repeated string masked_paths = 13;
    repeated string readonly_paths = 14; SecurityProfile seccomp = 15; SecurityProfile apparmor = 16;
    SupplementalGroupsPolicy supplemental_groups_policy = 17;
  }
  message LinuxContainerConfig { LinuxContainerResources resources = 1; LinuxContainerSecurityContext security_context = 2; }
  message ContainerMetadata { string name = 1; uint32 attempt = 2; }
  message ContainerConfig {
    ContainerMetadata metadata = 1; ImageSpec image = 2; repeated string command = 3; repeated string args = 4;
    string working_dir = 5; repeated KeyValue envs = 6; repeated Mount mounts = 7; repeated Device devices = 8;
    map<string, string> labels = 9; map<string, string> annotations = 10; string log_path = 11; bool stdin = 12;
    bool stdin_once = 13; bool tty = 14; LinuxContainerConfig linux = 15; repeated CDIDevice CDI_devices = 17;
    int32 stop_signal = 18;
  }

  message RunPodSandboxRequest { PodSandboxConfig config = 1; string runtime_handler = 2; }
  message RunPodSandboxResponse { string pod_sandbox_id = 1; }
  message StopPodSandboxRequest { string pod_sandbox_id = 1; }
  message RemovePodSandboxRequest { string pod_sandbox_id = 1; }
  message CreateContainerRequest { string pod_sandbox_id = 1; ContainerConfig config = 2; PodSandboxConfig sandbox_config = 3; }
  message CreateContainerResponse { string container_id = 1; }
  message StartContainerRequest { string container_id = 1; }
  message StopContainerRequest { string container_id = 1; int64 timeout = 2; }
  message RemoveContainerRequest { string container_id = 1; }
  message ExecSyncRequest { string container_id = 1; repeated string cmd = 2; int64 timeout = 3; }
  message UpdateContainerResourcesRequest {
    string container_id = 1; LinuxContainerResources linux = 2; map<string, string> annotations = 4;
  }
  message PullImageRequest { ImageSpec image = 1; AuthConfig auth = 2; PodSandboxConfig sandbox_config = 3; }
`,
  { keepCase: true },
);

export type PlainMessage = Readonly<Record<string, unknown>>;

/** Decodes to plain values: enumerations by name, 64-bit integers as numbers, without fields that are not set. */
export function decodeMessage(name: string, bytes: Uint8Array): PlainMessage {
  const type = root.lookupType(`runtime.v1.${name}`);
  const plain = type.toObject(type.decode(bytes), { enums: String, longs: Number });
  const unknown = unknownFields(type, bytes);
  return unknown.length === 0 ? plain : { ...plain, [UNKNOWN]: unknown };
}

/** Fields that a newer agent sets and this description lacks are reported under this name. */
const UNKNOWN = 'fields that compare does not know';
const LENGTH_DELIMITED = 2;

/** The numbers of unknown fields, with the path of the message. */
function unknownFields(type: protobuf.Type, bytes: Uint8Array, path = ''): readonly string[] {
  const reader = protobuf.Reader.create(bytes);
  const found: string[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const field = type.fieldsById[tag >>> 3]?.resolve();
    if (field === undefined) found.push(`${path}${tag >>> 3}`);
    const inner = field?.map === false ? field.resolvedType : undefined;
    if ((tag & 7) === LENGTH_DELIMITED && inner instanceof protobuf.Type) {
      found.push(...unknownFields(inner, reader.bytes(), `${path}${field?.name ?? ''}.`));
    } else reader.skipType(tag & 7);
  }
  return [...new Set(found)];
}

/** Whether requests of the method can be decoded. Calls of other methods are only counted. */
export const isDescribed = (method: string): boolean => root.lookup(`runtime.v1.${method}Request`) !== null;
