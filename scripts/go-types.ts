/**
 * Reads the types of a Go program from its executable: a program of Go keeps the fields of its structs, with their tags, for reflection. For
 * executables of 64 bits, little endian, that are not relocated when they are loaded.
 */

/** The numbers of Go's package `reflect`. */
const KINDS: readonly string[] = [
  ...['invalid', 'bool', 'int', 'int8', 'int16', 'int32', 'int64'],
  ...['uint', 'uint8', 'uint16', 'uint32', 'uint64', 'uintptr'],
  ...['float32', 'float64', 'complex64', 'complex128', 'array', 'chan', 'func', 'interface', 'map'],
  ...['pointer', 'slice', 'string', 'struct', 'unsafe pointer'],
];
const KIND_MASK = 0x1f;

/** Offsets within a type, in bytes. */
const FLAGS_AT = 20;
const KIND_AT = 23;
const NAME_AT = 40;
/** The part that differs by kind: element, key and element, or package and fields. */
const OWN_AT = 48;
const UNCOMMON_OF_STRUCT_AT = 80;
const FIELD_BYTES = 24;

const HAS_UNCOMMON = 1;
/** The name of the type begins with a `*` which does not belong to it. */
const HAS_STAR = 2;

const NAME_HAS_TAG = 2;
const NAME_IS_EMBEDDED = 8;

export interface GoType {
  readonly kind: string;
  /** `v1.Pod`. */
  readonly name: string;
  /** Of a named struct: `k8s.io/api/core/v1`. */
  readonly package: string;
  /** Of a pointer, slice or map. */
  readonly element: () => GoType;
  /** Of a map. */
  readonly key: () => GoType;
  /** Of a struct. */
  readonly fields: () => readonly GoField[];
}

export interface GoField {
  readonly name: string;
  readonly tag: string;
  readonly embedded: boolean;
  readonly type: GoType;
}

interface Section {
  readonly address: number;
  readonly offset: number;
  readonly size: number;
}

export class GoTypes {
  readonly #bytes: Buffer;
  readonly #sections: ReadonlyMap<string, Section>;
  /** Offsets in types count from here. */
  readonly #base: number;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#sections = sectionsOf(bytes);
    this.#base = this.#section('.rodata').address;
  }

  /** The struct of this name in this package. */
  struct(name: string, packagePath: string): GoType {
    const { offset, size } = this.#section('.typelink');
    for (let at = offset; at < offset + size; at += 4) {
      const pointer = this.#type(this.#base + this.#bytes.readInt32LE(at));
      if (pointer.kind !== 'pointer' || pointer.name !== `*${name}`) continue;
      const type = pointer.element();
      if (type.kind === 'struct' && type.package === packagePath) return type;
    }
    throw new Error(`The program has no type ${name} of ${packagePath}`);
  }

  #type(address: number): GoType {
    const at = this.#at(address);
    const flags = this.#bytes.readUInt8(at + FLAGS_AT);
    const kind = KINDS[this.#bytes.readUInt8(at + KIND_AT) & KIND_MASK] ?? 'unknown';
    const { text } = this.#name(this.#base + this.#bytes.readInt32LE(at + NAME_AT));
    return {
      kind,
      name: (flags & HAS_STAR) === 0 ? text : text.slice(1),
      package: kind === 'struct' && (flags & HAS_UNCOMMON) !== 0 ? this.#package(at) : '',
      element: () => this.#type(this.#word(at + OWN_AT + (kind === 'map' ? 8 : 0))),
      key: () => this.#type(this.#word(at + OWN_AT)),
      fields: () => (kind === 'struct' ? this.#fields(at) : []),
    };
  }

  #package(structAt: number): string {
    return this.#name(this.#base + this.#bytes.readInt32LE(structAt + UNCOMMON_OF_STRUCT_AT)).text;
  }

  #fields(structAt: number): readonly GoField[] {
    const first = this.#at(this.#word(structAt + OWN_AT + 8));
    const count = this.#word(structAt + OWN_AT + 16);
    return Array.from({ length: count }, (_, index) => {
      const at = first + index * FIELD_BYTES;
      const { text: name, tag, embedded } = this.#name(this.#word(at));
      return { name, tag, embedded, type: this.#type(this.#word(at + 8)) };
    });
  }

  #name(address: number): { readonly text: string; readonly tag: string; readonly embedded: boolean } {
    const at = this.#at(address);
    const flags = this.#bytes.readUInt8(at);
    const [text, end] = this.#text(at + 1);
    const [tag] = (flags & NAME_HAS_TAG) === 0 ? [''] : this.#text(end);
    return { text, tag, embedded: (flags & NAME_IS_EMBEDDED) !== 0 };
  }

  /** A text after its length, and where it ends. */
  #text(at: number): readonly [string, number] {
    let [length, shift, start] = [0, 0, at];
    for (;;) {
      const byte = this.#bytes.readUInt8(start++);
      length |= (byte & 0x7f) << shift;
      shift += 7;
      if (byte < 0x80) break;
    }
    return [this.#bytes.toString('utf8', start, start + length), start + length];
  }

  #word(at: number): number {
    return Number(this.#bytes.readBigUInt64LE(at));
  }

  /** The offset in the file of this address in the program. */
  #at(address: number): number {
    for (const section of this.#sections.values()) {
      const distance = address - section.address;
      if (section.address !== 0 && distance >= 0 && distance < section.size) return section.offset + distance;
    }
    throw new Error(`The program has nothing at the address ${address.toString(16)}`);
  }

  #section(name: string): Section {
    const section = this.#sections.get(name);
    if (section === undefined) throw new Error(`The program has no section ${name}: is it one of Go?`);
    return section;
  }
}

/** The sections of an ELF file by name. */
function sectionsOf(bytes: Buffer): ReadonlyMap<string, Section> {
  if (bytes.toString('latin1', 0, 6) !== '\x7fELF\x02\x01') {
    throw new Error('The file is no executable of 64 bits, little endian');
  }
  const word = (at: number) => Number(bytes.readBigUInt64LE(at));
  const [table, size, count, namesIndex] = [word(40), ...[58, 60, 62].map((at) => bytes.readUInt16LE(at))];
  const headers = Array.from({ length: count ?? 0 }, (_, index) => table + index * (size ?? 0));
  const names = word((headers[namesIndex ?? 0] ?? 0) + 24);
  return new Map(
    headers.map((at) => {
      const name = names + bytes.readUInt32LE(at);
      const section = { address: word(at + 16), offset: word(at + 24), size: word(at + 32) };
      return [bytes.toString('latin1', name, bytes.indexOf(0, name)), section];
    }),
  );
}
