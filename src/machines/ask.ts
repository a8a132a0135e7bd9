import type { ParameterizedObject } from 'xstate';

/** An action by which a machine asks its actor for something. */
type Ask<Params> = (args: unknown, params: Params) => void;

/**
 * `const ask = asksOf('probe', 'src/actors/…')`, then in `setup`: `armTimer: ask()`, or `report: ask<{ name: string }>()` for an
 * action with params. The actor replaces these actions with `provide`; an action that is not replaced throws.
 */
export function asksOf(machine: string, actor: string) {
  const isNotProvided = (): void => {
    throw new Error(`the ${machine} machine was run without its effects: provide them (${actor})`);
  };
  return <Params extends ParameterizedObject['params'] = undefined>(): Ask<Params> => isNotProvided;
}
