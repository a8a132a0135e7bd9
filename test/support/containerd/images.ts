/** Images for tests, made of the node's static busybox, so that nothing has to be pulled. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tar, type TarEntry } from './tar.ts';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar';
const PATH = 'PATH=/usr/local/bin:/usr/bin:/bin';

/** A user and a group `app` with the ID 1000 beside root. */
const PASSWD = 'root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000:app:/home/app:/bin/sh\n';
const GROUP = 'root:x:0:\napp:x:1000:\nextra:x:2000:app\n';

/** The container settings of an image, with the names of OCI's image configuration. */
export interface ImageSettings {
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly StopSignal?: string;
  readonly Labels?: Readonly<Record<string, string>>;
}

interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly content: Buffer;
}

export interface TestImage {
  /** The name for the import. In a registry the image has another name. */
  readonly ref: string;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Blob[];
}

export const BUSYBOX = 'statelet.test/busybox:1';
/** `USER app`: a name, so that the runtime has to look it up. */
export const BUSYBOX_USER_NAME = 'statelet.test/busybox-user-name:1';
/** `USER 1000`. */
export const BUSYBOX_USER_ID = 'statelet.test/busybox-user-id:1';
/** Prints its arguments, `$FROM_IMAGE` and the working directory, then sleeps; ends on SIGTERM. */
export const BUSYBOX_ENTRYPOINT = 'statelet.test/busybox-entrypoint:1';
export const PAUSE = 'statelet.test/pause:1';

/** The pause image: keeps the namespaces of a pod, reaps orphaned processes, and ends on SIGTERM. */
const PAUSE_SCRIPT = 'trap "exit 0" TERM INT; while :; do sleep 2147483 & wait; done';
const ENTRYPOINT_SCRIPT = 'trap "exit 0" TERM; echo "$*"; echo "$FROM_IMAGE"; pwd; sleep 2147483 & wait';

/** An image of busybox with other settings, or with more files. */
export function busyboxImage(
  ref: string,
  settings: ImageSettings = {},
  files: readonly TarEntry[] = [],
): TestImage {
  const config = { Env: [PATH], Cmd: ['sh'], ...settings };
  return image(ref, config, [busyboxLayer(), ...(files.length > 0 ? [blob(LAYER, tar(files))] : [])]);
}

export const pauseImage = (ref: string): TestImage =>
  busyboxImage(ref, { Entrypoint: ['sh', '-c', PAUSE_SCRIPT], Cmd: [] });

let standard: readonly TestImage[] | undefined;

/** The images that every containerd of a test has from the start. */
export function standardImages(): readonly TestImage[] {
  standard ??= [
    busyboxImage(BUSYBOX),
    busyboxImage(BUSYBOX_USER_NAME, { User: 'app' }),
    busyboxImage(BUSYBOX_USER_ID, { User: '1000' }),
    busyboxImage(BUSYBOX_ENTRYPOINT, {
      Entrypoint: ['sh', '-c', ENTRYPOINT_SCRIPT, 'entrypoint'],
      Cmd: ['default', 'arguments'],
      Env: [PATH, 'FROM_IMAGE=yes'],
      WorkingDir: '/home/app',
    }),
    pauseImage(PAUSE),
  ];
  return standard;
}

/** An archive in OCI's layout, for `ctr images import`. */
export function archive(images: readonly TestImage[]): Buffer {
  const manifests = images.map(({ ref, manifest }) => ({
    ...descriptor(manifest),
    annotations: { 'io.containerd.image.name': ref },
  }));
  const blobs = images.flatMap(({ manifest, config, layers }) => [manifest, config, ...layers]);
  const unique = new Map(blobs.map((one) => [one.digest, one]));
  return tar([
    { path: 'oci-layout', content: json({ imageLayoutVersion: '1.0.0' }) },
    { path: 'index.json', content: json({ schemaVersion: 2, manifests }) },
    ...[...unique.values()].map(({ digest, content }) => ({
      path: `blobs/${digest.replace(':', '/')}`,
      content,
    })),
  ]);
}

function image(ref: string, settings: ImageSettings, layers: readonly Blob[]): TestImage {
  const platform = { architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' };
  const rootfs = { type: 'layers', diff_ids: layers.map(({ digest }) => digest) };
  // Without it, images with the same settings would be one image with several names.
  const author = ref;
  const config = blob(CONFIG, json({ author, ...platform, config: settings, rootfs }));
  const references = { config: descriptor(config), layers: layers.map(descriptor) };
  const manifest = blob(MANIFEST, json({ schemaVersion: 2, mediaType: MANIFEST, ...references }));
  return { ref, manifest, config, layers };
}

let layer: Blob | undefined;

function busyboxLayer(): Blob {
  layer ??= blob(LAYER, tar(busyboxFiles()));
  return layer;
}

function busyboxFiles(): readonly TarEntry[] {
  const applets = execFileSync('busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n');
  const folders = ['bin', 'dev', 'etc', 'home', 'proc', 'root', 'sys', 'usr', 'usr/bin', 'var', 'var/log'];
  const binary = execFileSync('which', ['busybox'], { encoding: 'utf8' }).trim();
  return [
    ...folders.map((path) => ({ path })),
    { path: 'home/app', uid: 1000, gid: 1000 },
    { path: 'tmp', mode: 0o1777 },
    { path: 'etc/passwd', content: PASSWD },
    { path: 'etc/group', content: GROUP },
    { path: 'bin/busybox', mode: 0o755, content: readFileSync(binary) },
    ...applets
      .filter((applet) => applet !== 'busybox')
      .map((applet) => ({ path: `bin/${applet}`, linkTo: 'busybox' })),
  ];
}

function blob(mediaType: string, content: Buffer): Blob {
  return { mediaType, digest: `sha256:${createHash('sha256').update(content).digest('hex')}`, content };
}

const descriptor = ({ mediaType, digest, content }: Blob) => ({ mediaType, digest, size: content.length });

const json = (value: object): Buffer => Buffer.from(JSON.stringify(value));
