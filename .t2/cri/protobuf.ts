/** Messages of protocol buffers (proto3) as descriptions of plain objects; a field that is not described is skipped. */
import { LENGTH_DELIMITED, Reader, VARINT, Writer } from './wire.ts';

export interface ValueType<T> {
  readonly wireType: number;
  /** What an absent field is read as, and what is not worth writing. */
  readonly zero: T | undefined;
  read(reader: Reader): T;
  write(writer: Writer, value: T): void;
}

export interface MessageType<T> extends ValueType<T> {
  encode(value: T): Buffer;
  decode(bytes: Buffer): T;
}

/** A member of a message. */
export interface Field<T> {
  readonly number: number;
  readonly wireType: number;
  readonly absent: T | undefined;
  /** `before`: what the message has given for the field so far. */
  read(reader: Reader, before: T): T;
  /** With its tag; nothing where the value need not be written. */
  write(writer: Writer, value: T): void;
}

type Fields<T> = { readonly [K in keyof T]-?: Field<Exclude<T[K], undefined>> };

export const string: ValueType<string> = {
  wireType: LENGTH_DELIMITED,
  zero: '',
  read: (reader) => reader.string(),
  write: (writer, value) => writer.string(value),
};

export const bytes: ValueType<Buffer> = {
  wireType: LENGTH_DELIMITED,
  zero: Buffer.alloc(0),
  read: (reader) => reader.bytes(),
  write: (writer, value) => writer.bytes(value),
};

/** Every type of integer that is written as a varint without zigzag. */
export const int: ValueType<number> = {
  wireType: VARINT,
  zero: 0,
  read: (reader) => reader.int(),
  write: (writer, value) => writer.int(value),
};

export const bool: ValueType<boolean> = {
  wireType: VARINT,
  zero: false,
  read: (reader) => reader.int() !== 0,
  write: (writer, value) => writer.int(Number(value)),
};

/** The names by number; a number that has none is read as the last. */
export function enumeration<const N extends string>(names: readonly [N, ...N[]]): ValueType<N> {
  const last = names.at(-1) ?? names[0];
  return {
    wireType: VARINT,
    zero: names[0],
    read: (reader) => names[reader.int()] ?? last,
    write: (writer, value) => writer.int(names.indexOf(value)),
  };
}

/**
 * A message of which field 1 is all that matters, as the value of that field: Int64Value as a number, ImageSpec as a
 * name. `absent` is what it is read as where there is no such message.
 */
export function wrapped<T>(inner: ValueType<T>, absent?: T): ValueType<T> {
  const type = message<{ value: T | undefined }>({ value: field(1, inner) as Field<never> });
  return {
    wireType: LENGTH_DELIMITED,
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

/** Numbers are written one by one, which every reader takes; a packed list of them is not read. */
export function list<T>(number: number, type: ValueType<T>): Field<readonly T[]> {
  const absent: readonly T[] = Object.freeze([]);
  return {
    number,
    wireType: type.wireType,
    absent,
    read: (reader, before) => {
      const value = type.read(reader);
      if (before === absent) return [value];
      (before as T[]).push(value);
      return before;
    },
    write: (writer, values) => {
      for (const value of values.toReversed()) writeTagged(writer, number, type, value);
    },
  };
}

const entry = message<{ key: string; value: string }>({ key: field(1, string), value: field(2, string) });

/** `map<string, string>`. */
export function map(number: number): Field<Readonly<Record<string, string>>> {
  const absent: Readonly<Record<string, string>> = Object.freeze({});
  return {
    number,
    wireType: LENGTH_DELIMITED,
    absent,
    read: (reader, before) => {
      const { key, value } = entry.read(reader);
      if (before === absent) return { [key]: value };
      (before as Record<string, string>)[key] = value;
      return before;
    },
    write: (writer, value) => {
      for (const key of Object.keys(value)) {
        writeTagged(writer, number, entry, { key, value: value[key] ?? '' });
      }
    },
  };
}

export function message<T extends object>(fields: Fields<T>): MessageType<T> {
  const members = Object.entries<Field<unknown>>(fields);
  const byNumber: ([string, Field<unknown>] | undefined)[] = [];
  for (const member of members) byNumber[member[1].number] = member;
  const blank = Object.fromEntries(members.map(([name, { absent }]) => [name, absent]));

  const readUntil = (reader: Reader, end: number): T => {
    const value: Record<string, unknown> = { ...blank };
    while (reader.position < end) {
      const tag = reader.int();
      const member = byNumber[tag >>> 3];
      if (member?.[1].wireType !== (tag & 7)) reader.skip(tag & 7);
      else value[member[0]] = member[1].read(reader, value[member[0]]);
    }
    if (reader.position > end) throw new RangeError('a nested message is longer than it says');
    return value as T;
  };
  const writeFields = (writer: Writer, value: T): void => {
    for (const [name, member] of members) {
      const part = (value as Record<string, unknown>)[name];
      if (part !== undefined) member.write(writer, part);
    }
  };
  return {
    wireType: LENGTH_DELIMITED,
    zero: undefined,
    read: (reader) => readUntil(reader, reader.enter()),
    write: (writer, value) => {
      const before = writer.length;
      writeFields(writer, value);
      writer.int(writer.length - before);
    },
    encode: (value) => {
      const writer = new Writer();
      writeFields(writer, value);
      return writer.finish();
    },
    decode: (buffer) => readUntil(new Reader(buffer), buffer.length),
  };
}

function writeTagged<T>(writer: Writer, number: number, type: ValueType<T>, value: T): void {
  type.write(writer, value);
  writer.int((number << 3) | type.wireType);
}
