import { DBusReader, type DBusValue, type DBusVariant, DBusWriter } from './dbus-types.ts';

export interface DBusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DBusValue[];
}

export interface DBusMessage {
  readonly type: 'call' | 'answer' | 'error' | 'signal';
  readonly serial: number;
  /** The call that this answers. */
  readonly replySerial: number | undefined;
  readonly path: string | undefined;
  readonly interface: string | undefined;
  readonly member: string | undefined;
  readonly errorName: string | undefined;
  /** Reads the values: most signals are of no interest. Throws for bytes that are no values. */
  readonly body: () => readonly DBusValue[];
}

/** What the agent is sent are paths, names and short texts. */
const MESSAGE_BYTES_MAX = 1 << 20;
/** Up to the length of the header's fields. */
const FIXED_BYTES = 16;
const VERSION = 1;
const LITTLE_ENDIAN = 'l'.charCodeAt(0);
const BIG_ENDIAN = 'B'.charCodeAt(0);
const TYPES = ['call', 'answer', 'error', 'signal'] as const;
const FIELD = {
  path: 1,
  interface: 2,
  member: 3,
  errorName: 4,
  replySerial: 5,
  destination: 6,
  signature: 8,
};
const HEADER = 'yyyyuua(yv)';

export function encodeCall(call: DBusCall, serial: number): Buffer {
  const { path, interface: name, member, destination, signature = '', body = [] } = call;
  const fields = { path, interface: name, member, destination, ...(signature !== '' && { signature }) };
  return encodeMessage('call', serial, fields, signature, body);
}

type Fields = Partial<Record<keyof typeof FIELD, string | number>>;

const FIELD_TYPES: Readonly<Record<string, string>> = { path: 'o', replySerial: 'u', signature: 'g' };

export function encodeMessage(
  type: DBusMessage['type'],
  serial: number,
  fields: Fields,
  signature: string,
  body: readonly DBusValue[],
): Buffer {
  const values = new DBusWriter();
  values.values(signature, body);
  const named = Object.entries(fields) as [keyof typeof FIELD, string | number][];
  const header = new DBusWriter();
  header.values(HEADER, [
    LITTLE_ENDIAN,
    TYPES.indexOf(type) + 1,
    0,
    VERSION,
    values.bytes.length,
    serial,
    named.map(([name, value]) => [FIELD[name], { signature: FIELD_TYPES[name] ?? 's', value }]),
  ]);
  header.align(8);
  return Buffer.concat([header.bytes, values.bytes]);
}

/** How long the message is that begins here; undefined while too little of it is there. Throws for one that is too long, or none. */
export function messageLength(bytes: Buffer): number | undefined {
  if (bytes.length < FIXED_BYTES) return undefined;
  const isLittle = isLittleEndian(bytes);
  const read = (at: number) => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const fieldsEnd = FIXED_BYTES + read(FIXED_BYTES - 4);
  const length = Math.ceil(fieldsEnd / 8) * 8 + read(4);
  if (length > MESSAGE_BYTES_MAX) throw new Error(`a message of ${length} bytes`);
  return length;
}

/** `bytes`: one whole message. Throws for bytes that are none. */
export function decodeMessage(bytes: Buffer): DBusMessage {
  const isLittle = isLittleEndian(bytes);
  const [, type, , , bodyLength, serial, fields] = new DBusReader(bytes, isLittle).values(HEADER);
  const byCode = new Map(
    (fields as readonly [number, DBusVariant][]).map(([code, { value }]) => [code, value]),
  );
  const text = (code: number) => {
    const value = byCode.get(code);
    return typeof value === 'string' ? value : undefined;
  };
  const replySerial = byCode.get(FIELD.replySerial);
  const body = bytes.subarray(bytes.length - Number(bodyLength));
  const signature = text(FIELD.signature) ?? '';
  return {
    type: TYPES[Number(type) - 1] ?? 'signal',
    serial: Number(serial),
    replySerial: typeof replySerial === 'number' ? replySerial : undefined,
    path: text(FIELD.path),
    interface: text(FIELD.interface),
    member: text(FIELD.member),
    errorName: text(FIELD.errorName),
    body: () => new DBusReader(body, isLittle).values(signature),
  };
}

function isLittleEndian(bytes: Buffer): boolean {
  const [first] = bytes;
  if (first !== LITTLE_ENDIAN && first !== BIG_ENDIAN) throw new Error('bytes that are no message of D-Bus');
  return first === LITTLE_ENDIAN;
}
