/**
 * A control plane for tests: the double of this project (`test/support/api-server`), or the real etcd, kube-apiserver and other wanted programs. It
 * listens on free ports on loopback and keeps everything in a temporary folder. Others may run beside it.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundled } from '../../../scripts/jest/bundled.ts';
import type { ConnectionDetails } from '../../../src/agent/cluster/service/api-server.ts';
import { type CertificateFiles, CertificateAuthority } from './certificates.ts';
import { Component } from './component.ts';
import {
  apiServerFlags,
  controllerManagerFlags,
  etcdFlags,
  type Places,
  schedulerFlags,
} from './programs.ts';
import type { DoubleOptions } from '../api-server/context.ts';
import { SERVED_TYPES } from '../api-server/served-types.ts';
import { freePort, ownNumber } from '../free-port.ts';
import type { Subject } from '../signed-certificate.ts';
import { kubectlProgram, kubernetesProgram, type ProgramsKind } from '../kubernetes-programs.ts';
import { PATIENCE_MS, waitFor } from '../wait-for.ts';

const run = promisify(execFile);
const DOUBLE = new URL('../api-server/main.ts', import.meta.url);
const KUBECTL_OUTPUT_MAX = 64 * 1024 * 1024;
/** The annotation from which `kubectl apply` later knows what it has set. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

interface AppliedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
}

export interface ControlPlaneOptions {
  /** Default `double`. */
  readonly programs?: ProgramsKind;
  /** Whose credentials `nodeKubeconfig` has. Default `node-1`. */
  readonly nodeName?: string;
  /**
   * Programs beside etcd and kube-apiserver. Without the controller manager there are no service accounts (pods do not need one), no
   * CSR is signed and nothing is deleted with its owner; without the scheduler a pod has to be created with `spec.nodeName`.
   */
  readonly with?: readonly ('kube-controller-manager' | 'kube-scheduler')[];
  /** `--max-requests-inflight=10`. */
  readonly apiServerFlags?: readonly string[];
  readonly controllerManagerFlags?: readonly string[];
  /** More options of the double. */
  readonly double?: Partial<DoubleOptions>;
}

