/** A container registry on loopback. The containerd of a test pulls from it over plain HTTP. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { holdStill } from '../hold-still.ts';
import { busyboxImage, type TestImage } from './images.ts';
import { installPackages } from './packages.ts';

export interface RegistryOptions {
  /** The account that may pull; without it, pulls are anonymous. */
  readonly auth?: { readonly username: string; readonly password: string };
}

export async function startRegistry({ auth }: RegistryOptions = {}): Promise<Registry> {
  await installPackages();
  const dir = mkdtempSync(join(tmpdir(), 'statelet-registry-'));
  const config = join(dir, 'config.json');
  if (auth) writeFileSync(join(dir, 'htpasswd'), `${auth.username}:${bcrypt(auth.password)}\n`);
  // JSON is valid YAML. With port 0 the log has the actual port.
  const protection = auth && { auth: { htpasswd: { realm: 'tests', path: join(dir, 'htpasswd') } } };
  const storage = { filesystem: { rootdirectory: join(dir, 'storage') }, delete: { enabled: true } };
  const log = { level: 'info', formatter: 'json' };
  const http = { addr: '127.0.0.1:0', secret: 'tests' };
  writeFileSync(config, JSON.stringify({ version: '0.1', log, storage, http, ...protection }));
  const registry = new Registry(dir, config, auth && basic(auth));
  try {
    await registry.listening;
  } catch (error) {
    await registry.stop();
    throw error;
  }
  return registry;
}

/** Pushed and pulled as `<host>/<name>:<tag>`. */
export class Registry {
  readonly listening: Promise<void>;
  /** `127.0.0.1:<port>`. */
  host = '';
  /** One line of text for each request and each event, as the registry writes it. */
  readonly log: string[] = [];
  readonly #dir: string;
  readonly #child: ChildProcess;
  readonly #authorization: string | undefined;

  constructor(dir: string, config: string, authorization: string | undefined) {
    this.#dir = dir;
    this.#authorization = authorization;
    // The registry ends when the test is killed.
    const args = ['--pdeathsig', 'KILL', 'docker-registry', 'serve', config];
    this.#child = spawn('setpriv', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.listening = this.#listen();
  }

  /** Pushes busybox, or the given image, as `name:tag`. Returns the reference for pulls. */
  async push(nameAndTag: string, image: TestImage = busyboxImage(nameAndTag)): Promise<string> {
    const [name = '', tag = 'latest'] = nameAndTag.split(':');
    for (const { digest, content } of [image.config, ...image.layers]) {
      const begun = await this.#request('POST', `/v2/${name}/blobs/uploads/`);
      const upload = new URL(begun.headers.get('location') ?? '', `http://${this.host}`);
      upload.searchParams.set('digest', digest);
      await this.#request('PUT', upload.pathname + upload.search, content);
    }
    const { mediaType, content } = image.manifest;
    await this.#request('PUT', `/v2/${name}/manifests/${tag}`, content, mediaType);
    return `${this.host}/${name}:${tag}`;
  }

  /** The requests for images of that name, as `HEAD /v2/…/manifests/1 200`, oldest first. */
  requests(name: string): readonly string[] {
    const all = this.log.map((line) => /"(\w+ \/v2\/\S+) HTTP\/1\.1" (\d+) .*"containerd/.exec(line));
    const texts = all.flatMap((match) => (match ? [`${match[1]} ${match[2]}`] : []));
    return texts.filter((text) => text.includes(` /v2/${name}/`));
  }

  /** Pauses the registry: connections are accepted, and nothing is answered until `resume`. */
  async pause(): Promise<void> {
    if (this.#child.pid === undefined) throw new Error('the registry does not run');
    await holdStill(this.#child.pid);
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await ended;
    }
    await rm(this.#dir, { recursive: true, force: true });
  }

  #listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      const note = (line: string) => {
        this.log.push(line);
        const port = /listening on 127\.0\.0\.1:(\d+)/.exec(line)?.[1];
        if (port === undefined) return;
        this.host = `127.0.0.1:${port}`;
        resolve();
      };
      for (const stream of [this.#child.stdout, this.#child.stderr]) {
        if (stream) createInterface({ input: stream }).on('line', note);
      }
      this.#child.once('error', reject);
      this.#child.once('exit', () => reject(new Error(`the registry ended:\n${this.log.join('\n')}`)));
    });
  }

  async #request(
    method: string,
    path: string,
    content?: Buffer,
    type = 'application/octet-stream',
  ): Promise<Response> {
    const response = await fetch(`http://${this.host}${path}`, {
      method,
      headers: {
        ...(content && { 'content-type': type }),
        ...(this.#authorization && { authorization: this.#authorization }),
      },
      ...(content && { body: new Uint8Array(content) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}

function basic({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** A bcrypt hash, the only kind that the registry accepts. It is made by Debian's libcrypt through Perl, which every Debian has. */
function bcrypt(password: string): string {
  const script = 'print crypt($ARGV[0], q($2b$04$abcdefghijklmnopqrstuu))';
  const hash = execFileSync('perl', ['-e', script, password], { encoding: 'utf8' });
  if (!hash.startsWith('$2b$')) throw new Error('the libcrypt of this machine knows no bcrypt');
  return hash;
}
