/** docs/nginx.md for tests that type its commands, and a registry for its images under the names of Docker Hub and registry.k8s.io. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { busyboxImage, pauseImage } from './containerd/images.ts';
import { type Registry, startRegistry } from './containerd/registry.ts';

const GUIDE = readFileSync(fileURLToPath(new URL('../../docs/nginx.md', import.meta.url)), 'utf8');

/** The hosts whose images the guide needs: of its pod, and of the sandboxes. */
export const REGISTRIES = ['registry-1.docker.io', 'registry.k8s.io'] as const;

/** The guide's blocks of commands, up to the end of the pod. */
export const guideBlocks: readonly string[] = Array.from(
  GUIDE.slice(0, GUIDE.indexOf('## When it does not work')).matchAll(/```sh\n([^]*?)```/gu),
  ([, block = '']) => block,
);

export const isInstall = (block: string): boolean => block.startsWith('apt-get update\n');

/** A registry with the images of the guide. Its nginx is a busybox that serves nginx's first page. */
export async function startGuideRegistry(): Promise<Registry> {
  const registry = await startRegistry();
  const page = { path: 'www/index.html', content: '<h1>Welcome to nginx!</h1>\n' };
  const settings = { Entrypoint: ['httpd', '-f', '-v', '-p', '80', '-h', '/www'], Cmd: [] };
  await registry.push('library/nginx:1.27', busyboxImage('nginx', settings, [{ path: 'www' }, page]));
  for (const version of ['3.6', '3.8', '3.10']) await registry.push(`pause:${version}`, pauseImage('pause'));
  return registry;
}
