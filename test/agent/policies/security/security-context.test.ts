import { describe, expect, test } from '@jest/globals';
import { appArmorRejection } from '../../../../src/agent/policies/security/apparmor.ts';
import {
  containerSecurityContext,
  type ImageUser,
  podNamespaces,
} from '../../../../src/agent/policies/security/security-context.ts';
import type { UserNamespace } from '../../../../src/types/cri.ts';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

type Context = NonNullable<Container['securityContext']>;
type PodContext = NonNullable<Pod['spec']['securityContext']>;
interface Case {
  readonly own?: Context;
  readonly pod?: PodContext;
  readonly annotations?: Record<string, string>;
  readonly image?: ImageUser | undefined;
  readonly seccompDefault?: boolean;
}

function podOf({ own, pod, annotations }: Case): Pod & { container: Container } {
  const container: Container = { name: 'main', ...(own && { securityContext: own }) };
  const base = testPod({ ...(annotations && { annotations }) });
  const spec = { ...base.spec, containers: [container], ...(pod && { securityContext: pod }) };
  return { ...base, spec, container };
}

function contextOf(given: Case) {
  const { container, ...pod } = podOf(given);
  const facts = { seccompDefault: given.seccompDefault ?? false, seccompProfileRoot: '/var/lib/seccomp' };
  const image = 'image' in given ? given.image : {};
  return containerSecurityContext(pod, container, { imageUser: image, targetId: undefined }, facts);
}

describe('a container without a security context', () => {
  test('is confined by default, and runs as root if its image has no user', () => {
    expect(contextOf({})).toEqual({
      runAsUser: 0,
      privileged: false,
      namespaceOptions: {
        network: 'POD',
        pid: 'CONTAINER',
        ipc: 'POD',
        usernsOptions: { mode: 'NODE', uids: [], gids: [] },
      },
      readonlyRootfs: false,
      supplementalGroups: [],
      noNewPrivs: false,
      maskedPaths: expect.arrayContaining(['/proc/kcore', '/proc/interrupts', '/sys/firmware']),
      readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
      seccomp: { profileType: 'Unconfined', localhostRef: '' },
    });
  });

  test('does not see the masked paths of this machine and of every machine', () => {
    const { container, ...pod } = podOf({});
    const user = { imageUser: {}, targetId: undefined };
    const facts = { seccompDefault: false, seccompProfileRoot: '', maskedPaths: ['/sys/hot'] };
    expect(containerSecurityContext(pod, container, user, facts).maskedPaths?.at(-1)).toBe('/sys/hot');
  });
});

describe('the user', () => {
  test.each<[string, Case, object]>([
    [
      'of the container',
      { own: { runAsUser: 1 }, pod: { runAsUser: 2 }, image: { uid: 3 } },
      { runAsUser: 1 },
    ],
    [
      'of the pod',
      { pod: { runAsUser: 2, runAsGroup: 5 }, image: { uid: 3 } },
      { runAsUser: 2, runAsGroup: 5 },
    ],
    ['of the image', { image: { uid: 3 }, pod: { runAsGroup: 5 } }, { runAsUser: 3, runAsGroup: 5 }],
    ['of the image, by name', { image: { username: 'app' } }, { runAsUsername: 'app' }],
    ['root itself', { own: { runAsUser: 0 }, image: { uid: 3 } }, { runAsUser: 0 }],
    ['unknown, with the image', { image: undefined }, {}],
  ])('%s', (_, given, wanted) => {
    const { runAsUser, runAsGroup, runAsUsername } = contextOf(given);
    expect({ runAsUser, runAsGroup, runAsUsername }).toEqual(wanted);
  });
});

