/** Pods that are written past the API server, so that it checks nothing, and read from it in both forms. */
import { request } from 'node:https';
import { bytes, field, message, string } from '../../src/system/protobuf.ts';
import type { ControlPlane } from './control-plane.ts';

type Json = Record<string, unknown>;

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
/** What every object begins with, before a message that names its kind and has its bytes. */
const MAGIC = Buffer.from('k8s\0', 'latin1');

interface Envelope {
  readonly type: { readonly apiVersion: string; readonly kind: string };
  readonly raw: Buffer;
}
const envelope = message<Envelope>({
  type: field(1, message<Envelope['type']>({ apiVersion: field(1, string), kind: field(2, string) })),
  raw: field(2, bytes),
});

export class StoredPods {
  readonly #controlPlane: ControlPlane;

  constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
  }

  async writeJson(name: string, pod: object): Promise<void> {
    await this.#write(name, Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod })));
  }

  async writeBytes(name: string, raw: Buffer): Promise<void> {
    const enveloped = envelope.encode({ type: { apiVersion: 'v1', kind: 'Pod' }, raw });
    await this.#write(name, Buffer.concat([MAGIC, enveloped]));
  }

  async readJson(name: string): Promise<Json> {
    return JSON.parse((await this.#read(name, 'application/json')).toString('utf8')) as Json;
  }

  /** The bytes of the pod's message. */
  async readBytes(name: string): Promise<Buffer> {
    const answer = await this.#read(name, PROTOBUF);
    if (!answer.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('the answer is no protocol buffer');
    return envelope.decode(answer.subarray(MAGIC.length)).raw;
  }

  #read(name: string, accept: string): Promise<Buffer> {
    return this.get(`/api/v1/namespaces/default/pods/${name}`, accept);
  }

  get(path: string, accept: string): Promise<Buffer> {
    const { server, ca, cert, key } = this.#controlPlane.details('admin');
    return new Promise((resolve, reject) => {
      const asked = request(`${server}${path}`, { ca, cert, key, headers: { accept } }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
        answer.on('end', () => {
          const body = Buffer.concat(chunks);
          if (answer.statusCode === 200) resolve(body);
          else reject(new Error(`${path}: ${String(answer.statusCode)} ${body.toString('utf8')}`));
        });
      });
      asked.on('error', reject).end();
    });
  }

  async #write(name: string, value: Buffer): Promise<void> {
    const key = Buffer.from(`/registry/pods/default/${name}`);
    const body = { key: key.toString('base64'), value: value.toString('base64') };
    const answer = await fetch(`${this.#controlPlane.etcdUrl}/v3/kv/put`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`etcd answers ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}
