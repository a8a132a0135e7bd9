/**
 * Protocol buffers of Kubernetes objects, read into and written from their JSON. A table says which fields each message has, by their names
 * in JSON: `"name": "1 string!"`. After the number stands the type: `string`, `bool`, `int` or a message, with
 *
 * - `[]` before it: a list; `map ` before it: a map whose keys are texts,
 * - `*` before it: optional, and its zero (0, false, an empty text) means something else than its absence,
 * - `!` after it: JSON has it always, even if it is zero,
 * - `...` before the name: the fields of that message stand among those of the outer one.
 */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import {
  bool,
  int,
  type MessageType,
  string,
  type ValueType,
  writeTagged,
} from '../../../system/protobuf.ts';

export type FieldTable = Readonly<Record<string, Readonly<Record<string, string>>>>;
/** Messages that are no object of their fields in JSON. */
export type JsonValues = Readonly<Record<string, ValueType<never>>>;
export type JsonObject = Record<string, unknown>;

type Form = 'one' | 'list' | 'map' | 'spread';

interface Member {
  readonly name: string;
  readonly number: number;
  readonly form: Form;
  readonly type: ValueType<unknown>;
  /** Of a spread member. */
  readonly inner: JsonMessage | undefined;
  /** JSON leaves out the zero of its type. */
  readonly dropsZero: boolean;
  /** What JSON has if the message has no such field. */
  readonly absent: unknown;
}

const ROW = /^(\d+) (\*|\[\]|map )?(\w+)(!)?$/;
const PLAIN: JsonValues = {
  string: string as ValueType<never>,
  bool: bool as ValueType<never>,
  int: int as ValueType<never>,
};
const KEY = 1;
const VALUE = 2;

export class JsonMessages {
  readonly #table: FieldTable;
  readonly #values: JsonValues;
  readonly #messages = new Map<string, JsonMessage>();

  constructor(table: FieldTable, values: JsonValues) {
    this.#table = table;
    this.#values = { ...PLAIN, ...values };
  }

  message(name: string): JsonMessage {
    const known = this.#messages.get(name);
    if (known) return known;
    const rows = this.#table[name];
    if (rows === undefined) throw new Error(`the table of messages has no ${name}`);
    const made = new JsonMessage();
    this.#messages.set(name, made);
    for (const [key, row] of Object.entries(rows)) made.add(this.#member(key, row));
    return made;
  }

  #member(key: string, row: string): Member {
    const [, number, prefix, typeName = '', always] = ROW.exec(row) ?? [];
    const plain = this.#values[typeName];
    const inner = plain ? undefined : this.message(typeName);
    const type = (plain ?? inner) as ValueType<unknown>;
    const isSpread = key.startsWith('...');
    const form = isSpread ? 'spread' : prefix === '[]' ? 'list' : prefix === 'map ' ? 'map' : 'one';
    return {
      name: key,
      number: Number(number),
      form,
      type,
      inner: isSpread ? inner : undefined,
      dropsZero: prefix !== '*' && always === undefined,
      absent: always === undefined ? undefined : absentValue(form, prefix === '*' ? null : type.zero),
    };
  }
}

/** A list that Go does not have is empty, not null. */
function absentValue(form: Form, zero: unknown): unknown {
  if (form === 'list') return Object.freeze([]);
  return form === 'map' ? Object.freeze({}) : zero;
}

export class JsonMessage implements MessageType<JsonObject> {
  readonly wireType = WireType.LengthDelimited;
  readonly zero = undefined;
  readonly #members: Member[] = [];
  readonly #byNumber: (Member | undefined)[] = [];
  readonly #blank: JsonObject = {};

  add(member: Member): void {
    this.#members.push(member);
    this.#byNumber[member.number] = member;
    if (member.absent !== undefined) this.#blank[member.name] = member.absent;
  }

