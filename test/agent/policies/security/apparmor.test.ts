import { describe, expect, test } from '@jest/globals';
import {
  appArmorProfile,
  appArmorRejection,
  deprecatedAppArmorProfile,
  seccompProfile,
} from '../../../../src/agent/policies/security/apparmor.ts';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { podOf } from '../../../support/pod-status-facts.ts';

const PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
const REJECTION = {
  reason: 'AppArmor',
  message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
};

interface Profiles {
  readonly ofPod?: { readonly type: string; readonly localhostProfile?: string };
  readonly own?: { readonly type: string; readonly localhostProfile?: string };
  /** The annotation for the container `app`. */
  readonly annotation?: string;
}

function podWith({ ofPod, own, annotation }: Profiles): Pod {
  const app: Container = { name: 'app', ...(own && { securityContext: { appArmorProfile: own } }) };
  const annotations = { ...(annotation !== undefined && { [`${PREFIX}app`]: annotation }) };
  const metadata = { name: 'web', namespace: 'shop', uid: 'u-1', annotations };
  return podOf(
    { containers: [app], ...(ofPod && { securityContext: { appArmorProfile: ofPod } }) },
    { metadata },
  );
}

function profile(profiles: Profiles) {
  const pod = podWith(profiles);
  return appArmorProfile(pod, pod.spec.containers[0]!);
}

describe('the AppArmor profile of a container', () => {
  test("is its own before its annotation's before the pod's", () => {
    const profiles = {
      ofPod: { type: 'RuntimeDefault' },
      annotation: 'localhost/web',
      own: { type: 'Unconfined' },
    };
    expect(profile(profiles)?.profileType).toBe('Unconfined');
    const { ofPod, annotation } = profiles;
    expect(profile({ ofPod, annotation })).toEqual({ profileType: 'Localhost', localhostRef: 'web' });
    expect(profile({ ofPod })?.profileType).toBe('RuntimeDefault');
  });

  test('is left to the runtime where none is named', () => {
    expect(profile({})).toBeUndefined();
    expect(profile({ annotation: 'something/else' })).toBeUndefined();
  });

  test.each([
    ['runtime/default', { profileType: 'RuntimeDefault', localhostRef: '' }],
    ['unconfined', { profileType: 'Unconfined', localhostRef: '' }],
    ['localhost/web-app', { profileType: 'Localhost', localhostRef: 'web-app' }],
  ])('of the annotation %s has the same annotation for old runtimes', (annotation, want) => {
    const found = profile({ annotation });
    expect(found).toEqual(want);
    expect(deprecatedAppArmorProfile(found!)).toBe(annotation);
  });

  test('of type Localhost needs a name; an unknown type is refused', () => {
    expect(() => profile({ own: { type: 'Localhost' } })).toThrow('localhostProfile must be set');
    expect(() => profile({ own: { type: 'Strict' } })).toThrow('there is no type "Strict"');
  });
});

describe('a node whose kernel does not enforce AppArmor', () => {
  test.each([
    [{ ofPod: { type: 'RuntimeDefault' } }],
    [{ own: { type: 'Localhost', localhostProfile: 'web' } }],
    [{ annotation: 'runtime/default' }],
  ])('refuses a pod that names a profile: %j', (profiles) => {
    expect(appArmorRejection(podWith(profiles), false)).toEqual(REJECTION);
    expect(appArmorRejection(podWith(profiles), true)).toBeUndefined();
  });

  test.each([[{}], [{ own: { type: 'Unconfined' } }], [{ annotation: 'unconfined' }]])(
    'takes a pod that names none: %j',
    (profiles) => {
      expect(appArmorRejection(podWith(profiles), false)).toBeUndefined();
    },
  );

  test('refuses a pod whose init container names a profile', () => {
    const securityContext = { appArmorProfile: { type: 'RuntimeDefault' } };
    const pod = podOf({ initContainers: [{ name: 'setup', securityContext }] });
    expect(appArmorRejection(pod, false)).toEqual(REJECTION);
  });
});

const FACTS = { seccompDefault: false, seccompProfileRoot: '/var/lib/kubelet/seccomp' };

const UNCONFINED = { profileType: 'Unconfined', localhostRef: '' };

const RUNTIME_DEFAULT = { profileType: 'RuntimeDefault', localhostRef: '' };

interface Profile {
  readonly type: string;
  readonly localhostProfile?: string;
}

function seccompFor(ofPod: Profile | undefined, own: Profile | undefined, seccompDefault = false) {
  const pod = podOf({ ...(ofPod && { securityContext: { seccompProfile: ofPod } }) });
  const container = { name: 'app', ...(own && { securityContext: { seccompProfile: own } }) };
  return seccompProfile(pod, container, { ...FACTS, seccompDefault });
}

describe('the seccomp profile of a container', () => {
  test("is its own before the pod's", () => {
    expect(seccompFor({ type: 'RuntimeDefault' }, { type: 'Unconfined' })).toEqual(UNCONFINED);
    expect(seccompFor({ type: 'RuntimeDefault' }, undefined)).toEqual(RUNTIME_DEFAULT);
  });

  test("is none where neither names one, or the runtime's with seccompDefault", () => {
    expect(seccompFor(undefined, undefined)).toEqual(UNCONFINED);
    expect(seccompFor(undefined, undefined, true)).toEqual(RUNTIME_DEFAULT);
  });

  test('of type Localhost is a file in the folder of profiles', () => {
    expect(seccompFor(undefined, { type: 'Localhost', localhostProfile: 'web/strict.json' })).toEqual({
      profileType: 'Localhost',
      localhostRef: '/var/lib/kubelet/seccomp/web/strict.json',
    });
  });

  test('of type Localhost needs the name of a file', () => {
    expect(() => seccompFor({ type: 'Localhost' }, undefined)).toThrow('localhostProfile must be set');
  });
});
