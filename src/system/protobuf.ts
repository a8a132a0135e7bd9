/** A codec of protocol buffers (proto3): a message is described by its fields. Fields without a description are skipped. */
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

export interface ValueType<T> {
  readonly wireType: WireType;
  /** The value of an absent field. It is not written. */
  readonly zero: T | undefined;
  read(reader: BinaryReader): T;
  write(writer: BinaryWriter, value: T): void;
  /** Of a message: one without any field. */
  empty?(): T;
}

export interface MessageType<T> extends ValueType<T> {
  readonly encode: (value: T) => Buffer;
  readonly decode: (bytes: Buffer) => T;
}

/** A member of a message. */
export interface Field<T> {
  readonly number: number;
  readonly wireType: WireType;
  readonly absent: T | undefined;
  /** `before`: the field's value so far; a field may come several times. */
  read(reader: BinaryReader, before: T): T;
  /** Reads a packed list of numbers, the form in which most writers send them. */
  readPacked?(reader: BinaryReader, before: T): T;
  /** Writes the tag and the value, or nothing if the value is the one of an absent field. */
  write(writer: BinaryWriter, value: T): void;
}

type Fields<T> = { readonly [K in keyof T]-?: Field<Exclude<T[K], undefined>> };

export const string: ValueType<string> = {
  wireType: WireType.LengthDelimited,
  zero: '',
  read: (reader) => reader.string(),
  write: (writer, value) => void writer.string(value),
};

export const bytes: ValueType<Buffer> = {
  wireType: WireType.LengthDelimited,
  zero: Buffer.alloc(0),
  read: (reader) => asBuffer(reader.bytes()),
  write: (writer, value) => void writer.bytes(value),
};

/** Reads the first `limit` bytes, as a copy: a view would keep the whole message alive. */
export function bytesUpTo(limit: number): ValueType<Buffer> {
  return { ...bytes, read: (reader) => Buffer.copyBytesFrom(reader.bytes(), 0, limit) };
}

const INT64_MAX = 2n ** 63n - 1n;

/** All integer types that are varints without zigzag. 2^63, which the largest int64 becomes as a number of JavaScript, stands for it. */
export const int: ValueType<number> = {
  wireType: WireType.Varint,
  zero: 0,
  read: (reader) => Number(reader.int64()),
  write: (writer, value) => void writer.int64(value === 2 ** 63 ? INT64_MAX : value),
};

export const bool: ValueType<boolean> = {
  wireType: WireType.Varint,
  zero: false,
  read: (reader) => reader.bool(),
  write: (writer, value) => void writer.bool(value),
};

export const double: ValueType<number> = {
  wireType: WireType.Bit64,
  zero: 0,
  read: (reader) => reader.double(),
  write: (writer, value) => void writer.double(value),
};

/** The names by number. A number without a name is read as the last name. */
export function enumeration<const N extends string>(names: readonly [N, ...N[]]): ValueType<N> {
  const last = names.at(-1) ?? names[0];
  return {
    wireType: WireType.Varint,
    zero: names[0],
    read: (reader) => names[reader.int32()] ?? last,
    write: (writer, value) => void writer.int32(names.indexOf(value)),
  };
}

/**
 * A message of which only field 1 matters, as the value of that field: Int64Value as a number, ImageSpec as a name.
 * `absent`: the value if there is no such message.
 */
export function wrapped<T>(inner: ValueType<T>, absent?: T): ValueType<T> {
  const type = message<{ value: T | undefined }>({ value: field(1, inner) as Field<never> });
  return {
    wireType: WireType.LengthDelimited,
    zero: absent,
    read: (reader) => type.read(reader).value as T,
    write: (writer, value) => type.write(writer, { value }),
  };
}

export function field<T>(number: number, type: ValueType<T>): Field<T> {
  const { wireType, zero } = type;
  return {
    number,
    wireType,
    absent: zero,
    read: (reader) => type.read(reader),
    write: (writer, value) => {
      if (value !== zero) writeTagged(writer, number, type, value);
    },
  };
}