  readonly encode = (value: JsonObject): Buffer => {
    const writer = new BinaryWriter();
    this.#writeMembers(writer, value);
    const { buffer, byteOffset, byteLength } = writer.finish();
    return Buffer.from(buffer, byteOffset, byteLength);
  };

  readonly decode = (bytes: Buffer): JsonObject =>
    this.#readMembers(new BinaryReader(bytes), bytes.length, {});

  write(writer: BinaryWriter, value: JsonObject): void {
    writer.fork();
    this.#writeMembers(writer, value);
    writer.join();
  }

  read(reader: BinaryReader): JsonObject {
    return this.readInto(reader, {});
  }

  readInto(reader: BinaryReader, object: JsonObject): JsonObject {
    const length = reader.uint32();
    return this.#readMembers(reader, reader.pos + length, object);
  }

  #writeMembers(writer: BinaryWriter, object: JsonObject): void {
    for (const { name, number, form, type } of this.#members) {
      const value = form === 'spread' ? object : object[name];
      // Go reads null like an absent field.
      if (value === undefined || value === null) continue;
      if (form === 'list') {
        for (const item of value as readonly unknown[]) writeTagged(writer, number, type, item);
      } else if (form === 'map') {
        for (const entry of Object.entries(value)) writeEntry(writer, number, type, entry);
      } else writeTagged(writer, number, type, value);
    }
  }

  #readMembers(reader: BinaryReader, end: number, object: JsonObject): JsonObject {
    Object.assign(object, this.#blank);
    while (reader.pos < end) {
      const [number, wireType] = reader.tag();
      const member = this.#byNumber[number];
      if (member === undefined || !isReadable(member, wireType)) reader.skip(wireType, number);
      else readMember(reader, member, wireType, object);
    }
    if (reader.pos > end) throw new RangeError('a message is longer than it says');
    return object;
  }
}

function isReadable({ form, type }: Member, wireType: WireType): boolean {
  if (form === 'map') return wireType === WireType.LengthDelimited;
  return wireType === type.wireType || (form === 'list' && wireType === WireType.LengthDelimited);
}

function readMember(reader: BinaryReader, member: Member, wireType: WireType, object: JsonObject): void {
  const { name, form, type, inner, absent } = member;
  const before = object[name];
  if (inner) inner.readInto(reader, object);
  else if (form === 'one') readOne(reader, member, object);
  else if (form === 'map') {
    const map = before === absent ? (object[name] = {}) : before;
    readEntry(reader, type, map as JsonObject);
  } else {
    const list = (before === absent ? (object[name] = []) : before) as unknown[];
    if (wireType === type.wireType) list.push(type.read(reader));
    else readPacked(reader, type, list);
  }
}

/** Numbers one after another without tags. */
function readPacked(reader: BinaryReader, type: ValueType<unknown>, list: unknown[]): void {
  const length = reader.uint32();
  const end = reader.pos + length;
  while (reader.pos < end) list.push(type.read(reader));
}

function readOne(reader: BinaryReader, { name, type, dropsZero }: Member, object: JsonObject): void {
  const value = type.read(reader);
  if (!dropsZero || value !== type.zero) object[name] = value;
}

function writeEntry(
  writer: BinaryWriter,
  number: number,
  type: ValueType<unknown>,
  [key, value]: readonly [string, unknown],
): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  writer.tag(KEY, WireType.LengthDelimited).string(key);
  writeTagged(writer, VALUE, type, value);
  writer.join();
}

function readEntry(reader: BinaryReader, type: ValueType<unknown>, map: JsonObject): void {
  const length = reader.uint32();
  const end = reader.pos + length;
  let key = '';
  let value = type.zero;
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    if (number === KEY && wireType === WireType.LengthDelimited) key = reader.string();
    else if (number === VALUE && wireType === type.wireType) value = type.read(reader);
    else reader.skip(wireType, number);
  }
  if (value !== undefined) map[key] = value;
}