/** Resolves when all its programs are ready: after half a second, and with real programs after about ten. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const controlPlane = new ControlPlane(await createPlaces(), options);
  try {
    await controlPlane.start();
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
  return controlPlane;
}

export class ControlPlane {
  readonly dir: string;
  /** `https://127.0.0.1:PORT`. It stays the same when the API server is started again. */
  readonly server: string;
  readonly nodeName: string;
  /** An address of the loopback device, for `--node-ip`: the API server reaches the node's server there. */
  readonly nodeIp: string;
  readonly ca: CertificateAuthority;
  /** Of a user of `system:masters`. */
  readonly adminKubeconfig: string;
  /** Of `system:node:NODE` in `system:nodes`. */
  readonly nodeKubeconfig: string;
  /** The double keeps its objects itself. */
  readonly etcd: Component | undefined;
  /** For a test that writes objects past the API server. */
  readonly etcdUrl: string;
  readonly programs: ProgramsKind;
  readonly apiServer: Component;
  readonly #others: readonly Component[];
  readonly #hasControllerManager: boolean;
  readonly #janitor: ChildProcess;
  /** Connections of the administrator. A new connection for each request takes ten times the CPU time. */
  readonly #connections = new Agent({ keepAlive: true });

  constructor(places: Places, { nodeName = 'node-1', ...options }: ControlPlaneOptions) {
    const { dir, ca, nodeIp, ports } = places;
    const { with: more = [] } = options;
    this.dir = dir;
    this.ca = ca;
    this.nodeIp = nodeIp;
    this.nodeName = nodeName;
    this.server = `https://127.0.0.1:${ports.apiServer}`;
    this.adminKubeconfig = this.#kubeconfigOf('admin');
    this.nodeKubeconfig = this.#kubeconfigOf('node');
    this.programs = options.programs ?? 'double';
    this.etcdUrl = `http://127.0.0.1:${ports.etcd}`;
    this.#hasControllerManager = more.includes('kube-controller-manager');
    const components =
      this.programs === 'double'
        ? this.#double(places, options)
        : realComponents(places, options, (name) => this.#kubeconfigOf(name));
    this.etcd = components.etcd;
    this.apiServer = components.apiServer;
    this.#others = components.others;
    // Last: nobody would end it if the rest failed, and this process would wait for it.
    this.#janitor = startJanitor(dir, nodeIp);
  }

  #double(places: Places, { with: more = [], double = {} }: ControlPlaneOptions): Components {
    const { dir, ports } = places;
    const config = join(dir, 'double.json');
    const options: DoubleOptions = {
      dir,
      port: ports.apiServer,
      controllers: this.#hasControllerManager,
      serviceAccounts: this.#hasControllerManager,
      scheduler: more.includes('kube-scheduler'),
      ...double,
    };
    writeFileSync(config, JSON.stringify(options));
    const args = [bundled(DOUBLE), config];
    const isReady = () => isOk(`${this.server}/readyz`);
    const command = process.execPath;
    const apiServer = new Component({ name: 'api-server-double', command, args, dir, isReady, pauseMs: 20 });
    return { etcd: undefined, apiServer, others: [] };
  }

  /** Flags of an agent whose server the API server reaches: each control plane has an address of its own for its node. */
  get serverFlags(): readonly string[] {
    const { cert, key } = this.ca.filesOf('node-serving');
    const tls = ['--tls-cert-file', cert, '--tls-private-key-file', key];
    return ['--address', this.nodeIp, ...tls, '--client-ca-file', this.ca.files.cert];
  }

  /** Prepares everything that its programs need, for tests that start them in another way. */
  async prepare(): Promise<void> {
    this.#issue();
    await run('ip', ['address', 'replace', `${this.nodeIp}/32`, 'dev', 'lo']);
  }

  /** Its programs, in the order in which they need each other. */
  get components(): readonly Component[] {
    return [...(this.etcd ? [this.etcd] : []), this.apiServer, ...this.#others];
  }

  /** Whether its API server answers. */
  isReady(): Promise<boolean> {
    return isOk(`${this.server}/readyz`).catch(() => false);
  }

  async start(): Promise<void> {
    await this.prepare();
    await this.etcd?.start();
    await this.apiServer.start();
    await Promise.all(this.#others.map((other) => other.start()));
    if (!this.#hasControllerManager) return;
    const account = '/api/v1/namespaces/default/serviceaccounts/default';
    const made = async () => (await this.read(account)) !== undefined;
    await waitFor(made, { what: 'the default service account' });
  }

  /** Ends all programs, and removes the folder. */
  async stop(): Promise<void> {
    this.#connections.destroy();
    for (const program of [...this.#others, this.apiServer, this.etcd]) await program?.stop();
    await run('ip', ['address', 'delete', `${this.nodeIp}/32`, 'dev', 'lo']).catch(() => undefined);
    rmSync(this.dir, { recursive: true, force: true });
    this.#janitor.stdin?.end('nothing to do\n');
  }

  /** As the administrator, in the namespace `default` unless `--namespace` says otherwise. Resolves with what it prints. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return this.#kubectl(args);
  }

  async kubectlJson<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse(await this.kubectl(...args, '--output=json')) as T;
  }

  /**
   * The object at a path of the API server, as the administrator sees it; undefined where there is none. For repeated reads: kubectl takes a hundred
   * times the CPU time.
   */
  async read<T>(path: string): Promise<T | undefined> {
    const { statusCode, body } = await this.#ask('GET', path);
    if (statusCode === 200) return JSON.parse(body) as T;
    if (statusCode === 404) return undefined;
    throw new Error(`GET ${path}: ${statusCode} ${body}`);
  }

  /** What the administrator is answered at a path of the API server, such as `/metrics`. Rejects where it is not 200. */
  async readText(path: string): Promise<string> {
    return this.#send('GET', path);
  }

  /** A strategic merge patch as the administrator, also of subresources, which older versions of kubectl do not know: `pods/web/status`. */
  async patch(path: string, patch: object): Promise<void> {
    await this.#send('PATCH', path, patch, 'application/strategic-merge-patch+json');
  }

  /** A token of a service account in the namespace `default`. */
  async createToken(account: string): Promise<string> {
    const asked = { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec: {} };
    const path = `/api/v1/namespaces/default/serviceaccounts/${account}/token`;
    const answer = await this.#send('POST', path, asked, 'application/json');
    return (JSON.parse(answer) as { readonly status: { readonly token: string } }).status.token;
  }

  /** Binds a pod of the namespace `default`, as a scheduler does. */
  async bind(pod: string, nodeName: string): Promise<void> {
    const target = { apiVersion: 'v1', kind: 'Node', name: nodeName };
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: pod }, target };
    await this.#send('POST', `/api/v1/namespaces/default/pods/${pod}/binding`, binding);
  }

  /** Deletes the objects at the path of a resource. They may be there for a while. */
  async deleteAll(path: string): Promise<void> {
    await this.#send('DELETE', path);
  }

  async #send(method: string, path: string, sent?: object, contentType?: string): Promise<string> {
    const { statusCode = 0, body } = await this.#ask(method, path, sent, contentType);
    if (statusCode >= 300) throw new Error(`${method} ${path}: ${statusCode} ${body}`);
    return body;
  }

  /** As the administrator. */
  #ask(method: string, path: string, sent?: object, contentType = 'application/json'): Promise<Answer> {
    const { cert, key } = this.ca.filesOf('admin');
    const options = {
      agent: this.#connections,
      cert: readFileSync(cert),
      key: readFileSync(key),
      method,
      ...(sent && { headers: { 'content-type': contentType } }),
    };
    return answerOf(this.server + path, options, sent && JSON.stringify(sent));
  }

  /**
   * Creates the objects or changes them as `kubectl apply` does, without its validation. kubectl is run for the first object that cannot simply be
   * created, and for all after it.
   */
  async apply(...objects: readonly object[]): Promise<void> {
    for (const [index, object] of objects.entries()) {
      if (await this.#created(object)) continue;
      const list = { apiVersion: 'v1', kind: 'List', items: objects.slice(index) };
      await this.#kubectl(['apply', '--validate=false', '--filename=-'], JSON.stringify(list));
      return;
    }
  }

  /** Returns whether the object was created: there was none before. */
  async #created(object: object): Promise<boolean> {
    const { apiVersion, kind, metadata } = object as AppliedObject;
    const [group = '', version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const type = SERVED_TYPES.find(
      (one) => one.kind === kind && one.group === group && one.version === version,
    );
    if (type === undefined) return false;
    const { annotations, namespace = 'default' } = metadata;
    const place = type.namespaced ? `/namespaces/${namespace}` : '';
    const path = `${group === '' ? '/api' : '/apis'}/${apiVersion}${place}/${type.plural}`;
    const applied = { ...annotations, [LAST_APPLIED]: JSON.stringify(object) };
    const sent = { ...object, metadata: { ...metadata, annotations: applied } };
    const answer = await this.#ask('POST', path, sent).catch(() => undefined);
    return answer?.statusCode === 201;
  }

  /** As the administrator or as the node, for a client that needs no kubeconfig. */
  details(user: 'admin' | 'node' = 'node'): ConnectionDetails {
    return this.detailsOf(this.ca.filesOf(user));
  }

  detailsOf({ cert, key }: CertificateFiles): ConnectionDetails {
    const [ca, certText, keyText] = [this.ca.files.cert, cert, key].map((file) => readFileSync(file, 'utf8'));
    return { server: this.server, ca, cert: certText, key: keyText, headers: {} };
  }

  /** Credentials of another node. Returns the path of its kubeconfig. */
  addNode(nodeName: string): string {
    const files = this.ca.issue({ ...nodeSubject(nodeName), name: nodeName, usage: 'client auth' });
    return this.writeKubeconfig(nodeName, files);
  }

  /** Returns the path. `server`: for example that of a proxy. */
  writeKubeconfig(name: string, { cert, key }: CertificateFiles, server = this.server): string {
    const path = this.#kubeconfigOf(name);
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'local', cluster: { server, 'certificate-authority': this.ca.files.cert } }],
      users: [{ name, user: { 'client-certificate': cert, 'client-key': key } }],
      contexts: [{ name: 'local', context: { cluster: 'local', user: name } }],
      'current-context': 'local',
    };
    writeFileSync(path, JSON.stringify(config, null, 2), { mode: 0o600 });
    return path;
  }

  async #kubectl(args: readonly string[], input = ''): Promise<string> {
    const env = { PATH: process.env.PATH, HOME: this.dir, KUBECONFIG: this.adminKubeconfig };
    const running = run(kubectlProgram(this.programs), [...args], { env, maxBuffer: KUBECTL_OUTPUT_MAX });
    // Most commands read no input, and may end before it is written: the exit code shows a failure.
    running.child.stdin?.on('error', () => undefined).end(input);
    return (await running).stdout;
  }

  #kubeconfigOf(name: string): string {
    return join(this.dir, `${name}.kubeconfig`);
  }

  /** All certificates and kubeconfigs. */
  #issue(): void {
    const { ca, nodeIp, nodeName } = this;
    ca.create();
    const serverNames = `IP:127.0.0.1,IP:${nodeIp},IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc`;
    const nodeNames = `DNS:${nodeName},DNS:localhost,IP:${nodeIp},IP:127.0.0.1`;
    const clients: Readonly<Record<string, Subject>> = {
      node: nodeSubject(nodeName),
      admin: { organizations: ['system:masters'], commonName: 'admin' },
      ...(this.programs === 'real' && {
        'controller-manager': { commonName: 'system:kube-controller-manager' },
        scheduler: { commonName: 'system:kube-scheduler' },
      }),
      'apiserver-kubelet-client': {
        organizations: ['system:masters'],
        commonName: 'kube-apiserver-kubelet-client',
      },
      'service-accounts': { commonName: 'service-accounts' },
    };
    const serving = { usage: 'server auth' } as const;
    ca.issue({ ...serving, name: 'apiserver', commonName: 'kube-apiserver', alternativeNames: serverNames });
    ca.issue({
      ...serving,
      ...nodeSubject(nodeName),
      name: 'node-serving',
      alternativeNames: nodeNames,
    });
    for (const [name, subject] of Object.entries(clients)) {
      ca.issue({ ...subject, name, usage: 'client auth' });
      this.writeKubeconfig(name, ca.filesOf(name));
    }
  }
}

