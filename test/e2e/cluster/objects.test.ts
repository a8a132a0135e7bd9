/** What pods get from a real API server with its controller manager: tokens, ConfigMaps, Secrets. */
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Container, PodSpec } from '../../../src/types/kubernetes.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { NODE_NAME } from '../../support/daemon.ts';
import { KUBECTL_PATIENCE, waitFor } from '../../support/wait-for.ts';

const TOKENS = '/var/run/secrets/kubernetes.io/serviceaccount';
/** The end of a script: the termination message is what the pod could read. */
const MESSAGE = '> /dev/termination-log';

describeOnCluster(
  'the objects that a pod refers to',
  { controlPlane: { with: ['kube-controller-manager'] } },
  (cluster) => {
    const kubectl = (...args: string[]) => cluster.controlPlane.kubectl(...args);
    const volumeOf = (volume: Omit<NonNullable<PodSpec['volumes']>[number], 'name'>): Partial<PodSpec> => ({
      volumes: [{ name: 'data', ...volume }],
      restartPolicy: 'Never',
    });
    const reader = (script: string, fields: Partial<Container> = {}) => [
      cluster.shell(`(${script}) ${MESSAGE}`, {
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
        ...fields,
      }),
    ];
    const messageOf = async (name: string) => {
      const { status } = await cluster.podIs('Succeeded', name, (pod) => pod.status?.phase === 'Succeeded');
      return status?.containerStatuses?.[0]?.state?.terminated?.message;
    };

    beforeAll(async () => {
      const found = async () =>
        (await kubectl('get', 'serviceaccount,configmap', '-o', 'name')).split('\n').filter(Boolean).length >=
        2;
      await waitFor(found, { what: 'the default service account and kube-root-ca.crt' });
    });
    afterEach(() => cluster.clear());

    test('a pod of plain kubectl run becomes ready, and has its token, the certificate and its namespace', async () => {
      const script = `sleep 1; trap 'exit 0' TERM; while :; do sleep 1000 & wait $!; done`;
      const { image } = cluster.bed.containerd;
      const run = ['run', 'plain', `--image=${image}`, '--image-pull-policy=IfNotPresent'];
      const place = `--overrides=${JSON.stringify({ spec: { nodeName: NODE_NAME } })}`;
      await kubectl(...run, place, '--', 'sh', '-c', script);
      const { metadata } = await cluster.podIsReady('plain');
      // A list that takes longer than a second is asked for again: only that may be said on a busy machine.
      const failed = await cluster.wholeEventsOf('plain', 'reason=FailedMount');
      const isSlow = ({ message }: { readonly message: string }) =>
        message.includes('timed out waiting for the condition');
      expect(failed.filter((event) => !isSlow(event))).toEqual([]);
      const { spec } = await cluster.controlPlane.kubectlJson<{ spec: PodSpec }>('get', 'pod', 'plain');
      expect(spec.volumes?.[0]?.name).toMatch(/^kube-api-access-/);

      await cluster.create('reads', {
        automountServiceAccountToken: true,
        restartPolicy: 'Never',
        containers: [
          cluster.shell(
            `cd ${TOKENS}; (cat namespace; echo; head -n 1 ca.crt; cut -d . -f 2 token) ${MESSAGE}`,
          ),
        ],
      });
      const [namespace, certificate, claims = ''] = ((await messageOf('reads')) ?? '').split('\n');
      expect(namespace).toBe('default');
      expect(certificate).toBe('-----BEGIN CERTIFICATE-----');
      const reads = await cluster.pod('reads');
      expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
        sub: 'system:serviceaccount:default:default',
        'kubernetes.io': { pod: { name: 'reads', uid: reads?.metadata.uid } },
      });
      expect(reads?.metadata.uid).not.toBe(metadata.uid);
    });

    test('a ConfigMap is there as files and as variables', async () => {
      await kubectl('create', 'configmap', 'settings', '--from-literal=color=blue', '--from-literal=size=7');
      await cluster.create('configured', {
        ...volumeOf({ configMap: { name: 'settings', items: [{ key: 'color', path: 'dir/color' }] } }),
        containers: reader('cat /data/dir/color; echo " $P_size $COLOR ${NONE:-unset}"', {
          envFrom: [{ prefix: 'P_', configMapRef: { name: 'settings' } }],
          env: [
            { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
            { name: 'NONE', valueFrom: { configMapKeyRef: { name: 'none', key: 'x', optional: true } } },
          ],
        }),
      });
      expect(await messageOf('configured')).toBe('blue 7 blue unset\n');
    });

    test('a Secret is available as files in memory and as a variable, and in no log', async () => {
      await kubectl('create', 'secret', 'generic', 'login', '--from-literal=password=not-for-logs');
      await cluster.create('secretive', {
        ...volumeOf({ secret: { secretName: 'login', defaultMode: 0o400 } }),
        containers: reader(
          'wc -c < /data/password; stat -L -c %a /data/password; grep -c " /data tmpfs " /proc/mounts; [ "$PASSWORD" = "$(cat /data/password)" ] && echo same',
          {
            env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } }],
          },
        ),
      });
      expect(await messageOf('secretive')).toBe('12\n400\n1\nsame\n');
      expect(JSON.stringify(cluster.daemon.log)).not.toMatch(/not-for-logs|bm90LWZvci1sb2dz/);
    });

    test('a pod waits for a missing ConfigMap, with an event; an optional one is left out', async () => {
      await cluster.create('patient', {
        volumes: [
          { name: 'data', configMap: { name: 'late' } },
          { name: 'extra', configMap: { name: 'none', optional: true } },
        ],
        restartPolicy: 'Never',
        containers: reader('cat /data/key; ls /extra', {
          volumeMounts: [
            { name: 'data', mountPath: '/data' },
            { name: 'extra', mountPath: '/extra' },
          ],
        }),
      });
      await cluster.told(
        'patient',
        'MountVolume.SetUp failed for volume "data" : configmap "late" not found',
        'reason=FailedMount',
      );
      await kubectl('create', 'configmap', 'late', '--from-literal=key=there');
      expect(await messageOf('patient')).toBe('there');
    });

    test('a pod whose volume can never be mounted ends cleanly when it is deleted', async () => {
      await cluster.create('hopeless', {
        ...volumeOf({ secret: { secretName: 'never' } }),
        containers: reader('exit 0'),
      });
      const isTold = async () => (await cluster.eventsOf('hopeless')).includes('FailedMount');
      await waitFor(isTold, { what: 'the event FailedMount' });
      await kubectl('delete', 'pod', 'hopeless', KUBECTL_PATIENCE);
      expect(await cluster.bed.containerd.leftovers()).toEqual([]);
    });
  },
);
