/** What newer runtimes read and say, by the numbers of runtime.v1, for a library that is known to be right. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import grpc from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import * as methods from '../../../../../src/agent/runtime/cri/messages/methods.ts';
import { userNamespace } from '../../../../../src/agent/policies/security/id-mappings.ts';
import { containerConfig, podConfig } from '../../../../support/runtime-configs.ts';
import { failure, FakeRuntime, type Answer } from '../fake-runtime.ts';

const { root } = protobuf.parse(`
  syntax = "proto3";
  message Empty {}
  message StatusResponse { Status status = 1; map<string, string> info = 2; repeated RuntimeHandler runtime_handlers = 3; Features features = 4; }
  message Status { repeated Condition conditions = 1; }
  message Condition { string type = 1; bool status = 2; string reason = 3; string message = 4; }
  message RuntimeHandler { string name = 1; HandlerFeatures features = 2; }
  message HandlerFeatures { bool recursive_read_only_mounts = 1; bool user_namespaces = 2; }
  message Features { bool supplemental_groups_policy = 1; }
  message RuntimeConfigResponse { Linux linux = 1; }
  message Linux { int32 cgroup_driver = 1; }
  message ContainerStatusResponse { ContainerStatus status = 1; }
  message ContainerStatus { string id = 1; int32 state = 3; string image_id = 17; User user = 18; repeated Mount mounts = 14; }
  message User { LinuxUser linux = 1; }
  message LinuxUser { int64 uid = 1; int64 gid = 2; repeated int64 supplemental_groups = 3; }
  message ListContainersResponse { repeated Container containers = 1; }
  message Container { string id = 1; string pod_sandbox_id = 2; string image_id = 10; }
  message IDMapping { uint32 host_id = 1; uint32 container_id = 2; uint32 length = 3; }
  message ImageSpec { string image = 1; map<string, string> annotations = 2; string user_specified_image = 18; }
  message Mount {
    string container_path = 1; string host_path = 2; bool readonly = 3; repeated IDMapping uid_mappings = 6;
    repeated IDMapping gid_mappings = 7; bool recursive_read_only = 8; ImageSpec image = 9; string image_sub_path = 10;
  }
  message UserNamespace { int32 mode = 1; repeated IDMapping uids = 2; repeated IDMapping gids = 3; }
  message NamespaceOption { int32 network = 1; UserNamespace userns_options = 5; }
  message CreateContainerRequest { ContainerConfig config = 2; }
  message ContainerConfig { repeated Mount mounts = 7; LinuxContainer linux = 15; }
  message LinuxContainer { Security security_context = 2; }
  message Security { NamespaceOption namespace_options = 3; string apparmor_profile = 9; }
  message CreateContainerResponse { string container_id = 1; }
  message PullImageRequest { ImageSpec image = 1; }
  message PullImageResponse { string image_ref = 1; }
  message ImageRequest { ImageSpec image = 1; }
  message PodSandboxConfig { LinuxPod linux = 8; }
  message LinuxPod { Resources overhead = 4; Resources resources = 5; }
  message Resources { int64 cpu_shares = 3; }
  message RunPodSandboxRequest { PodSandboxConfig config = 1; }
`);

/** Answers a call with a message of that type. */
function says(path: string, type: string, value: () => object): Answer {
  const theirs = root.lookupType(type);
  const serialize = (answer: object) => Buffer.from(theirs.encode(theirs.fromObject(answer)).finish());
  const handle: grpc.handleUnaryCall<Buffer, object> = (_call, callback) => callback(null, value());
  return (server) => void server.register(path, handle, serialize, (bytes) => bytes, 'unary');
}

