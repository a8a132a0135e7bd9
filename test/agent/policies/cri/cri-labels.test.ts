import { describe, expect, test } from '@jest/globals';
import {
  containerAnnotations,
  containerLabels,
  containerLogPath,
  podLogsFolder,
  podOfLabels,
  podOfLogsFolder,
  sandboxLabels,
} from '../../../../src/agent/policies/cri/cri-labels.ts';
import { containerHash } from '../../../../src/agent/policies/pod-actions/restart.ts';
import { podOf } from '../../../support/pod-status-facts.ts';

const POD = { name: 'web', namespace: 'shop', uid: 'u-1' };
const POD_LABELS = {
  'io.kubernetes.pod.name': 'web',
  'io.kubernetes.pod.namespace': 'shop',
  'io.kubernetes.pod.uid': 'u-1',
};

describe('labels', () => {
  test('a sandbox has those of its pod, and those by which it is found', () => {
    const pod = podOf({}, { metadata: { ...POD, labels: { app: 'web' } } });
    expect(sandboxLabels(pod)).toEqual({ app: 'web', ...POD_LABELS });
  });

  test('a label of the pod cannot replace one by which its sandbox is found', () => {
    const pod = podOf({}, { metadata: { ...POD, labels: { 'io.kubernetes.pod.uid': 'forged' } } });
    expect(sandboxLabels(pod)).toEqual(POD_LABELS);
  });

  test('a container has its name, and none of the labels of the pod', () => {
    const pod = podOf({}, { metadata: { ...POD, labels: { app: 'web' } } });
    expect(containerLabels(pod, { name: 'app' })).toEqual({
      ...POD_LABELS,
      'io.kubernetes.container.name': 'app',
    });
  });

  test('they lead back to the pod; without them its names are empty', () => {
    expect(podOfLabels(sandboxLabels(podOf()))).toEqual(POD);
    expect(podOfLabels({})).toEqual({ name: '', namespace: '', uid: '' });
  });
});

describe('annotations of a container', () => {
  test('contain its hash, its attempt and the path of its termination message', () => {
    const app = { name: 'app', image: 'app:1' };
    expect(containerAnnotations(podOf(), app, 3)).toEqual({
      'io.kubernetes.container.hash': containerHash(app),
      'io.kubernetes.container.restartCount': '3',
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'statelet.dev/resources': '{"container":{}}',
    });
  });

  test('contain the resources with which it was created, its own and those of the pod', () => {
    const resources = { requests: { cpu: '100m' }, limits: {} };
    const app = { name: 'app', resources };
    const pod = podOf({ containers: [app], resources: { limits: { memory: '1Gi' } } });
    expect(JSON.parse(containerAnnotations(pod, app, 0)['statelet.dev/resources'] ?? '')).toEqual({
      container: { requests: { cpu: '100m' } },
      pod: { limits: { memory: '1Gi' } },
    });
  });

  test('contain how to end it when its spec is not known any more', () => {
    const preStop = { exec: { command: ['bye'] } };
    const app = {
      name: 'app',
      lifecycle: { preStop },
      ports: [{ containerPort: 80 }],
      terminationMessagePath: '/tmp/end',
      terminationMessagePolicy: 'FallbackToLogsOnError',
    };
    const metadata = { ...POD, deletionGracePeriodSeconds: 0 };
    const pod = podOf({ terminationGracePeriodSeconds: 45 }, { metadata });
    expect(containerAnnotations(pod, app, 0)).toMatchObject({
      'io.kubernetes.container.terminationMessagePath': '/tmp/end',
      'io.kubernetes.container.terminationMessagePolicy': 'FallbackToLogsOnError',
      'io.kubernetes.container.preStopHandler': JSON.stringify(preStop),
      'io.kubernetes.container.ports': JSON.stringify(app.ports),
      'io.kubernetes.pod.terminationGracePeriod': '45',
      'io.kubernetes.pod.deletionGracePeriod': '0',
    });
  });
});

describe('paths of logs', () => {
  test('are <namespace>_<name>_<uid>/<container>/<attempt>.log', () => {
    expect(containerLogPath('/var/log/pods', POD, 'app', 2)).toBe('/var/log/pods/shop_web_u-1/app/2.log');
  });

  test('the folder leads back to the pod', () => {
    expect(podOfLogsFolder(podLogsFolder(POD))).toEqual(POD);
    expect(podOfLogsFolder('shop_web_u_1')).toEqual({ ...POD, uid: 'u_1' });
  });

  test.each(['shop_web', 'shop__u-1', '', 'lost+found'])('"%s" is no folder of a pod', (folder) => {
    expect(podOfLogsFolder(folder)).toBeUndefined();
  });
});
