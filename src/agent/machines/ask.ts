import { fromPromise, type ParameterizedObject, type PromiseActorLogic } from 'xstate';

/** An action by which a machine asks its actor for something. */
type Ask<Params> = (args: unknown, params: Params) => void;

/**
 * `const ask = asksOf('probe', 'src/agent/actors/…')`, then in `setup`: `armTimer: ask()`, or `report: ask<{ name: string }>()` for an
 * action with params. The actor replaces these actions with `provide`; an action that is not replaced throws.
 */
export function asksOf(machine: string, actor: string) {
  const isNotProvided = notProvided(machine, actor);
  return <Params extends ParameterizedObject['params'] = undefined>(): Ask<Params> => isNotProvided;
}

/** In the same way for the requests that a machine invokes: `actors: { renewLease: request<Lease, LeaseContext>() }`. */
export function requestsOf(machine: string, actor: string) {
  const isNotProvided = notProvided(machine, actor);
  return <Output, Input>(): PromiseActorLogic<Output, Input> => fromPromise<Output, Input>(isNotProvided);
}

function notProvided(machine: string, actor: string): () => never {
  return () => {
    throw new Error(`the ${machine} machine was run without its effects: provide them (${actor})`);
  };
}

/** The input of a request: the whole context of its machine. */
export function ownContext<Context>({ context }: { readonly context: Context }): Context {
  return context;
}