describe('runAsNonRoot', () => {
  const where = ' (pod: "web_default(uid-of-web)", container: main)';
  test.each<[string, Case, string]>([
    ['user 0', { own: { runAsNonRoot: true, runAsUser: 0 } }, "container's runAsUser breaks non-root policy"],
    [
      'user 0 of the pod',
      { pod: { runAsNonRoot: true, runAsUser: 0 }, image: { uid: 9 } },
      "container's runAsUser breaks non-root policy",
    ],
    [
      'an image of root',
      { pod: { runAsNonRoot: true } },
      'container has runAsNonRoot and image will run as root',
    ],
    [
      'an image of user 0',
      { own: { runAsNonRoot: true }, image: { uid: 0 } },
      'container has runAsNonRoot and image will run as root',
    ],
    [
      'an image of a name',
      { own: { runAsNonRoot: true }, image: { username: 'app' } },
      'container has runAsNonRoot and image has non-numeric user (app), cannot verify user is non-root',
    ],
    [
      'nothing known of the image',
      { own: { runAsNonRoot: true }, image: undefined },
      'container has runAsNonRoot and nothing is known of the user of its image',
    ],
  ])('refuses %s', (_, given, message) => {
    expect(() => contextOf(given)).toThrow(expect.objectContaining({ kind: 'InvalidArgument' }));
    expect(() => contextOf(given)).toThrow(message + where);
  });

  test.each<[string, Case]>([
    ['a user by number', { own: { runAsNonRoot: true, runAsUser: 1 }, image: { username: 'app' } }],
    ['an image with a number', { own: { runAsNonRoot: true }, image: { uid: 5 } }],
    ['a container that lifts it', { own: { runAsNonRoot: false }, pod: { runAsNonRoot: true } }],
  ])('accepts %s', (_, given) => {
    expect(contextOf(given)).toMatchObject({ privileged: false });
  });
});

describe('fields of the security context are passed on', () => {
  test.each<[Context, object]>([
    [{ privileged: true }, { privileged: true }],
    [{ readOnlyRootFilesystem: true }, { readonlyRootfs: true }],
    [{ allowPrivilegeEscalation: false }, { noNewPrivs: true }],
    [{ allowPrivilegeEscalation: true }, { noNewPrivs: false }],
    [{ procMount: 'Unmasked' }, { maskedPaths: [], readonlyPaths: [] }],
    [
      { capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] } },
      { capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] } },
    ],
    [{ capabilities: {} }, { capabilities: { addCapabilities: [], dropCapabilities: [] } }],
    [{ seLinuxOptions: { type: 't' } }, { selinuxOptions: { user: '', role: '', type: 't', level: '' } }],
  ])('%j', (own, wanted) => {
    expect(contextOf({ own })).toMatchObject(wanted);
  });

  test('groups are those of the pod, its fsGroup first', () => {
    const pod: PodContext = { fsGroup: 7, supplementalGroups: [8, 9], supplementalGroupsPolicy: 'Strict' };
    expect(contextOf({ pod })).toMatchObject({
      supplementalGroups: [7, 8, 9],
      supplementalGroupsPolicy: 'Strict',
    });
  });

  test('SELinux options of the container replace all those of the pod', () => {
    const given = { own: { seLinuxOptions: { type: 't' } }, pod: { seLinuxOptions: { level: 'l' } } };
    expect(contextOf(given).selinuxOptions).toEqual({ user: '', role: '', type: 't', level: '' });
    expect(contextOf({ pod: given.pod }).selinuxOptions?.level).toBe('l');
  });
});

describe('the seccomp profile', () => {
  const LOCAL = { type: 'Localhost', localhostProfile: 'audit/p.json' };
  test.each<[string, Case, string, string]>([
    ['of the container', { own: { seccompProfile: LOCAL } }, 'Localhost', '/var/lib/seccomp/audit/p.json'],
    [
      'of the container before that of the pod',
      { own: { seccompProfile: { type: 'RuntimeDefault' } }, pod: { seccompProfile: LOCAL } },
      'RuntimeDefault',
      '',
    ],
    ['of the pod', { pod: { seccompProfile: { type: 'RuntimeDefault' } } }, 'RuntimeDefault', ''],
    ['by default none', {}, 'Unconfined', ''],
    ["the runtime's where the node says so", { seccompDefault: true }, 'RuntimeDefault', ''],
    [
      'none although the node says so',
      { seccompDefault: true, own: { seccompProfile: { type: 'Unconfined' } } },
      'Unconfined',
      '',
    ],
  ])('%s', (_, given, profileType, localhostRef) => {
    expect(contextOf(given).seccomp).toEqual({ profileType, localhostRef });
  });

  test('of type Localhost without a name is refused', () => {
    const own = { seccompProfile: { type: 'Localhost' } };
    expect(() => contextOf({ own })).toThrow('localhostProfile must be set');
  });
});