/** Answers a call so, and keeps its request. */
function hears(path: string, answer: Uint8Array = new Uint8Array()): { answer: Answer; said: () => Buffer } {
  let request: Buffer | undefined;
  const handle: grpc.handleUnaryCall<Buffer, Buffer> = (call, callback) => {
    request = call.request;
    callback(null, Buffer.from(answer));
  };
  const same = (bytes: Buffer) => bytes;
  const said = () => {
    if (request === undefined) throw new Error(`there was no call of ${path}`);
    return request;
  };
  return { answer: (server) => void server.register(path, handle, same, same, 'unary'), said };
}

function refuses(path: string): Answer {
  const error = failure(grpc.status.UNIMPLEMENTED, 'unknown method');
  const handle: grpc.handleUnaryCall<Buffer, Buffer> = (_call, callback) => callback(error);
  return (server) =>
    void server.register(
      path,
      handle,
      (bytes) => bytes,
      (bytes) => bytes,
      'unary',
    );
}

let fake: FakeRuntime;
beforeEach(() => void (fake = new FakeRuntime()));
afterEach(() => fake.cleanup());

const READY = [{ type: 'RuntimeReady', status: true }];

describe('the status of a newer runtime', () => {
  test('says what its handlers can do', async () => {
    const handlers = [
      { features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
      { name: 'kata', features: { recursiveReadOnlyMounts: true } },
      { name: 'old' },
    ];
    const status = { status: { conditions: READY }, runtimeHandlers: handlers };
    await fake.serve(
      says(methods.STATUS.path, 'StatusResponse', () => status),
      refuses(methods.RUNTIME_CONFIG.path),
    );
    expect((await fake.client().status()).handlers).toEqual([
      { name: '', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
      { name: 'kata', features: { recursiveReadOnlyMounts: true, userNamespaces: false } },
      { name: 'old' },
    ]);
  });

  test('reports its cgroup driver on request', async () => {
    let driver = 0;
    await fake.serve(
      says(methods.STATUS.path, 'StatusResponse', () => ({ status: { conditions: READY } })),
      says(methods.RUNTIME_CONFIG.path, 'RuntimeConfigResponse', () => ({ linux: { cgroupDriver: driver } })),
    );
    const client = fake.client();
    expect((await client.status()).cgroupDriver).toBeUndefined();
    const asked = async () => (await client.status({ asksCgroupDriver: true })).cgroupDriver;
    expect(await asked()).toEqual({ name: 'systemd', isReported: true });
    driver = 1;
    expect(await asked()).toEqual({ name: 'cgroupfs', isReported: true });
  });

  test('that does not report its cgroup driver shows it in its configuration', async () => {
    const runtimes = { runc: { runtimeType: 'io.containerd.runc.v2', options: { SystemdCgroup: true } } };
    const config = JSON.stringify({ containerd: { defaultRuntimeName: 'runc', runtimes } });
    await fake.serve(
      says(methods.STATUS.path, 'StatusResponse', () => ({
        status: { conditions: READY },
        info: { config },
      })),
      refuses(methods.RUNTIME_CONFIG.path),
    );
    const { cgroupDriver } = await fake.client().status({ asksCgroupDriver: true });
    expect(cgroupDriver).toEqual({ name: 'systemd', isReported: false });
  });
});

describe('a container of a newer runtime', () => {
  test('has its user, its image, and the mounts that are read-only recursively', async () => {
    const user = { linux: { uid: 1000, gid: 3000, supplementalGroups: [5, 6, 70_000] } };
    const mounts = [{ containerPath: '/a', readonly: true, recursiveReadOnly: true }];
    const status = { id: 'c', state: 1, imageId: 'sha256:1', user, mounts };
    await fake.serve(
      says(methods.CONTAINER_STATUS.path, 'ContainerStatusResponse', () => ({ status })),
      says(methods.LIST_CONTAINERS.path, 'ListContainersResponse', () => ({
        containers: [{ id: 'c', podSandboxId: 's', imageId: 'sha256:1' }],
      })),
    );
    const client = fake.client();
    expect(await client.containerStatus('c')).toMatchObject({
      imageId: 'sha256:1',
      user: user.linux,
      mounts,
    });
    expect(await client.listContainers()).toMatchObject([{ id: 'c', imageId: 'sha256:1' }]);
  });

  test('of an older runtime has none of these fields', async () => {
    const status = { id: 'c', state: 1 };
    await fake.serve(
      says(methods.CONTAINER_STATUS.path, 'ContainerStatusResponse', () => ({ status })),
      says(methods.LIST_CONTAINERS.path, 'ListContainersResponse', () => ({ containers: [] })),
    );
    expect((await fake.client().containerStatus('c')).user).toBeUndefined();
  });

  test('gets its users, its images and its AppArmor profile by the numbers of CRI', async () => {
    const response = root.lookupType('CreateContainerResponse').encode({ containerId: 'c' }).finish();
    const create = hears(methods.CREATE_CONTAINER.path, response);
    await fake.serve(create.answer);
    const users = userNamespace({ hostId: 4_294_836_224, length: 65_536 });
    const image = { image: 'sha256:1', userSpecifiedImage: 'app:1', annotations: { note: 'kept' } };
    const config = containerConfig(['true'], {
      mounts: [
        {
          containerPath: '/i',
          hostPath: '',
          readonly: true,
          propagation: 'PROPAGATION_PRIVATE',
          image,
          imageSubPath: 'etc',
          uidMappings: users.uids,
          gidMappings: users.gids,
        },
      ],
      linux: {
        securityContext: {
          namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD', usernsOptions: users },
          apparmorProfile: 'unconfined',
        },
      },
    });
    await fake.client().createContainer('s', config, podConfig(fake.dir));
    const type = root.lookupType('CreateContainerRequest');
    const ids = [{ hostId: 4_294_836_224, length: 65_536 }];
    expect(type.toObject(type.decode(create.said()))).toEqual({
      config: {
        mounts: [
          {
            containerPath: '/i',
            readonly: true,
            uidMappings: ids,
            gidMappings: ids,
            image,
            imageSubPath: 'etc',
          },
        ],
        linux: {
          securityContext: {
            namespaceOptions: { usernsOptions: { uids: ids, gids: ids } },
            apparmorProfile: 'unconfined',
          },
        },
      },
    });
  });
});

describe('an image that a pod wants', () => {
  test('is looked up and pulled with the annotations of the pod, and removed by its name alone', async () => {
    const found = hears(methods.IMAGE_STATUS.path);
    const pulled = hears(methods.PULL_IMAGE.path);
    const removed = hears(methods.REMOVE_IMAGE.path);
    await fake.serve(found.answer, pulled.answer, removed.answer);
    const client = fake.client();
    const annotations = { platform: 'arm', 'kubernetes.io/config.source': 'file' };
    await client.imageStatus('app:1', { annotations });
    await client.pullImage('app:1', { sandboxConfig: { ...podConfig(fake.dir), annotations } });
    await client.removeImage('app:1');
    const imageIn = ({ said }: typeof found, type: string) =>
      root.lookupType(type).toObject(root.lookupType(type).decode(said()));
    expect(imageIn(found, 'ImageRequest')).toEqual({ image: { image: 'app:1', annotations } });
    expect(imageIn(pulled, 'PullImageRequest')).toEqual({ image: { image: 'app:1', annotations } });
    expect(imageIn(removed, 'ImageRequest')).toEqual({ image: { image: 'app:1' } });
  });
});

test('a sandbox without overhead has an empty message for it, as the kubelet sends', async () => {
  const ran = hears(methods.RUN_POD_SANDBOX.path);
  await fake.serve(ran.answer);
  await fake.client().runPodSandbox({ ...podConfig(fake.dir), linux: { overhead: {} } });
  const type = root.lookupType('RunPodSandboxRequest');
  expect(type.toObject(type.decode(ran.said()))).toEqual({ config: { linux: { overhead: {} } } });
});
