/** Where in a pod a field belongs that stands at a wrong level, by the schema. */
import type { Schema } from '../../../types/errors.ts';

/** The names of the fields that lead to an object: `['spec', 'containers', '[]']`. */
type Path = readonly string[];

const ITEM = '[]';
const DEFINITION = '#/$defs/';
/** Deeper than any object of a pod. */
const DEPTH_MAX = 16;
const NAMED_MAX = 3;
/** No hint leads into the status, which a manifest does not have. */
const STATUS = 'status';

/** The objects of a pod by the names of their fields. */
export class FieldPlaces {
  readonly #schema: Schema;
  #places: Map<string, Path[]> | undefined;

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  /** `; it belongs to spec: spec.restartPolicy`, with the nearest objects that have such a field; empty where none has. */
  hint(at: Path, field: string, present: object): string {
    const places = this.#index().get(field) ?? [];
    const near = nearest(places, at.map(withoutIndex));
    // An object that is there already is what its author has in mind.
    const inside = near.filter(
      (place) => place.length > at.length && Object.hasOwn(present, place[at.length] ?? ''),
    );
    const named = (inside.length > 0 ? inside : near).map((place) => pathText(place, at));
    if (named.length === 0) return '';
    const shown = named.slice(0, NAMED_MAX);
    const [only] = shown;
    const last = shown.length > 1 ? ` or ${shown.at(-1) ?? ''}` : '';
    if (only === undefined || last === '') return `; it belongs to ${only ?? ''}: ${only ?? ''}.${field}`;
    return `; it belongs to ${shown.slice(0, -1).join(', ')}${last}`;
  }

  /** Made when it is first asked for. */
  #index(): ReadonlyMap<string, readonly Path[]> {
    if (this.#places !== undefined) return this.#places;
    this.#places = new Map();
    this.#add(this.#schema, []);
    return this.#places;
  }

  #add(schema: Schema, path: Path): void {
    if (path.length > DEPTH_MAX) return;
    const { properties, items } = this.#resolved(schema);
    if (items !== undefined) this.#add(items, [...path, ITEM]);
    for (const [name, property] of Object.entries(properties ?? {})) {
      if (path.length === 0 && name === STATUS) continue;
      const places = this.#places?.get(name) ?? [];
      places.push(path);
      this.#places?.set(name, places);
      this.#add(property, [...path, name]);
    }
  }

  #resolved(schema: Schema): Schema {
    const { $ref } = schema;
    return $ref?.startsWith(DEFINITION)
      ? (this.#schema.$defs?.[$ref.slice(DEFINITION.length)] ?? {})
      : schema;
  }
}

function withoutIndex(name: string): string {
  return /^\d+$/.test(name) ? ITEM : name;
}

/** Those with the fewest steps up and down; of equal ones the shortest first. */
function nearest(places: readonly Path[], from: Path): readonly Path[] {
  const measured = places
    .map((place) => ({ place, steps: stepsBetween(from, place) }))
    .filter(({ steps }) => steps > 0);
  const least = Math.min(...measured.map(({ steps }) => steps));
  return measured
    .filter(({ steps }) => steps === least)
    .map(({ place }) => place)
    .sort((a, b) => a.join('.').length - b.join('.').length);
}

/** A step from a list to its item counts as none. */
function stepsBetween(from: Path, to: Path): number {
  let common = 0;
  while (common < from.length && from[common] === to[common]) common += 1;
  return [...from.slice(common), ...to.slice(common)].filter((name) => name !== ITEM).length;
}

/** As far as the path is that of the field, with its indexes: `spec.containers[0].securityContext`. */
function pathText(place: Path, at: Path): string {
  let same = true;
  const parts = place.map((name, depth) => {
    const own = at[depth] ?? '';
    same &&= withoutIndex(own) === name;
    if (name !== ITEM) return depth === 0 ? name : `.${name}`;
    return same ? `[${own}]` : ITEM;
  });
  return parts.length === 0 ? 'the pod itself' : parts.join('');
}
