/** Bodies in protocol buffers, which kubectl sends for kinds that it knows. The server answers it in JSON all the same. */
import { rfc3339 } from '../../../src/agent/policies/formats/time.ts';
import { setMember } from '../../../src/system/set-member.ts';
import type { Draft } from './context.ts';
import { readTable } from './read-table.ts';
import { badRequest } from './status-error.ts';

/** By message and number: `name type`, where the type is a scalar, another message, a list (`[]type`) or a map of texts (`map type`). */
type Fields = Readonly<Record<string, Readonly<Record<string, string>>>>;

const MAGIC = Buffer.from('k8s\0');
const DEPTH_MAX = 32;
let fields: Fields | undefined;

/** The object in such a body. Throws the server's answer to a body that it cannot read. */
export function protobufObject(body: Buffer): Draft {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC))
    throw badRequest('provided data does not appear to be a protobuf message');
  fields ??= readTable('protobuf-fields.json') as Fields;
  try {
    let [apiVersion, kind] = ['', ''];
    let raw = Buffer.alloc(0) as Buffer;
    for (const { number, bytes } of members(body.subarray(MAGIC.length))) {
      if (number === 2) raw = bytes;
      if (number !== 1) continue;
      for (const member of members(bytes)) {
        if (member.number === 1) apiVersion = member.bytes.toString();
        if (member.number === 2) kind = member.bytes.toString();
      }
    }
    const group = apiVersion.includes('/') ? (apiVersion.split(/[./]/u)[0] ?? '') : 'core';
    const message = kind === 'DeleteOptions' ? 'meta.DeleteOptions' : `${group}.${kind}`;
    if (fields[message] === undefined) throw new Error(`no fields of ${message} are known here`);
    return { apiVersion, kind, ...fieldsIn(raw, message, 0) };
  } catch (error) {
    throw badRequest(`the body in protocol buffers cannot be read: ${(error as Error).message}`);
  }
}

interface Member {
  readonly number: number;
  readonly value: number;
  readonly bytes: Buffer;
}

function* members(message: Buffer): Generator<Member> {
  let at = 0;
  const varint = (): number => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = message[at++];
      if (byte === undefined || shift > 63n) throw new Error('it ends in a number');
      value |= BigInt(byte & 0x7f) << shift;
      // A negative number has all bits of 64 set.
      if (byte < 0x80) return Number(BigInt.asIntN(64, value));
      shift += 7n;
    }
  };
  while (at < message.length) {
    const key = varint();
    const [number, wireType] = [Math.floor(key / 8), key % 8];
    if (wireType === 0) yield { number, value: varint(), bytes: message.subarray(0, 0) };
    else if (wireType === 2) {
      const length = varint();
      if (length < 0 || at + length > message.length) throw new Error('it ends in a field');
      yield { number, value: 0, bytes: message.subarray(at, at + length) };
      at += length;
    } else throw new Error(`there is no wire type ${wireType} in it`);
  }
}

/** Messages whose JSON is not an object of their fields. */
const SPECIAL: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
  'meta.Time': timeOf,
  'meta.MicroTime': timeOf,
  'meta.FieldsV1': () => ({}),
  'resource.Quantity': (bytes) => [...members(bytes)][0]?.bytes.toString() ?? '0',
  'intstr.IntOrString': (bytes) => {
    const all = [...members(bytes)];
    const isText = all.some(({ number, value }) => number === 1 && value === 1);
    return isText
      ? all.find(({ number }) => number === 3)?.bytes.toString()
      : (all.find(({ number }) => number === 2)?.value ?? 0);
  },
  'certificates.ExtraValue': textsOf,
  'authentication.ExtraValue': textsOf,
};

function timeOf(bytes: Buffer): string | null {
  const seconds = [...members(bytes)].find(({ number }) => number === 1)?.value;
  return seconds === undefined ? null : rfc3339(seconds * 1000);
}

function textsOf(bytes: Buffer): string[] {
  return [...members(bytes)].map((member) => member.bytes.toString());
}

function fieldsIn(bytes: Buffer, name: string, depth: number): Draft {
  if (depth > DEPTH_MAX) throw new Error('it is too deep');
  const object: Draft = {};
  for (const member of members(bytes)) {
    const field = fields?.[name]?.[String(member.number)];
    if (field === undefined) continue;
    const [key = '', ...rest] = field.split(' ');
    const type = rest.join(' ');
    if (type.startsWith('map ')) {
      const [entryKey, entryValue] = [1, 2].map((wanted) =>
        [...members(member.bytes)].find(({ number }) => number === wanted),
      );
      const value = valueOf(
        entryValue ?? { number: 2, value: 0, bytes: Buffer.alloc(0) },
        type.slice(4),
        depth,
      );
      object[key] ??= {};
      setMember(object[key] as Draft, entryKey?.bytes.toString() ?? '', value);
    } else if (type.startsWith('[]')) (object[key] ??= []).push(valueOf(member, type.slice(2), depth));
    else {
      const value = valueOf(member, type, depth);
      // A field that is not set is sent as an empty text.
      if (value !== '' && value !== null) object[key] = value;
    }
  }
  return object;
}

function valueOf({ value, bytes }: Member, type: string, depth: number): unknown {
  if (type === 'string') return bytes.toString();
  if (type === 'bytes') return bytes.toString('base64');
  if (type === 'bool') return value === 1;
  if (type === 'int') return value;
  const special = SPECIAL[type];
  return special === undefined ? fieldsIn(bytes, type, depth + 1) : special(bytes);
}