function nodeSubject(nodeName: string): Subject {
  return { organizations: ['system:nodes'], commonName: `system:node:${nodeName}` };
}

interface Components {
  readonly etcd: Component | undefined;
  readonly apiServer: Component;
  readonly others: readonly Component[];
}

function realComponents(
  places: Places,
  { with: more = [], ...options }: ControlPlaneOptions,
  kubeconfigOf: (name: string) => string,
): Components {
  const { dir, ports } = places;
  const component = (name: string, args: readonly string[], isReady: () => Promise<boolean>) =>
    new Component({ command: kubernetesProgram(name), args, dir, isReady });
  const answers = (port: number, path: string) => () => isOk(`https://127.0.0.1:${port}${path}`);
  const flags = [
    ...apiServerFlags(places, more.includes('kube-controller-manager')),
    ...(options.apiServerFlags ?? []),
  ];
  const controllerManager = controllerManagerFlags(places, kubeconfigOf('controller-manager'));
  const rest = {
    'kube-controller-manager': {
      flags: [...controllerManager, ...(options.controllerManagerFlags ?? [])],
      port: ports.controllerManager,
    },
    'kube-scheduler': { flags: schedulerFlags(places, kubeconfigOf('scheduler')), port: ports.scheduler },
  };
  return {
    etcd: component('etcd', etcdFlags(places), () => isListening(ports.etcd)),
    apiServer: component('kube-apiserver', flags, answers(ports.apiServer, '/readyz')),
    others: more.map((name) => component(name, rest[name].flags, answers(rest[name].port, '/healthz'))),
  };
}

