/** Environment variables from files of the pod, and features that only newer runtimes have. */
import { expect, test } from '@jest/globals';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import { hasContainerd } from '../../../support/containerd/suite.ts';
import { SERVING } from '../../../support/cri-daemon.ts';
import { describeOnDaemon } from '../../../support/cri-suite.ts';
import { containerStatus } from '../../../support/daemon.ts';

describeOnDaemon('pods with newer features', ({ bed, daemon }) => {
  const fromFile = (key: string, path = 'app.env'): NonNullable<Container['env']>[number] => ({
    name: `FROM_${key}`,
    valueFrom: { fileKeyRef: { volumeName: 'conf', path, key } },
  });
  const volumes = [{ name: 'conf', emptyDir: {} }];
  const writing = (script: string, more: Partial<Container> = {}): Container =>
    bed.shell(script, { name: 'writer', volumeMounts: [{ name: 'conf', mountPath: '/conf' }], ...more });
  const refused = (name: string) =>
    daemon.until(
      name,
      'refused',
      (pod) => containerStatus(pod)?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
  const reason = (pod: Pod) => containerStatus(pod)?.state?.waiting?.message;

  test('a container has the variables that an init container has written, although it does not mount the volume', async () => {
    bed.apply('told', {
      initContainers: [writing(`printf "COLOR='dark\nblue' # c\nSIZE='7'\n" > /conf/app.env`)],
      containers: [
        bed.server({ env: [fromFile('COLOR'), fromFile('SIZE'), { name: 'ALL', value: '<$(FROM_SIZE)>' }] }),
      ],
      volumes,
    });
    const pod = await daemon.running('told');
    expect(await bed.exec(pod, ['sh', '-c', 'echo "$FROM_COLOR $ALL"'])).toBe('dark\nblue <7>\n');
  });

  test('a container waits for a file of a sidecar, and starts when the file is written', async () => {
    const script = `until [ -e /conf/go ]; do sleep 0.1; done; echo "K='late'" > /conf/app.env; ${SERVING}`;
    bed.apply('late', {
      initContainers: [writing(script, { restartPolicy: 'Always' })],
      containers: [bed.server({ env: [fromFile('K')] })],
      volumes,
    });
    const waiting = await refused('late');
    expect(reason(waiting)).toMatch(/^couldn't parse env file: app\.env of volume conf must be a plain file/);
    await bed.exec(waiting, ['touch', '/conf/go'], 'writer');
    const pod = await daemon.running('late');
    expect(await bed.exec(pod, ['sh', '-c', 'echo "$FROM_K"'])).toBe('late\n');
  });

  test('a link out of the volume is not followed', async () => {
    bed.apply('out', {
      initContainers: [writing('ln -s /etc/passwd /conf/app.env')],
      containers: [bed.server({ env: [fromFile('root')] })],
      volumes,
    });
    expect(reason(await refused('out'))).toMatch(/^couldn't parse env file: app\.env of volume conf must be/);
  });

  // What a newer containerd makes of these is in newer-runtime.test.ts.
  const testOnOlder = hasContainerd(2) ? test.skip : test;

  testOnOlder(
    'an image volume that the runtime cannot mount is refused, and the message names the requirement',
    async () => {
      bed.apply('image', {
        containers: [bed.server({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
        volumes: [{ name: 'data', image: { reference: bed.containerd.image, pullPolicy: 'Never' } }],
      });
      expect(reason(await refused('image'))).toMatch(
        /^containerd 1\.\S+ cannot mount an image as a volume: that takes 2\.1 or newer$/,
      );
    },
  );

  testOnOlder('a pod with its own user namespace never runs in that of the node', async () => {
    bed.apply('own-users', { hostNetwork: false, hostUsers: false, containers: [bed.server()] });
    const { msg } = await daemon.event('own-users', 'FailedCreatePodSandBox');
    expect(msg).toContain("can't set `spec.hostUsers: false`, runtime does not support user namespaces");
  });
});
