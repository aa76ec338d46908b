/** Why an engine did not start. The message says what to do. */
export class StartError extends Error {
  override readonly name = 'StartError';
  /** An option cannot be used; an address cannot be listened on; the journal cannot be opened. */
  readonly kind: 'option' | 'address' | 'journal';

  constructor(kind: StartError['kind'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Rethrows what a part said, as the reason why the engine does not start. */
export function startErrorOf(kind: StartError['kind']): (error: unknown) => never {
  return (error) => {
    if (error instanceof StartError) throw error;
    throw new StartError(kind, error instanceof Error ? error.message : String(error), { cause: error });
  };
}