describe('the AppArmor profile', () => {
  const annotated = (value: string) => ({
    annotations: { 'container.apparmor.security.beta.kubernetes.io/main': value },
  });
  const local = (localhostProfile: string) => ({ type: 'Localhost', localhostProfile });
  test.each<[string, Case, string, string]>([
    [
      'of the container',
      {
        own: { appArmorProfile: local('own') },
        pod: { appArmorProfile: local('p') },
        ...annotated('unconfined'),
      },
      'Localhost',
      'own',
    ],
    [
      'of the annotation',
      { pod: { appArmorProfile: local('p') }, ...annotated('localhost/a') },
      'Localhost',
      'a',
    ],
    ['of the annotation, unconfined', annotated('unconfined'), 'Unconfined', ''],
    ['of the annotation, default', annotated('runtime/default'), 'RuntimeDefault', ''],
    ['of the pod', { pod: { appArmorProfile: local('p') }, ...annotated('nonsense') }, 'Localhost', 'p'],
  ])('%s', (_, given, profileType, localhostRef) => {
    expect(contextOf(given).apparmor).toEqual({ profileType, localhostRef });
  });

  test.each([
    [local('x'), 'localhost/x'],
    [{ type: 'Unconfined' }, 'unconfined'],
    [{ type: 'RuntimeDefault' }, 'runtime/default'],
  ])('%j is in the deprecated field too', (appArmorProfile, word) => {
    expect(contextOf({ own: { appArmorProfile } }).apparmorProfile).toBe(word);
  });

  test('is left to the runtime if none is named', () => {
    expect(contextOf({}).apparmor).toBeUndefined();
  });

  test.each([
    [{ type: 'Localhost' }, 'localhostProfile must be set'],
    [{ type: 'Strange' }, 'there is no type "Strange"'],
  ])('%j is refused', (appArmorProfile, message) => {
    expect(() => contextOf({ own: { appArmorProfile } })).toThrow(message);
  });

  test('keeps a pod from a node without AppArmor, unless it is Unconfined', () => {
    const rejected = {
      reason: 'AppArmor',
      message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
    };
    for (const given of [
      { own: { appArmorProfile: local('own') } },
      { pod: { appArmorProfile: { type: 'RuntimeDefault' } } },
      annotated('runtime/default'),
    ]) {
      expect(appArmorRejection(podOf(given), false)).toEqual(rejected);
      expect(appArmorRejection(podOf(given), true)).toBeUndefined();
    }
    expect(appArmorRejection(podOf({}), false)).toBeUndefined();
    expect(appArmorRejection(podOf(annotated('unconfined')), false)).toBeUndefined();
    expect(
      appArmorRejection(podOf({ pod: { appArmorProfile: { type: 'Unconfined' } } }), false),
    ).toBeUndefined();
  });
});

const NODE_USERS = { mode: 'NODE', uids: [], gids: [] };

const OWN_USERS: UserNamespace = {
  mode: 'POD',
  uids: [{ hostId: 65_536, containerId: 0, length: 65_536 }],
  gids: [{ hostId: 65_536, containerId: 0, length: 65_536 }],
};

const namespaces = (spec: Partial<PodSpec>, users?: UserNamespace) =>
  podNamespaces({ containers: [{ name: 'app' }], ...spec }, users);

test('by default a pod has its own network and IPC, each container its own processes, and users are those of the node', () => {
  expect(namespaces({})).toEqual({ network: 'POD', pid: 'CONTAINER', ipc: 'POD', usernsOptions: NODE_USERS });
});

test.each([
  [{ hostNetwork: true }, { network: 'NODE', pid: 'CONTAINER', ipc: 'POD' }],
  [{ hostIPC: true }, { network: 'POD', pid: 'CONTAINER', ipc: 'NODE' }],
  [{ hostPID: true }, { network: 'POD', pid: 'NODE', ipc: 'POD' }],
  [{ shareProcessNamespace: true }, { network: 'POD', pid: 'POD', ipc: 'POD' }],
])('with %j: %j', (spec, want) => {
  expect(namespaces(spec)).toMatchObject(want);
});

test('a pod with hostUsers: false gets the ids that the node has reserved for it', () => {
  expect(namespaces({ hostUsers: false }, OWN_USERS).usernsOptions).toEqual(OWN_USERS);
});

test('a pod with hostUsers: false is refused where there are no user namespaces, rather than run as root of the node', () => {
  expect(() => namespaces({ hostUsers: false })).toThrow("can't set `spec.hostUsers: false`");
});
