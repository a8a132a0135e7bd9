import { describe, expect, test } from '@jest/globals';
import { KUBELET_CONFIGURATION_SCHEMA } from '../../../src/agent/config/kubelet-configuration.ts';
import {
  ALL_CLUSTER_SETTINGS,
  resolveClusterSettings,
} from '../../../src/agent/config/load-cluster-settings.ts';
import { fieldsOf, parseSetting } from '../../../src/agent/config/setting.ts';

const resolve = (flags: Record<string, unknown> = {}, file: Record<string, unknown> = {}) =>
  resolveClusterSettings({ flags, file, fileName: 'kubelet.yaml' });
const setting = (flag: string) => ALL_CLUSTER_SETTINGS.find((row) => row.flag?.startsWith(`${flag} `))!;

test("without flags and file everything is the kubelet's default, and there is no cluster", () => {
  expect(resolve()).toEqual({
    kubeconfig: '',
    bootstrapKubeconfig: '',
    certDir: '',
    rotateCertificates: false,
    serverTLSBootstrap: false,
    registerNode: true,
    registerSchedulable: true,
    providerID: '',
    cloudProvider: '',
    nodeStatusUpdateFrequencyMs: 10_000,
    nodeStatusReportFrequencyMs: 300_000,
    nodeLeaseDurationSeconds: 40,
    nodeStatusMaxImages: 50,
    kubeAPIQPS: 50,
    kubeAPIBurst: 100,
    eventRecordQPS: 50,
    eventBurst: 100,
    configMapAndSecretChangeDetectionStrategy: 'Watch',
  });
});

test('every field of the table is a field of KubeletConfiguration', () => {
  const known = Object.keys(KUBELET_CONFIGURATION_SCHEMA.properties ?? {});
  expect(known).toEqual(expect.arrayContaining([...fieldsOf(ALL_CLUSTER_SETTINGS)]));
});

test('the configuration file overrides the default, and a flag overrides the file', () => {
  const file = { nodeStatusUpdateFrequency: '4s', nodeLeaseDurationSeconds: 20, registerNode: false };
  expect(resolve({ nodeLeaseDurationSeconds: 30 }, file)).toMatchObject({
    nodeStatusUpdateFrequencyMs: 4_000,
    nodeLeaseDurationSeconds: 30,
    registerNode: false,
  });
});

test('0 means the default, but for events it means no limit', () => {
  const file = { nodeStatusReportFrequency: '0s', kubeAPIQPS: 0, eventRecordQPS: 0 };
  expect(resolve({}, file)).toMatchObject({
    nodeStatusReportFrequencyMs: 300_000,
    kubeAPIQPS: 50,
    eventRecordQPS: 0,
  });
});

test('paths are absolute', () => {
  const { kubeconfig, certDir } = resolve({ kubeconfig: 'node.kubeconfig', certDir: '/pki' });
  expect([kubeconfig, certDir]).toEqual([`${process.cwd()}/node.kubeconfig`, '/pki']);
});

describe('a value that is not valid is an error that names', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    [
      'the only cloud provider',
      { cloudProvider: 'aws' },
      {},
      '--cloud-provider: must be external, or not given',
    ],
    [
      'a lease that is too short',
      { nodeLeaseDurationSeconds: -1 },
      {},
      '--node-lease-duration-seconds: must be 1',
    ],
    [
      'a number of images below -1',
      {},
      { nodeStatusMaxImages: -2 },
      'kubelet.yaml: nodeStatusMaxImages: must be -1',
    ],
    [
      'a strategy that does not exist',
      {},
      { configMapAndSecretChangeDetectionStrategy: 'watch' },
      'kubelet.yaml: configMapAndSecretChangeDetectionStrategy: must be Watch, Cache or Get',
    ],
    [
      'the kubeconfig that a bootstrap needs',
      { bootstrapKubeconfig: 'b' },
      {},
      '--bootstrap-kubeconfig: --kubeconfig must say where the credentials are written',
    ],
    [
      'the API server that a serving certificate needs',
      {},
      { serverTLSBootstrap: true },
      'kubelet.yaml: serverTLSBootstrap: needs an API server',
    ],
  ])('%s', (_what, flags, file, message) => {
    expect(() => resolve(flags, file)).toThrow(
      expect.objectContaining({ kind: 'InvalidArgument', message: expect.stringContaining(message) }),
    );
  });
});

test.each([
  ['--node-status-update-frequency', '10s', 10_000],
  ['--register-node', 'false', false],
  ['--node-status-max-images', '-1', -1],
])('the text of the flag %s %s', (flag, text, value) => {
  expect(parseSetting(setting(flag), text)).toBe(value);
});
