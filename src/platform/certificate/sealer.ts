/** Seals what is stored. */
export interface Sealer {
  seal(plain: Uint8Array, context: string): Uint8Array
  /** @throws if it was sealed by somebody else */
  open(sealed: Uint8Array, context: string): Uint8Array
}