export async function createPlaces(): Promise<Places> {
  const dir = mkdtempSync(join(tmpdir(), 'statelet-control-plane-'));
  const pki = join(dir, 'pki');
  mkdirSync(pki);
  const ports = {
    etcd: await freePort(),
    etcdPeers: await freePort(),
    apiServer: await freePort(),
    controllerManager: await freePort(),
    scheduler: await freePort(),
  };
  const nodeIp = `10.99.${1 + ownNumber(250)}.${1 + randomInt(250)}`;
  return { dir, ca: new CertificateAuthority(pki), nodeIp, ports };
}

async function isListening(port: number): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${port}/health`)).ok;
}

interface Answer {
  readonly statusCode: number | undefined;
  readonly body: string;
}

/** Resolves if the server answers 200, and rejects with its other answer, or if it takes long: a server that starts is asked again. */
async function isOk(url: string): Promise<true> {
  const { statusCode, body } = await answerOf(url, { timeout: 5_000 });
  if (statusCode !== 200) throw new Error(`${url}: ${statusCode} ${body}`);
  return true;
}

/** The certificate of the server is not verified. */
function answerOf(url: string, asked: RequestOptions = {}, sent = ''): Promise<Answer> {
  const options = { agent: false, timeout: PATIENCE_MS, ...asked, rejectUnauthorized: false } as const;
  return new Promise((resolve, reject) => {
    const asking = request(url, options, (response) => {
      const { statusCode } = response;
      text(response).then((body) => resolve({ statusCode, body }), reject);
    });
    asking.on('timeout', () => asking.destroy(new Error('no answer')));
    asking.on('error', (error: NodeJS.ErrnoException) => {
      // The server may have ended since the connection was used last.
      if (asking.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? ''))
        resolve(answerOf(url, asked, sent));
      else reject(error);
    });
    asking.end(sent);
  });
}

/** Cleans up after a test that was killed: its end closes the pipe on which this shell waits. */
function startJanitor(dir: string, nodeIp: string): ChildProcess {
  const script = `read -r word && exit
for file in "$1"/*.pid; do
  pid=$(cat "$file") && tr '\\0' ' ' < "/proc/$pid/cmdline" | grep -qF "$1" && kill -9 "$pid"
done
ip address delete "$2/32" dev lo
rm -rf "$1"`;
  const janitor = spawn('sh', ['-c', script, 'sh', dir, nodeIp], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  janitor.unref();
  return janitor;
}
