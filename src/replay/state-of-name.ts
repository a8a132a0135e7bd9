/** The reverse of how transitions name states: `Syncing.Settled`; of a parallel state, its regions with commas between. */
import type { AnyStateMachine, AnyStateNode, StateValue } from 'xstate';

/** Undefined where the chart has no such state. */
export function stateOfName(machine: AnyStateMachine, name: string): StateValue | undefined {
  const reader = new NameReader(name);
  const value = reader.inside(machine.root);
  return reader.isAtEnd ? value : undefined;
}

class NameReader {
  #rest: string;

  constructor(name: string) {
    this.#rest = name;
  }

  get isAtEnd(): boolean {
    return this.#rest === '';
  }

  /** What is active in the state. */
  inside(node: AnyStateNode): StateValue | undefined {
    if (node.type !== 'parallel') {
      const child = this.#child(node);
      return child && this.#valueOf(child);
    }
    const regions: Record<string, StateValue> = {};
    for (const [index] of Object.keys(node.states).entries()) {
      if (index > 0 && !this.#skip(',')) return undefined;
      const region = this.#child(node);
      if (region === undefined) return undefined;
      const value = this.#skip('.') ? this.inside(region) : {};
      if (value === undefined) return undefined;
      regions[region.key] = value;
    }
    return regions;
  }

  #valueOf(node: AnyStateNode): StateValue | undefined {
    if (!this.#skip('.')) return node.key;
    const inner = this.inside(node);
    return inner === undefined ? undefined : { [node.key]: inner };
  }

  #child(node: AnyStateNode): AnyStateNode | undefined {
    const [key = ''] = /^[^.,]*/u.exec(this.#rest) ?? [];
    const child = Object.hasOwn(node.states, key) ? node.states[key] : undefined;
    if (child !== undefined) this.#rest = this.#rest.slice(key.length);
    return child;
  }

  #skip(mark: string): boolean {
    if (!this.#rest.startsWith(mark)) return false;
    this.#rest = this.#rest.slice(mark.length);
    return true;
  }
}
