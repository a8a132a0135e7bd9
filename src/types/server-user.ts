/** Who sends a request to the node's server, as a SubjectAccessReview names it. */
export interface ServerUser {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}