/** Numbers are written one by one, not packed: every reader accepts that. */
export function list<T>(number: number, type: ValueType<T>): Field<readonly T[]> {
  const absent: readonly T[] = Object.freeze([]);
  const read = (reader: BinaryReader, before: readonly T[]): readonly T[] => {
    const value = type.read(reader);
    if (before === absent) return [value];
    (before as T[]).push(value);
    return before;
  };
  const readPacked = (reader: BinaryReader, before: readonly T[]): readonly T[] => {
    const length = reader.uint32();
    const end = reader.pos + length;
    let values = before;
    while (reader.pos < end) values = read(reader, values);
    if (reader.pos > end) throw new RangeError('a list of numbers is longer than it says');
    return values;
  };
  return {
    number,
    wireType: type.wireType,
    absent,
    read,
    ...(type.wireType === WireType.Varint && { readPacked }),
    write: (writer, values) => {
      for (const value of values) writeTagged(writer, number, type, value);
    },
  };
}

/** `map<string, string>`. */
export function map(number: number): Field<Readonly<Record<string, string>>> {
  return mapOf(number, string);
}

/** `map<string, T>`. */
export function mapOf<T>(number: number, type: ValueType<T>): Field<Readonly<Record<string, T>>> {
  const absent: Readonly<Record<string, T>> = Object.freeze({});
  const entry = message<{ key: string; value: T | undefined }>({
    key: field(1, string),
    value: field(2, type) as Field<never>,
  });
  return {
    number,
    wireType: WireType.LengthDelimited,
    absent,
    read: (reader, before) => {
      const { key, value } = entry.read(reader);
      // A value that is left out is the one of an absent field, of a message an empty message.
      const known = value ?? type.empty?.();
      if (known === undefined) return before;
      if (before === absent) return { [key]: known };
      (before as Record<string, T>)[key] = known;
      return before;
    },
    write: (writer, value) => {
      for (const [key, one] of Object.entries(value)) writeTagged(writer, number, entry, { key, value: one });
    },
  };
}

export function message<T extends object>(fields: Fields<T>): MessageType<T> {
  const members = Object.entries<Field<unknown>>(fields);
  const byNumber: ([string, Field<unknown>] | undefined)[] = [];
  for (const member of members) byNumber[member[1].number] = member;
  const blank = Object.fromEntries(members.map(([name, { absent }]) => [name, absent]));

  const readUntil = (reader: BinaryReader, end: number): T => {
    const value: Record<string, unknown> = { ...blank };
    while (reader.pos < end) {
      const [number, wireType] = reader.tag();
      const member = byNumber[number];
      const [name = '', type] = member ?? [];
      if (type?.wireType === wireType) value[name] = type.read(reader, value[name]);
      else if (type?.readPacked && wireType === WireType.LengthDelimited) {
        value[name] = type.readPacked(reader, value[name]);
      } else reader.skip(wireType, number);
    }
    if (reader.pos > end) throw new RangeError('a nested message is longer than it says');
    return value as T;
  };
  const writeFields = (writer: BinaryWriter, value: T): void => {
    for (const [name, member] of members) {
      const part = (value as Record<string, unknown>)[name];
      if (part !== undefined) member.write(writer, part);
    }
  };
  return {
    wireType: WireType.LengthDelimited,
    zero: undefined,
    empty: () => ({ ...blank }) as T,
    read: (reader) => {
      const length = reader.uint32();
      return readUntil(reader, reader.pos + length);
    },
    write: (writer, value) => {
      writer.fork();
      writeFields(writer, value);
      writer.join();
    },
    encode: (value) => {
      const writer = new BinaryWriter();
      writeFields(writer, value);
      return asBuffer(writer.finish());
    },
    decode: (buffer) => readUntil(new BinaryReader(buffer), buffer.length),
  };
}

export function writeTagged<T>(writer: BinaryWriter, number: number, type: ValueType<T>, value: T): void {
  writer.tag(number, type.wireType);
  type.write(writer, value);
}

/** A view of the same bytes. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
